//! A document tree with line numbers.

use std::fmt;

use coracle_meta::Object;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Spanned};

use crate::document::refusal::Refusal;

/// A value and its line.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// From 1; 0 if there is no text.
    pub(crate) line: u64,
    pub(crate) part: Part,
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Scalar(Json),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// The documents of a text that are not empty.
    pub(crate) fn of_yaml(text: &str) -> Result<Vec<Self>, Refusal> {
        let options = serde_saphyr::options! {
            duplicate_keys: DuplicateKeyPolicy::Error,
            legacy_octal_numbers: true,
        };
        let read: Result<Vec<Spanned<Part>>, _> = serde_saphyr::from_multiple_with_options(text, options);
        let documents = read.map_err(|error| {
            let line = error.location().map_or(0, |place| place.line());
            let message = error.without_snippet().to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            Refusal { line, path: String::new(), message }
        })?;
        let documents = documents.into_iter().map(|part| Self { line: line_of(part.defined), part: part.value });
        Ok(documents.filter(|document| !document.is_null()).collect())
    }

    /// An object of the API.
    pub(crate) fn of_object(object: &Object) -> Self {
        Self::of_json(object.as_value())
    }

    fn of_json(json: &Json) -> Self {
        let part = match json {
            Json::Array(items) => Part::List(items.iter().map(Self::of_json).collect()),
            Json::Object(fields) => {
                Part::Map(fields.iter().map(|(key, value)| (key.clone(), Self::of_json(value))).collect())
            }
            scalar => Part::Scalar(scalar.clone()),
        };
        Self { line: 0, part }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.part, Part::Scalar(Json::Null))
    }
}

fn line_of(place: Location) -> u64 {
    place.line()
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Parts)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Part, E> {
        Ok(Part::Scalar(Json::Null))
    }

    fn visit_none<E>(self) -> Result<Part, E> {
        Ok(Part::Scalar(Json::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Part, D::Error> {
        Part::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Part, E> {
        Ok(Part::Scalar(Json::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Part, E> {
        Ok(Part::Scalar(Number::from_f64(value).map_or(Json::Null, Json::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Part, E> {
        Ok(Part::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Part, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element::<Spanned<Part>>()? {
            items.push(Tree { line: line_of(item.defined), part: item.value });
        }
        Ok(Part::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Part, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Spanned<Part>>()? {
            fields.push((key.value, Tree { line: line_of(key.defined), part: value.value }));
        }
        Ok(Part::Map(fields))
    }
}

impl From<&Tree> for Json {
    fn from(tree: &Tree) -> Self {
        match &tree.part {
            Part::Scalar(scalar) => scalar.clone(),
            Part::List(items) => items.iter().map(Self::from).collect(),
            Part::Map(fields) => {
                let fields: Map<String, Self> =
                    fields.iter().map(|(key, value)| (key.clone(), Self::from(value))).collect();
                Self::Object(fields)
            }
        }
    }
}
