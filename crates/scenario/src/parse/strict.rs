//! Reads YAML by the types of JSON: where a text is expected, a number is refused, and where a number is expected, a text.
//! A key without a value is refused, too. Without this, `name: 5` would be a text, and an editor that checks the file
//! with its JSON Schema would refuse what the parser accepts.

mod typed;

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use self::typed::{Type, Typed};

/// A deserializer, a visitor or an access of serde, or a seed, through which all that is below it is read strictly.
pub(super) struct Strict<T>(pub(super) T);

/// Methods that let the text of a scalar decide its type, which has to be the wanted one.
macro_rules! typed {
    ($($method:ident: $wanted:expr;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.0.deserialize_any(Typed { wanted: $wanted, visitor: Strict(visitor) })
        })*
    };
}

/// Methods that only wrap the visitor.
macro_rules! wrapped {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Self::Error> {
            self.0.$method($($argument,)* Strict(visitor))
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    typed! {
        deserialize_bool: Type::Bool;
        deserialize_i8: Type::Number;
        deserialize_i16: Type::Number;
        deserialize_i32: Type::Number;
        deserialize_i64: Type::Number;
        deserialize_i128: Type::Number;
        deserialize_u8: Type::Number;
        deserialize_u16: Type::Number;
        deserialize_u32: Type::Number;
        deserialize_u64: Type::Number;
        deserialize_u128: Type::Number;
        deserialize_f32: Type::Number;
        deserialize_f64: Type::Number;
        deserialize_char: Type::Text;
        deserialize_str: Type::Text;
        deserialize_string: Type::Text;
        deserialize_seq: Type::List;
        deserialize_map: Type::Object;
    }

    wrapped! {
        deserialize_any()
        deserialize_bytes()
        deserialize_byte_buf()
        deserialize_unit()
        deserialize_identifier()
        deserialize_ignored_any()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_option(Strict(Present(visitor)))
    }
}

/// The visitor of a value that may be absent, and is not null.
struct Present<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Present<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(deserializer)
    }

    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        Err(E::custom("the key has no value"))
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.visit_none()
    }
}

/// Methods of a visitor that get a scalar.
macro_rules! scalars {
    ($($method:ident($($argument:ident: $type:ty)?))*) => {
        $(fn $method<E: de::Error>(self $(, $argument: $type)?) -> Result<V::Value, E> {
            self.0.$method($($argument)?)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    scalars! {
        visit_bool(value: bool)
        visit_i64(value: i64)
        visit_i128(value: i128)
        visit_u64(value: u64)
        visit_u128(value: u128)
        visit_f64(value: f64)
        visit_char(value: char)
        visit_str(value: &str)
        visit_borrowed_str(value: &'de str)
        visit_string(value: String)
        visit_bytes(value: &[u8])
        visit_borrowed_bytes(value: &'de [u8])
        visit_byte_buf(value: Vec<u8>)
        visit_none()
        visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Strict(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Strict(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(entries))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, variant: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Strict(variant))
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    /// A key is a text in any case: `404:` is the key `404`.
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Strict<A> {
    type Error = A::Error;
    type Variant = Strict<A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.0.variant_seed(seed)?;
        Ok((value, Strict(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.0.newtype_variant_seed(Strict(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(length, Strict(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Strict(visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::Deserialize;

    use crate::parse::yaml;

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
    }

    #[test]
    fn a_value_of_another_type_is_refused_with_its_place() {
        for (text, message) in [
            ("text: a", None),
            ("text: '5'", None),
            ("count: 5\nflag: true\nitems: [1, 2]", None),
            ("text: yes", None),
            ("text: 5", Some("a:1:7: expected a text, found `5`: a text needs quotes here")),
            ("text: true", Some("a:1:7: expected a text, found `true`: a text needs quotes here")),
            ("flag: true\ntext:", Some("a:2:5: the key has no value")),
            ("count: '5'", Some("a:1:8: expected a number, found `5`: it takes no quotes")),
            ("count: [5]", Some("a:1:8: expected a number, found a list")),
            ("count: ~", Some("a:1:8: the key has no value")),
            ("count: -1", Some("a:1:1: invalid value: integer `-1`, expected u32")),
            ("flag: 'true'", Some("a:1:7: expected `true` or `false`, found `true`: it takes no quotes")),
            ("items: [1, '2']", Some("a:1:12: expected a number, found `2`: it takes no quotes")),
            ("list:", Some("a:1:5: expected a list, and the key has no value")),
        ] {
            let refused = yaml::<All>(Path::new("a"), text).err().map(|problem| problem.to_string());
            let matches = match (&refused, message) {
                (None, None) => true,
                (Some(found), Some(wanted)) => found.starts_with(wanted),
                _ => false,
            };
            assert!(matches, "{text}: {refused:?}");
        }
    }
}
