use serde_json::{Map, Number, Value};

/// JSON as it was written: fields in order, also those that are there twice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(String),
    String(String),
    List(Vec<Raw>),
    Object(Vec<(String, Raw)>),
}

impl Raw {
    /// The last field of a name: the one that counts.
    pub(crate) fn get(&self, name: &str) -> Option<&Raw> {
        match self {
            Raw::Object(fields) => fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// What Go calls the kind of value in its messages.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Raw::Null => "null",
            Raw::Bool(_) => "bool",
            Raw::Number(_) => "number",
            Raw::String(_) => "string",
            Raw::List(_) => "array",
            Raw::Object(_) => "object",
        }
    }

    /// As a JSON value, of fields that are there twice the last.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(value),
            Raw::Number(text) => Value::Number(number(&text)),
            Raw::String(text) => Value::String(text),
            Raw::List(elements) => Value::Array(elements.into_iter().map(Raw::into_value).collect()),
            Raw::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, value.into_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// A number as near to what was written as JSON trees hold: whole if it fits 64 bits.
pub(crate) fn number(text: &str) -> Number {
    let whole = text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse::<u64>().map(Number::from).ok());
    let number = whole.or_else(|| Number::from_f64(text.parse().ok()?));
    number.unwrap_or_else(|| Number::from(0))
}

impl From<Value> for Raw {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Raw::Null,
            Value::Bool(value) => Raw::Bool(value),
            Value::Number(number) => Raw::Number(number.to_string()),
            Value::String(text) => Raw::String(text),
            Value::Array(elements) => Raw::List(elements.into_iter().map(Raw::from).collect()),
            Value::Object(fields) => {
                Raw::Object(fields.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}
