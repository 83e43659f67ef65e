use std::sync::Arc;

use serde_json::Value;

use crate::go_quote;

/// An error of one field. In Kubernetes: `field.Error` in apimachinery `util/validation/field`.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What kind of wrong, which decides the cause's reason and the sentence.
    pub kind: FieldErrorKind,
    /// The path as messages print it: `spec.containers[0].image`.
    pub field: String,
    /// The offending value, printed as Go prints it.
    pub value: Value,
    /// The explanation after the colon.
    pub detail: String,
    /// How Go prints the value, where that is not its JSON with sorted fields. Several errors may share one text.
    pub printed: Option<Arc<str>>,
    /// Whether newer releases declare the rule on the field instead of checking it in code, which decides its words and
    /// its place among the errors. In Kubernetes: `field.Error.CoveredByDeclarative`.
    pub is_declared: bool,
}

/// The kinds of field errors, each with its reason word and its sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// `FieldValueInvalid`, `Invalid value`
    Invalid,
    /// `FieldValueInvalid`, `Invalid value`, without the value itself
    InvalidUnprinted,
    /// `FieldValueRequired`, `Required value`
    Required,
    /// `FieldValueNotSupported`, `Unsupported value`
    NotSupported,
    /// `FieldValueForbidden`, `Forbidden`
    Forbidden,
    /// `FieldValueDuplicate`, `Duplicate value`
    Duplicate,
    /// `FieldValueTooLong`, `Too long`
    TooLong,
    /// `FieldValueTooMany`, `Too many`
    TooMany,
    /// `FieldValueNotFound`, `Not found`
    NotFound,
    /// `FieldValueTypeInvalid`, `Invalid value`
    TypeInvalid,
    /// `InternalError`, `Internal error`
    Internal,
}

impl FieldErrorKind {
    /// The `reason` of the cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid | Self::InvalidUnprinted => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::Duplicate => "FieldValueDuplicate",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Invalid | Self::InvalidUnprinted | Self::TypeInvalid => "Invalid value",
            Self::Required => "Required value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }
}

impl FieldError {
    fn new(kind: FieldErrorKind, field: impl Into<String>, value: Value, detail: impl Into<String>) -> Self {
        Self { kind, field: field.into(), value, detail: detail.into(), printed: None, is_declared: false }
    }

    /// With the value printed so: of a struct, Go prints the fields in their own order.
    #[must_use]
    pub fn printed_as(mut self, text: impl Into<Arc<str>>) -> Self {
        self.printed = Some(text.into());
        self
    }

    /// With more said than the sentence of its kind says.
    #[must_use]
    pub fn saying(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Of a rule that newer releases declare on the field.
    #[must_use]
    pub fn declared(self) -> Self {
        Self { is_declared: true, ..self }
    }

    /// The value does not do.
    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Invalid, field, value.into(), detail)
    }

    /// The value is wrong, and is not to be printed. In Kubernetes: `field.OmitValueType`.
    pub fn invalid_unprinted(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::InvalidUnprinted, field, Value::Null, detail)
    }

    /// The value has the wrong JSON type.
    pub fn type_invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TypeInvalid, field, value.into(), detail)
    }

    /// The field has to be there.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Required, field, Value::Null, detail)
    }

    /// The field must not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Forbidden, field, Value::Null, detail)
    }

    /// Two elements say the same.
    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, field, value.into(), "")
    }

    /// The thing that the value names does not exist.
    pub fn not_found(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::NotFound, field, value.into(), "")
    }

    /// The value is not one of `supported`, which are printed in the given order.
    pub fn not_supported<S: AsRef<str>>(field: impl Into<String>, value: impl Into<Value>, supported: &[S]) -> Self {
        let mut detail = String::new();
        if !supported.is_empty() {
            let quoted: Vec<_> = supported.iter().map(|word| format!("{:?}", word.as_ref())).collect();
            detail = format!("supported values: {}", quoted.join(", "));
        }
        Self::new(FieldErrorKind::NotSupported, field, value.into(), detail)
    }

    /// The text has more than `limit_bytes` bytes. The value is not repeated in the message.
    pub fn too_long(field: impl Into<String>, limit_bytes: usize) -> Self {
        Self::new(FieldErrorKind::TooLong, field, Value::Null, format!("may not be more than {limit_bytes} bytes"))
    }

    /// The list has `actual` items, more than `limit`.
    pub fn too_many(field: impl Into<String>, actual: usize, limit: usize) -> Self {
        let items = if limit == 1 { "item" } else { "items" };
        Self::new(FieldErrorKind::TooMany, field, Value::from(actual), format!("must have at most {limit} {items}"))
    }

    /// Something that should not happen happened while the field was looked at.
    pub fn internal(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Internal, field, Value::Null, detail)
    }

    /// The sentence without the field, as the cause's `message` has it.
    /// In Kubernetes: `field.Error.ErrorBody`.
    pub fn body(&self) -> String {
        let mut text = self.kind.sentence().to_owned();
        match self.kind {
            FieldErrorKind::Required
            | FieldErrorKind::InvalidUnprinted
            | FieldErrorKind::Forbidden
            | FieldErrorKind::TooLong
            | FieldErrorKind::Internal => {}
            FieldErrorKind::Invalid
            | FieldErrorKind::TypeInvalid
            | FieldErrorKind::NotSupported
            | FieldErrorKind::Duplicate
            | FieldErrorKind::TooMany
            | FieldErrorKind::NotFound => {
                text.push_str(": ");
                match &self.printed {
                    Some(printed) => text.push_str(printed),
                    None => text.push_str(&go_value(&self.value)),
                }
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    /// How many bytes the sentence has about, without making it.
    pub fn length(&self) -> usize {
        let value = match (&self.printed, &self.value) {
            (Some(printed), _) => printed.len(),
            (None, Value::String(text)) => text.len(),
            (None, Value::Array(_) | Value::Object(_)) => self.value.to_string().len(),
            (None, _) => 8,
        };
        self.field.len() + value + self.detail.len()
    }

    /// The whole sentence: `spec.replicas: Invalid value: -1: must be greater than or equal to 0`.
    pub fn message(&self) -> String {
        format!("{}: {}", self.field, self.body())
    }
}

/// Prints a value as Go's `field.Error` does: strings quoted, null as `null`, objects and lists as JSON.
fn go_value(value: &Value) -> String {
    match value {
        Value::String(text) => go_quote(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_in_kubernetes() {
        assert_eq!(
            FieldError::invalid("spec.replicas", -1, "must be greater than or equal to 0").message(),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        assert_eq!(
            FieldError::required("metadata.name", "name or generateName is required").message(),
            "metadata.name: Required value: name or generateName is required"
        );
        assert_eq!(
            FieldError::not_supported("spec.type", "X", &["A", "B"]).message(),
            "spec.type: Unsupported value: \"X\": supported values: \"A\", \"B\""
        );
        assert_eq!(FieldError::duplicate("spec.a[1]", "x").message(), "spec.a[1]: Duplicate value: \"x\"");
    }
}
