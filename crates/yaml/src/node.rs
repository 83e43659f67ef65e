use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Options, Spanned};

use crate::error::YamlError;
use crate::placed_error::PlacedError;

/// A value of a document, and where it begins.
#[derive(Clone, Debug)]
pub struct YamlNode {
    /// Where the value begins; unknown if there is no text.
    pub location: Location,
    /// The value.
    pub value: YamlValue,
}

/// A value of a document.
#[derive(Clone, Debug)]
pub enum YamlValue {
    /// Null, a bool, a number or a string.
    Scalar(Value),
    /// A list.
    List(Vec<YamlNode>),
    /// An object, with its fields in the order of the text.
    Object(Vec<YamlField>),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct YamlField {
    /// Where the name stands.
    pub location: Location,
    /// The name.
    pub name: String,
    /// The value.
    pub node: YamlNode,
}

impl YamlNode {
    /// Parses a text with one document; an empty text is null. As in Kubernetes, a key may not stand twice in an
    /// object, and `0644` is octal.
    ///
    /// # Errors
    /// If the text is not YAML, or has more than one document.
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        serde_saphyr::from_str_with_options(text, options()).map_err(|error| syntax_error(&error))
    }

    /// Parses the documents of a text, without those that are null.
    ///
    /// # Errors
    /// If the text is not YAML.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, YamlError> {
        let documents: Result<Vec<Self>, _> = serde_saphyr::from_multiple_with_options(text, options());
        let mut documents = documents.map_err(|error| syntax_error(&error))?;
        documents.retain(|document| !document.is_null());
        Ok(documents)
    }

    /// Parses a text with one document by the types of YAML 1.2: `yes` and `n` are texts, and `0644` is decimal.
    ///
    /// # Errors
    /// If the text is not YAML, or has more than one document.
    pub fn parse_core_schema(text: &str) -> Result<Self, PlacedError> {
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| PlacedError::at(error.location().unwrap_or(Location::UNKNOWN), message(&error)))
    }

    /// The line on which the value begins, from 1; 0 if there is no text.
    pub fn line(&self) -> u64 {
        self.location.line()
    }

    /// Whether the value is null.
    pub fn is_null(&self) -> bool {
        matches!(self.value, YamlValue::Scalar(Value::Null))
    }
}

fn options() -> Options {
    serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::Error,
        legacy_octal_numbers: true,
    }
}

fn syntax_error(error: &serde_saphyr::Error) -> YamlError {
    let line = error.location().map_or(0, |place| place.line());
    YamlError { line, path: String::new(), message: message(error) }
}

/// The message without the place, which is a field of its own.
fn message(error: &serde_saphyr::Error) -> String {
    let message = error.without_snippet().to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

/// The JSON value as a document without a text.
impl From<&Value> for YamlNode {
    fn from(json: &Value) -> Self {
        let value = match json {
            Value::Array(items) => YamlValue::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| YamlField {
                    location: Location::UNKNOWN,
                    name: name.clone(),
                    node: Self::from(value),
                };
                YamlValue::Object(fields.iter().map(field).collect())
            }
            scalar => YamlValue::Scalar(scalar.clone()),
        };
        Self { location: Location::UNKNOWN, value }
    }
}

impl From<&YamlNode> for Value {
    fn from(node: &YamlNode) -> Self {
        match &node.value {
            YamlValue::Scalar(scalar) => scalar.clone(),
            YamlValue::List(items) => items.iter().map(Self::from).collect(),
            YamlValue::Object(fields) => {
                let field = |field: &YamlField| (field.name.clone(), Self::from(&field.node));
                Self::Object(fields.iter().map(field).collect::<Map<String, Self>>())
            }
        }
    }
}

/// The form in error messages.
impl fmt::Display for YamlNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            YamlValue::Scalar(Value::String(text)) => write!(f, "{text:?}"),
            YamlValue::Scalar(scalar) => write!(f, "{scalar}"),
            YamlValue::List(_) => f.write_str("a list"),
            YamlValue::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<YamlValue>::deserialize(deserializer)?;
        Ok(Self { location: spanned.referenced, value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlValue, D::Error> {
        YamlValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Scalar(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<YamlValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element()? {
            items.push(item);
        }
        Ok(YamlValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<YamlValue, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, node)) = entries.next_entry::<Spanned<String>, YamlNode>()? {
            fields.push(YamlField { location: key.referenced, name: key.value, node });
        }
        Ok(YamlValue::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn lines(node: &YamlNode, into: &mut Vec<u64>) {
        into.push(node.line());
        match &node.value {
            YamlValue::Scalar(_) => {}
            YamlValue::List(items) => items.iter().for_each(|item| lines(item, into)),
            YamlValue::Object(fields) => fields.iter().for_each(|field| {
                into.push(field.location.line());
                lines(&field.node, into);
            }),
        }
    }

    #[test]
    fn each_part_has_its_line() {
        let node = YamlNode::parse("a: 1\nb:\n- x\n- {c: true}\n").unwrap();
        let mut found = Vec::new();
        lines(&node, &mut found);
        assert_eq!(found, [1, 1, 1, 2, 3, 3, 4, 4, 4]);
        assert_eq!(Value::from(&node), json!({"a": 1, "b": ["x", {"c": true}]}));
    }

    #[test]
    fn documents_that_are_null_are_left_out() {
        let documents = YamlNode::parse_all("---\na: 0644\n---\n# nothing\n---\n- b\n").unwrap();
        let documents: Vec<_> = documents.iter().map(|node| (node.line(), Value::from(node))).collect();
        assert_eq!(documents, [(2, json!({"a": 420})), (6, json!(["b"]))]);
        assert!(YamlNode::parse("a: 1\n---\nb: 2\n").is_err());
        assert!(YamlNode::parse("").unwrap().is_null());
    }

    #[test]
    fn texts_that_are_not_yaml_are_refused_with_a_line() {
        let error = YamlNode::parse("a: 1\nb: [\n").unwrap_err();
        assert!(error.line >= 2 && !error.message.contains("line"), "{error:?}");
        assert!(YamlNode::parse("a: 1\na: 2\n").unwrap_err().message.contains("duplicate"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_and_each_reported_line_exists(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            check(&String::from_utf8_lossy(&bytes))?;
        }

        #[test]
        fn each_reported_line_of_text_like_yaml_exists(text in "([ab]: |- |\\n|  |[{}\\[\\],&*!|>#'\"1x]){0,40}") {
            check(&text)?;
        }
    }

    fn check(text: &str) -> Result<(), TestCaseError> {
        // A line may end in any of YAML's line breaks, and the end of the text counts as a line.
        let last =
            1 + text.chars().filter(|sign| matches!(sign, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')).count();
        let mut found = Vec::new();
        match YamlNode::parse_all(text) {
            Ok(documents) => documents.iter().for_each(|node| lines(node, &mut found)),
            Err(error) => found.push(error.line),
        }
        for line in found {
            prop_assert!(line <= last as u64, "line {line} of {text:?}");
        }
        Ok(())
    }
}
