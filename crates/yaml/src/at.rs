use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::YamlError;
use crate::node::{YamlField, YamlNode, YamlValue};

/// A value of a document, and its path. The accessors return an error with line and path if the type is wrong.
///
/// ```
/// use coracle_yaml::{At, YamlNode};
///
/// let document = YamlNode::parse("name: web\nport: eighty\n").unwrap();
/// let mut fields = At::root(&document).fields().unwrap();
/// assert_eq!(fields.need("name").unwrap().text().unwrap(), "web");
/// let error = fields.need("port").unwrap().integer().unwrap_err();
/// assert_eq!((error.line, error.to_string().as_str()), (2, "port: must be an integer, got \"eighty\""));
/// ```
#[derive(Clone, Debug)]
pub struct At<'a> {
    /// The value.
    pub node: &'a YamlNode,
    /// The line: that of the name if the value belongs to a field. From 1; 0 if there is no text.
    pub line: u64,
    /// The path: `profiles[0].plugins`; empty for the root.
    pub path: String,
}

/// The fields of an object that were not read yet.
#[derive(Debug)]
pub struct UnreadFields<'a> {
    object: At<'a>,
    unread: Vec<&'a YamlField>,
}

impl<'a> At<'a> {
    /// The root of a document.
    pub fn root(node: &'a YamlNode) -> Self {
        Self { node, line: node.line(), path: String::new() }
    }

    /// An error here.
    pub fn error(&self, message: impl Into<String>) -> YamlError {
        YamlError { line: self.line, path: self.path.clone(), message: message.into() }
    }

    fn wrong_type(&self, expected: &str) -> YamlError {
        self.error(format!("must be {expected}, got {}", self.node))
    }

    pub(crate) fn field(&self, field: &'a YamlField) -> Self {
        let name = &field.name;
        let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
        Self { node: &field.node, line: field.location.line(), path }
    }

    pub(crate) fn object(&self) -> Result<&'a [YamlField], YamlError> {
        match &self.node.value {
            YamlValue::Object(fields) => Ok(fields),
            _ => Err(self.wrong_type("an object")),
        }
    }

    /// The fields of an object.
    ///
    /// # Errors
    /// If this is another value.
    pub fn fields(&self) -> Result<UnreadFields<'a>, YamlError> {
        Ok(UnreadFields { unread: self.object()?.iter().collect(), object: self.clone() })
    }

    /// The items of a list.
    ///
    /// # Errors
    /// If this is another value.
    pub fn items(&self) -> Result<Vec<Self>, YamlError> {
        let YamlValue::List(items) = &self.node.value else { return Err(self.wrong_type("a list")) };
        let item = |(index, node): (usize, &'a YamlNode)| Self {
            node,
            line: node.line(),
            path: format!("{}[{index}]", self.path),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// A string.
    ///
    /// # Errors
    /// If this is another value.
    pub fn text(&self) -> Result<&'a str, YamlError> {
        match &self.node.value {
            YamlValue::Scalar(Value::String(text)) => Ok(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    /// An object whose values are strings.
    ///
    /// # Errors
    /// If this, or one of the values, is another value.
    pub fn texts_by_name(&self) -> Result<BTreeMap<String, String>, YamlError> {
        let text = |field: &'a YamlField| Ok((field.name.clone(), self.field(field).text()?.to_owned()));
        self.object()?.iter().map(text).collect()
    }

    /// An integer of 64 bits.
    ///
    /// # Errors
    /// If this is another value.
    pub fn integer(&self) -> Result<i64, YamlError> {
        match &self.node.value {
            YamlValue::Scalar(value) => value.as_i64().ok_or_else(|| self.wrong_type("an integer")),
            _ => Err(self.wrong_type("an integer")),
        }
    }

    /// An integer from 0.
    ///
    /// # Errors
    /// If this is another value.
    pub fn count(&self) -> Result<i64, YamlError> {
        let count = self.integer().ok().filter(|count| *count >= 0);
        count.ok_or_else(|| self.wrong_type("an integer of at least 0"))
    }

    /// A number.
    ///
    /// # Errors
    /// If this is another value.
    pub fn number(&self) -> Result<f64, YamlError> {
        match &self.node.value {
            YamlValue::Scalar(value) => value.as_f64().ok_or_else(|| self.wrong_type("a number")),
            _ => Err(self.wrong_type("a number")),
        }
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// If this is another value.
    pub fn bool(&self) -> Result<bool, YamlError> {
        match self.node.value {
            YamlValue::Scalar(Value::Bool(value)) => Ok(value),
            _ => Err(self.wrong_type("true or false")),
        }
    }
}

impl<'a> UnreadFields<'a> {
    /// An error at the object.
    pub fn error(&self, message: impl Into<String>) -> YamlError {
        self.object.error(message)
    }

    /// A field, if it exists and is not null.
    pub fn take(&mut self, name: &str) -> Option<At<'a>> {
        let at = self.unread.iter().position(|field| field.name == name)?;
        let field = self.unread.swap_remove(at);
        (!field.node.is_null()).then(|| self.object.field(field))
    }

    /// A field that must exist.
    ///
    /// # Errors
    /// If it does not exist, or is null.
    pub fn need(&mut self, name: &str) -> Result<At<'a>, YamlError> {
        self.take(name).ok_or_else(|| self.error(format!("needs {name}")))
    }

    /// A string; empty if the field does not exist.
    ///
    /// # Errors
    /// If the field is another value.
    pub fn text(&mut self, name: &str) -> Result<String, YamlError> {
        self.take(name).map_or(Ok(String::new()), |at| at.text().map(str::to_owned))
    }

    /// Whether the field is `true`.
    ///
    /// # Errors
    /// If the field is neither `true` nor `false`.
    pub fn flag(&mut self, name: &str) -> Result<bool, YamlError> {
        self.take(name).map_or(Ok(false), |at| at.bool())
    }

    /// The items of a list; empty if the field does not exist.
    ///
    /// # Errors
    /// If the field is another value.
    pub fn items(&mut self, name: &str) -> Result<Vec<At<'a>>, YamlError> {
        self.take(name).map_or(Ok(Vec::new()), |at| at.items())
    }

    /// All fields were read.
    ///
    /// # Errors
    /// If there is another field.
    pub fn end(self) -> Result<(), YamlError> {
        let first = self.unread.iter().min_by_key(|field| field.location.line());
        first.map_or(Ok(()), |field| Err(self.object.field(field).error("unknown field")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_read_once_and_others_are_refused() {
        let node = YamlNode::parse("a: {b: [x, 1]}\nc: ~\nd: true\n").unwrap();
        let mut fields = At::root(&node).fields().unwrap();
        let items = fields.need("a").unwrap().fields().unwrap().items("b").unwrap();
        assert_eq!(items[0].text().unwrap(), "x");
        assert_eq!(items[1].text().unwrap_err().to_string(), "a.b[1]: must be a string, got 1");
        assert_eq!(fields.need("c").unwrap_err().to_string(), "needs c");
        let error = fields.end().unwrap_err();
        assert_eq!((error.line, error.to_string().as_str()), (3, "d: unknown field"));
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let node = YamlNode::from(&json!({"n": null, "u": u64::MAX, "t": {"a": "b"}, "f": 1.5}));
        let at = |name: &str| {
            let fields = At::root(&node).object().unwrap();
            At::root(&node).field(fields.iter().find(|field| field.name == name).unwrap())
        };
        assert_eq!(at("n").fields().unwrap_err().to_string(), "n: must be an object, got null");
        assert_eq!(at("u").integer().unwrap_err().to_string(), format!("u: must be an integer, got {}", u64::MAX));
        assert_eq!(at("f").bool().unwrap_err().to_string(), "f: must be true or false, got 1.5");
        assert_eq!(at("f").number(), Ok(1.5));
        assert_eq!(at("f").count().unwrap_err().to_string(), "f: must be an integer of at least 0, got 1.5");
        assert_eq!(at("t").items().unwrap_err().to_string(), "t: must be a list, got an object");
        assert_eq!(at("t").texts_by_name(), Ok([("a".to_owned(), "b".to_owned())].into()));
    }
}
