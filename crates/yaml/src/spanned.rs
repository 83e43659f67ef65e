use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_saphyr::Location;

/// The name under which a deserializer of this crate knows that a place is wanted.
pub(crate) const MARKER: &str = "coracle_yaml::Spanned";

/// A value, and where it begins in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it begins; unknown if it was not read from a [`YamlNode`](crate::YamlNode).
    pub location: Location,
}

impl<T> Spanned<T> {
    /// A value at a place.
    pub const fn new(value: T, location: Location) -> Self {
        Self { value, location }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(MARKER, SpannedVisitor(PhantomData))
    }
}

struct SpannedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SpannedVisitor<T> {
    type Value = Spanned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// A deserializer of this crate: the place, then the value.
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Spanned<T>, A::Error> {
        let missing = |index| de::Error::invalid_length(index, &"a place and a value");
        let location = parts.next_element()?.ok_or_else(|| missing(0))?;
        let value = parts.next_element()?.ok_or_else(|| missing(1))?;
        Ok(Spanned { value, location })
    }

    /// Any other deserializer.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Spanned<T>, D::Error> {
        Ok(Spanned { value: T::deserialize(deserializer)?, location: Location::UNKNOWN })
    }
}
