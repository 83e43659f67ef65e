use std::fmt;

use serde::de::{self, MapAccess, SeqAccess, Visitor};

/// The types of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Number,
    Bool,
    List,
    Object,
}

impl Type {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Bool => "`true` or `false`",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// The visitor of a value of one type.
pub(super) struct Typed<V> {
    pub(super) wanted: Type,
    pub(super) visitor: V,
}

impl<V> Typed<V> {
    fn expect<E: de::Error>(&self, is: Type, found: impl fmt::Display) -> Result<(), E> {
        if self.wanted == is {
            return Ok(());
        }
        let hint = match (self.wanted, is) {
            (Type::Text, Type::Number | Type::Bool) => ": a text needs quotes here",
            (Type::Number | Type::Bool, Type::Text) => ": it takes no quotes",
            _ => "",
        };
        // A custom error gets the place of the value, and one about its type that of the key.
        Err(E::custom(format!("expected {}, found {found}{hint}", self.wanted.word())))
    }
}

/// Methods of a visitor that check the type of a scalar.
macro_rules! checked {
    ($($method:ident($type:ty): $is:expr;)*) => {
        $(fn $method<E: de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.expect($is, format_args!("`{value}`"))?;
            self.visitor.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Typed<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    checked! {
        visit_bool(bool): Type::Bool;
        visit_i64(i64): Type::Number;
        visit_u64(u64): Type::Number;
        visit_f64(f64): Type::Number;
        visit_char(char): Type::Text;
        visit_str(&str): Type::Text;
        visit_borrowed_str(&'de str): Type::Text;
        visit_string(String): Type::Text;
    }

    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        Err(E::custom(format!("expected {}, and the key has no value", self.wanted.word())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.expect(Type::List, Type::List.word())?;
        self.visitor.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.expect(Type::Object, Type::Object.word())?;
        self.visitor.visit_map(entries)
    }
}
