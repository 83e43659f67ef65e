use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// One step into an object. In Kubernetes: `fieldpath.PathElement`.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or a name in a map.
    Field(String),
    /// The item of a list with these values in its key fields, sorted by field name.
    Key(Vec<(String, Value)>),
    /// The item of a set with this value.
    Value(Value),
    /// The item at this index.
    Index(i64),
}

/// A place in an object.
pub type Path = [PathElement];

/// Prints a path as in conflicts: `.spec.containers[name="web"].image`.
pub fn path_text(path: &Path) -> String {
    path.iter().map(PathElement::to_string).collect()
}

impl PathElement {
    /// A field of a struct or a name in a map.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Reads `f:name`, `k:{"name":"web"}`, `v:"a"` or `i:3`.
    ///
    /// `Ok(None)` for an unknown type of element, which callers must skip.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let mut signs = text.chars();
        let (Some(kind), Some(separator)) = (signs.next(), signs.next()) else {
            return Err("key must be 2 characters long:".to_owned());
        };
        if separator != ':' {
            return Err(format!("missing colon: {text}"));
        }
        let rest = signs.as_str();
        match kind {
            'f' => Ok(Some(Self::Field(rest.to_owned()))),
            'v' => match coracle_meta::json::from_str(rest) {
                Ok(value) => Ok(Some(Self::Value(value))),
                Err(error) => Err(format!("{text}: {error}")),
            },
            'k' => match coracle_meta::json::from_str::<serde_json::Map<String, Value>>(rest) {
                Ok(fields) => Ok(Some(Self::key(fields))),
                Err(error) => Err(format!("{text}: {error}")),
            },
            'i' => rest.parse().map(|index| Some(Self::Index(index))).map_err(|error| format!("{text}: {error}")),
            _ => Ok(None),
        }
    }

    /// The item of a list with these values in its key fields.
    pub fn key(fields: impl IntoIterator<Item = (String, Value)>) -> Self {
        let mut fields: Vec<_> = fields.into_iter().collect();
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(fields)
    }

    /// The element in `fieldsV1`.
    pub fn serialized(&self) -> String {
        match self {
            Self::Field(name) => ["f:", name].concat(),
            Self::Key(fields) => {
                let mut text = "k:".to_owned();
                for (index, (name, value)) in fields.iter().enumerate() {
                    text.push(if index == 0 { '{' } else { ',' });
                    text.push_str(&json_text(name));
                    text.push(':');
                    text.push_str(&json_text(value));
                }
                text.push('}');
                text
            }
            Self::Value(value) => ["v:", &json_text(value)].concat(),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_fields(a, b),
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn compare_fields(a: &[(String, Value)], b: &[(String, Value)]) -> Ordering {
    for ((a_name, a_value), (b_name, b_value)) in a.iter().zip(b) {
        let order = a_name.cmp(b_name).then_with(|| compare_values(a_value, b_value));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// A total order of JSON values in which `1` and `1.0` are equal. In Kubernetes: `value.Compare`.
pub fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare_values(a, b));
            pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| a.0.cmp(b.0).then_with(|| compare_values(a.1, b.1)));
            pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        _ => value_rank(a).cmp(&value_rank(b)),
    }
}

/// Whether two values are equal with respect to ownership.
pub fn values_equal(a: &Value, b: &Value) -> bool {
    a == b || compare_values(a, b).is_eq()
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(a: &serde_json::Number, b: &serde_json::Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i128(), b.as_i128()) {
        return a.cmp(&b);
    }
    let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_print_as_conflicts_and_field_sets_name_them() {
        let key = PathElement::key([("protocol".to_owned(), json!("TCP")), ("port".to_owned(), json!(80))]);
        assert_eq!(key.to_string(), r#"[port=80,protocol="TCP"]"#);
        assert_eq!(key.serialized(), r#"k:{"port":80,"protocol":"TCP"}"#);
        assert_eq!(PathElement::Value(json!("a")).to_string(), r#"[="a"]"#);
        assert_eq!(PathElement::field("a.b/c").serialized(), "f:a.b/c");
        assert_eq!(PathElement::parse(&key.serialized()), Ok(Some(key)));
    }

    #[test]
    fn unknown_kinds_of_elements_are_skipped_and_malformed_ones_refused() {
        assert_eq!(PathElement::parse("z:1"), Ok(None));
        assert!(PathElement::parse("f").is_err());
        assert!(PathElement::parse("fx").is_err());
        assert!(PathElement::parse("k:[1]").is_err());
        assert!(PathElement::parse("v:1 2").is_err());
        assert!(PathElement::parse("i:x").is_err());
        assert!(PathElement::parse("é").is_err());
    }

    #[test]
    fn whole_numbers_equal_their_floating_twins() {
        assert!(values_equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!values_equal(&json!(1), &json!("1")));
    }
}
