//! Reads a node by the types of JSON: where a text is expected, a number is refused, and where a number is expected, a
//! text. A key without a value is refused, too. Without this, `name: 5` would be a text, and an editor that checks the
//! file with its JSON Schema would refuse what the parser accepts.
//!
//! The deserializer of `serde-saphyr` is compiled for [`YamlNode`] alone. Compiled for each type of a file format, it is
//! ten times as much code as this one.

mod access;

use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde_json::Value;

use self::access::{Fields, Items, Located, Variant};
use crate::node::{YamlNode, YamlValue};
use crate::placed_error::PlacedError;
use crate::spanned::MARKER;

impl YamlNode {
    /// Reads a value of a type. Texts and numbers are what they are in JSON: `5` is no text, and `'5'` is no number.
    ///
    /// # Errors
    /// If the node does not have the form of the type, with the place that shows it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, PlacedError> {
        T::deserialize(Typed(self)).map_err(|error| error.of_value(self.location).within(self.location))
    }
}

/// A node as a deserializer.
#[derive(Clone, Copy)]
struct Typed<'n>(&'n YamlNode);

impl<'n> Typed<'n> {
    /// The error of a node that is not `wanted`.
    fn misfit(self, wanted: &str, hint: &str) -> PlacedError {
        let message = match &self.0.value {
            YamlValue::Scalar(Value::Null) => format!("expected {wanted}, and the key has no value"),
            YamlValue::Scalar(Value::String(text)) => format!("expected {wanted}, found `{text}`{hint}"),
            YamlValue::Scalar(scalar) => format!("expected {wanted}, found `{scalar}`{hint}"),
            YamlValue::List(_) | YamlValue::Object(_) => format!("expected {wanted}, found {}", self.0),
        };
        PlacedError::at(self.0.location, message)
    }

    /// A number or a bool, which `is_wanted` recognizes.
    fn unquoted<V: Visitor<'n>>(
        self,
        wanted: &str,
        is_wanted: fn(&Value) -> bool,
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        match &self.0.value {
            YamlValue::Scalar(scalar) if is_wanted(scalar) => self.scalar(visitor),
            YamlValue::Scalar(Value::String(_)) => Err(self.misfit(wanted, ": it takes no quotes")),
            _ => Err(self.misfit(wanted, "")),
        }
    }

    fn scalar<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        let YamlValue::Scalar(scalar) = &self.0.value else { return self.deserialize_any(visitor) };
        let read = match scalar {
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            _ => visitor.visit_unit(),
        };
        read.map_err(|error: PlacedError| error.of_value(self.0.location))
    }

    fn object<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        let YamlValue::Object(fields) = &self.0.value else { return Err(self.misfit("an object", "")) };
        let mut fields = Fields::new(fields, self.0.location);
        let read = visitor.visit_map(&mut fields);
        read.map_err(|error| error.of_value(self.0.location).within(fields.location()))
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
            self.unquoted("a number", Value::is_number, visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Typed<'de> {
    type Error = PlacedError;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    serde::forward_to_deserialize_any! {
        bytes byte_buf unit unit_struct identifier ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        match &self.0.value {
            YamlValue::Scalar(_) => self.scalar(visitor),
            YamlValue::List(_) => self.deserialize_seq(visitor),
            YamlValue::Object(_) => self.object(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.unquoted("`true` or `false`", Value::is_boolean, visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        match &self.0.value {
            YamlValue::Scalar(Value::String(_)) => self.scalar(visitor),
            _ => Err(self.misfit("a text", ": a text needs quotes here")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.deserialize_str(visitor)
    }

    /// A key that is there has a value.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        if self.0.is_null() {
            return Err(PlacedError::at(self.0.location, "the key has no value".to_owned()));
        }
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        let YamlValue::List(items) = &self.0.value else { return Err(self.misfit("a list", "")) };
        let mut items = Items(items.iter());
        let list = visitor.visit_seq(&mut items).map_err(|error| error.of_value(self.0.location))?;
        match items.0.len() {
            0 => Ok(list),
            more => Err(PlacedError::at(self.0.location, format!("the list has {more} items too many"))),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, PlacedError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, PlacedError> {
        self.object(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        self.object(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        if name == MARKER { visitor.visit_seq(Located::new(self)) } else { visitor.visit_newtype_struct(self) }
    }

    /// A text is a variant without a value; an object with one key is a variant with one.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        let (variant, place) = match &self.0.value {
            YamlValue::Scalar(Value::String(name)) => (Variant::without_value(name, self.0.location), self.0.location),
            YamlValue::Object(fields) if let [field] = &fields[..] => (Variant::with_value(field), field.location),
            _ => return Err(self.misfit("a text or an object with one key", "")),
        };
        visitor.visit_enum(variant).map_err(|error| error.of_value(self.0.location).within(place))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::Spanned;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read is of interest")]
    struct All {
        text: Option<String>,
        count: Option<u32>,
        flag: Option<bool>,
        items: Option<Vec<u32>>,
        #[serde(default)]
        list: Vec<u32>,
        choice: Option<Choice>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "lowercase")]
    enum Choice {
        Plain,
        Valued(u32),
        Pair(u32, String),
        Fields { name: Spanned<String> },
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read is of interest")]
    struct Inner {
        a: Option<u32>,
        needed: u32,
    }

    fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
        let place =
            |error: PlacedError| format!("{}:{}: {}", error.location.line(), error.location.column(), error.message);
        YamlNode::parse_core_schema(text).and_then(|node| node.read()).map_err(place)
    }

    #[test]
    fn a_value_of_another_type_is_refused_with_its_place() {
        for (text, message) in [
            ("text: a", None),
            ("text: '5'", None),
            ("count: 5\nflag: true\nitems: [1, 2]", None),
            ("text: yes", None),
            ("text: 5", Some("1:7: expected a text, found `5`: a text needs quotes here")),
            ("text: true", Some("1:7: expected a text, found `true`: a text needs quotes here")),
            ("flag: true\ntext:", Some("2:5: the key has no value")),
            ("count: '5'", Some("1:8: expected a number, found `5`: it takes no quotes")),
            ("count: [5]", Some("1:8: expected a number, found a list")),
            ("count: ~", Some("1:8: the key has no value")),
            ("count: -1", Some("1:1: invalid value: integer `-1`, expected u32")),
            ("flag: 'true'", Some("1:7: expected `true` or `false`, found `true`: it takes no quotes")),
            ("items: [1, '2']", Some("1:12: expected a number, found `2`: it takes no quotes")),
            ("list:", Some("1:5: expected a list, and the key has no value")),
            ("choice: plain", None),
            ("choice: {plain: ~}", None),
            ("choice: {plain: 1}", Some("1:17: `plain` takes no value")),
            ("choice: valued", Some("1:9: `valued` needs a value")),
            ("choice: {valued: a}", Some("1:18: expected a number, found `a`: it takes no quotes")),
            ("choice: {valued: 1, plain: 2}", Some("1:9: expected a text or an object with one key, found an object")),
            ("choice: {other: 1}", Some("1:10: unknown variant `other`, expected one of plain, valued, pair, fields")),
            ("choice: {pair: [1, a, b]}", Some("1:16: the list has 1 items too many")),
            (
                "choice: {pair: [1]}",
                Some("1:10: invalid length 1, expected tuple variant Choice::Pair with 2 elements"),
            ),
            ("inner: {a: 1}\ntext: b", Some("1:9: missing field `needed`")),
            ("inner: {}", Some("1:8: missing field `needed`")),
            (
                "text: a\nmore: 1",
                Some("2:1: unknown field `more`, expected one of text, count, flag, items, list, choice, inner"),
            ),
            ("text: a\ntext: b", Some("2:1: duplicate mapping key")),
            ("text: [", Some("1:7: unclosed bracket")),
        ] {
            let refused = read::<All>(text).err();
            let matches = match (&refused, message) {
                (None, None) => true,
                (Some(found), Some(wanted)) => found.starts_with(wanted),
                _ => false,
            };
            assert!(matches, "{text}: {refused:?}");
        }
    }

    #[test]
    fn a_value_has_its_place() {
        let choice = read::<Choice>("# first\nfields: {name: a}").expect("a choice");
        let Choice::Fields { name: Spanned { value, location } } = choice else { panic!("{choice:?}") };
        assert_eq!((value.as_str(), location.line(), location.column()), ("a", 2, 16));
        let none: Spanned<u32> = serde_json::from_str("5").expect("a number");
        assert_eq!(none, Spanned::new(5, serde_saphyr::Location::UNKNOWN));
    }

    proptest! {
        #[test]
        fn what_is_read_as_any_value_is_the_value_of_the_node(text in "([ab]: |- |\\n|  |[{}\\[\\],&*!|>#'\"1x.-]|true|~){0,40}") {
            if let Ok(node) = YamlNode::parse_core_schema(&text) {
                prop_assert_eq!(node.read::<Value>().expect("any value"), Value::from(&node));
                prop_assert_eq!(node.read::<Spanned<Value>>().expect("any value").value, Value::from(&node));
                let last = text.lines().count().max(1) as u64 + 1;
                if let Err(error) = node.read::<All>() {
                    prop_assert!(error.location.line() <= last, "{text:?}: {error:?}");
                }
            }
        }
    }
}
