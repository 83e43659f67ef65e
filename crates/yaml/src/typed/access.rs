use std::slice::Iter;

use serde::de::value::{MapDeserializer, StrDeserializer, U64Deserializer};
use serde::de::{self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde_saphyr::Location;

use super::Typed;
use crate::node::{YamlField, YamlNode};
use crate::placed_error::PlacedError;

/// The items of a list that are not read yet.
pub(super) struct Items<'n>(pub(super) Iter<'n, YamlNode>);

impl<'n> SeqAccess<'n> for &mut Items<'n> {
    type Error = PlacedError;

    fn next_element_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<Option<S::Value>, PlacedError> {
        let Some(node) = self.0.next() else { return Ok(None) };
        let at = node.location;
        seed.deserialize(Typed(node)).map(Some).map_err(|error| error.of_value(at).within(at))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// The fields of an object that are not read yet.
pub(super) struct Fields<'n> {
    fields: Iter<'n, YamlField>,
    /// The field whose key was read last.
    last: Option<&'n YamlField>,
    object: Location,
}

impl<'n> Fields<'n> {
    pub(super) fn new(fields: &'n [YamlField], object: Location) -> Self {
        Self { fields: fields.iter(), last: None, object }
    }

    /// The place of the key that was read last, or of the object.
    pub(super) fn location(&self) -> Location {
        self.last.map_or(self.object, |field| field.location)
    }
}

impl<'n> MapAccess<'n> for &mut Fields<'n> {
    type Error = PlacedError;

    /// A key is a text in any case: `404:` is the key `404`.
    fn next_key_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<Option<S::Value>, PlacedError> {
        let Some(field) = self.fields.next() else { return Ok(None) };
        self.last = Some(field);
        let key: StrDeserializer<'n, PlacedError> = field.name.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|error| error.within(field.location))
    }

    fn next_value_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<S::Value, PlacedError> {
        let field = self.last.ok_or_else(|| de::Error::custom("a value was read before its key"))?;
        seed.deserialize(Typed(&field.node)).map_err(|error| error.of_value(field.node.location).within(field.location))
    }
}

/// What a [`Spanned`](crate::Spanned) gets: the place, then the value.
pub(super) struct Located<'n> {
    node: Typed<'n>,
    has_read_place: bool,
}

impl<'n> Located<'n> {
    pub(super) fn new(node: Typed<'n>) -> Self {
        Self { node, has_read_place: false }
    }
}

impl<'n> SeqAccess<'n> for Located<'n> {
    type Error = PlacedError;

    fn next_element_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<Option<S::Value>, PlacedError> {
        if self.has_read_place {
            return seed.deserialize(self.node).map(Some);
        }
        self.has_read_place = true;
        let place = self.node.0.location;
        let parts: [(&str, U64Deserializer<PlacedError>); 2] =
            [("line", place.line().into_deserializer()), ("column", place.column().into_deserializer())];
        seed.deserialize(MapDeserializer::new(parts.into_iter())).map(Some)
    }
}

/// The variant of an enumeration.
pub(super) struct Variant<'n> {
    name: &'n str,
    location: Location,
    value: Option<&'n YamlNode>,
}

impl<'n> Variant<'n> {
    pub(super) fn without_value(name: &'n str, location: Location) -> Self {
        Self { name, location, value: None }
    }

    pub(super) fn with_value(field: &'n YamlField) -> Self {
        Self { name: &field.name, location: field.location, value: Some(&field.node) }
    }

    fn value(self) -> Result<Typed<'n>, PlacedError> {
        let missing = || PlacedError::at(self.location, format!("`{}` needs a value", self.name));
        self.value.map(Typed).ok_or_else(missing)
    }
}

impl<'n> EnumAccess<'n> for Variant<'n> {
    type Error = PlacedError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'n>>(self, seed: S) -> Result<(S::Value, Self), PlacedError> {
        let name: StrDeserializer<'n, PlacedError> = self.name.into_deserializer();
        let variant = seed.deserialize(name).map_err(|error| error.within(self.location))?;
        Ok((variant, self))
    }
}

impl<'n> VariantAccess<'n> for Variant<'n> {
    type Error = PlacedError;

    fn unit_variant(self) -> Result<(), PlacedError> {
        match self.value {
            Some(node) if !node.is_null() => {
                Err(PlacedError::at(node.location, format!("`{}` takes no value", self.name)))
            }
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'n>>(self, seed: S) -> Result<S::Value, PlacedError> {
        let value = self.value()?;
        seed.deserialize(value).map_err(|error| error.of_value(value.0.location))
    }

    fn tuple_variant<V: Visitor<'n>>(self, _length: usize, visitor: V) -> Result<V::Value, PlacedError> {
        de::Deserializer::deserialize_seq(self.value()?, visitor)
    }

    fn struct_variant<V: Visitor<'n>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PlacedError> {
        de::Deserializer::deserialize_map(self.value()?, visitor)
    }
}
