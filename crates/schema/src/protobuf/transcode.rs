//! Converts JSON to a message without an intermediate tree, for lists of many objects.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::encode;
use super::wire::{put_bytes, put_double, put_int, put_message};
use crate::table::{Field, Special, TypeNode, TypeRef};

/// Encodes the object in `json` as a message of its type. The server itself has written `json`.
pub(crate) fn object(json: &[u8], ty: TypeRef<'_>, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    // The depth was checked when the object was decoded.
    reader.disable_recursion_limit();
    Content { ty, out }.deserialize(&mut reader)?;
    reader.end()
}

/// The content of a message: the fields of an object, or the elements of a list in place of a message.
struct Content<'t, 'o> {
    ty: TypeRef<'t>,
    out: &'o mut Vec<u8>,
}

/// A field of the message that is being written, or one element of it.
struct Put<'t, 'o> {
    tag: u32,
    ty: TypeRef<'t>,
    /// Whether this is a whole field: then lists and maps are written element by element, and `null` is not written.
    is_field: bool,
    out: &'o mut Vec<u8>,
}

/// The range of the bytes of a written field.
struct Segment<'t> {
    field: &'t Field,
    start: usize,
    end: usize,
}

impl<'de> DeserializeSeed<'de> for Content<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Content<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some(body) = self.ty.as_struct() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let (table, base) = (self.ty.table(), self.out.len());
        let mut segments = Vec::new();
        while let Some(name) = map.next_key::<coracle_meta::lean::FieldName<'de>>()? {
            let field = body.field(name.as_str()).and_then(|field| Some((field, *field.tags.last()?)));
            let Some((field, tag)) = field else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let start = self.out.len();
            let ty = TypeRef::new(table, &field.shape);
            map.next_value_seed(Put { tag, ty, is_field: true, out: &mut *self.out })?;
            let end = self.out.len();
            if end > start {
                segments.push(Segment { field, start, end });
            }
        }
        arrange(segments, base, self.out);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        match self.ty.element() {
            Some(element) => put_elements(seq, 1, element, self.out),
            None => ignore(seq),
        }
    }
}

/// Sorts the fields that were written from `base` on by their tags, and moves those of embedded structs into their
/// messages.
fn arrange(mut segments: Vec<Segment<'_>>, base: usize, out: &mut Vec<u8>) {
    let is_flat = segments.iter().all(|segment| segment.field.tags.len() == 1);
    if is_flat && segments.is_sorted_by(|a, b| a.field.tags <= b.field.tags) {
        return;
    }
    segments.sort_by(|a, b| a.field.tags.cmp(&b.field.tags));
    let written = out.split_off(base);
    emit(&segments, 0, base, &written, out);
}

fn emit(segments: &[Segment<'_>], depth: usize, base: usize, written: &[u8], out: &mut Vec<u8>) {
    for together in segments.chunk_by(|a, b| a.field.tags[depth] == b.field.tags[depth]) {
        let tags = &together[0].field.tags;
        if tags.len() > depth + 1 {
            put_message(out, tags[depth], |out| emit(together, depth + 1, base, written, out));
            continue;
        }
        for segment in together {
            out.extend_from_slice(&written[segment.start - base..segment.end - base]);
        }
    }
}

fn put_elements<'de, A>(mut seq: A, tag: u32, ty: TypeRef<'_>, out: &mut Vec<u8>) -> Result<(), A::Error>
where
    A: SeqAccess<'de>,
{
    while seq.next_element_seed(Put { tag, ty, is_field: false, out: &mut *out })?.is_some() {}
    Ok(())
}

fn ignore<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

impl<'de> DeserializeSeed<'de> for Put<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.ty.node() {
            TypeNode::Special(Special::RawExtension | Special::FieldsV1 | Special::Json) => {
                let text = <&RawValue as serde::Deserialize>::deserialize(deserializer)?.get();
                if !(self.is_field && text == "null") {
                    put_message(self.out, self.tag, |out| {
                        if text != "null" {
                            put_bytes(out, 1, text.as_bytes());
                        }
                    });
                }
                Ok(())
            }
            TypeNode::Special(Special::Quantity) => deserializer.deserialize_any(self),
            TypeNode::Special(_) => {
                let value = <Value as serde::Deserialize>::deserialize(deserializer)?;
                if !(self.is_field && value.is_null()) {
                    put_message(self.out, self.tag, |out| encode::message(&value, self.ty, out));
                }
                Ok(())
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl Put<'_, '_> {
    fn text(self, text: &str) {
        match self.ty.node() {
            TypeNode::String => put_bytes(self.out, self.tag, text.as_bytes()),
            TypeNode::Bytes => put_bytes(self.out, self.tag, &STANDARD.decode(text).unwrap_or_default()),
            TypeNode::Special(Special::Quantity) => {
                put_message(self.out, self.tag, |out| put_bytes(out, 1, text.as_bytes()));
            }
            _ => {}
        }
    }

    fn whole(self, number: i64) {
        match self.ty.node() {
            TypeNode::Int32 | TypeNode::Int64 => put_int(self.out, self.tag, number),
            _ => self.real(number as f64),
        }
    }

    fn real(self, number: f64) {
        match self.ty.node() {
            TypeNode::Double => put_double(self.out, self.tag, number),
            TypeNode::Special(Special::Quantity) => {
                let text = Value::from(number).to_string();
                put_message(self.out, self.tag, |out| put_bytes(out, 1, text.as_bytes()));
            }
            _ => {}
        }
    }
}

impl<'de> Visitor<'de> for Put<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        if !self.is_field && matches!(self.ty.node(), TypeNode::Struct(_) | TypeNode::Special(_) | TypeNode::List) {
            put_bytes(self.out, self.tag, b"");
        }
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        if matches!(self.ty.node(), TypeNode::Bool) {
            put_int(self.out, self.tag, i64::from(value));
        }
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.whole(number);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.whole(i64::try_from(number).unwrap_or_default());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.real(number);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.text(text);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Put { tag, ty, out, .. } = self;
        match (ty.node(), ty.element()) {
            (TypeNode::Struct(_), _) => put_message(out, tag, |out| Content { ty, out }.visit_map(map)),
            (TypeNode::Map, Some(element)) => {
                while let Some(key) = map.next_key::<coracle_meta::lean::FieldName<'de>>()? {
                    put_message(out, tag, |out| {
                        put_bytes(out, 1, key.as_str().as_bytes());
                        map.next_value_seed(Put { tag: 2, ty: element, is_field: false, out })
                    })?;
                }
                Ok(())
            }
            _ => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(())
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let Put { tag, ty, is_field, out } = self;
        match (ty.node(), ty.element()) {
            (TypeNode::List, Some(element)) if is_field => put_elements(seq, tag, element, out),
            (TypeNode::List, Some(element)) => put_message(out, tag, |out| put_elements(seq, 1, element, out)),
            _ => ignore(seq),
        }
    }
}
