//! Converts JSON to a message without an intermediate tree.
//!
//! ```text
//! JSON --Cursor--> fields in the order of the JSON --arrange--> fields in the order of their tags
//! ```
//! The result is that of [`encode`], which takes a tree.

use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Number;

use super::cursor::{Cursor, InvalidJson};
use super::encode;
use super::wire::{begin_message, end_message, put_bytes, put_double, put_int, put_message};
use crate::go_time::{GoTime, Layout};
use crate::table::{Field, Special, Struct, TypeNode, TypeRef};

/// Appends the object in `json` as a message of its type. The server itself has written or checked `json`.
pub(super) fn object(json: &[u8], ty: TypeRef<'_>, out: &mut Vec<u8>) -> Result<(), InvalidJson> {
    let mut cursor = Cursor::new(json);
    let mut transcoder = Transcoder { segments: Vec::with_capacity(64), scratch: Vec::with_capacity(json.len()), out };
    match ty.node() {
        TypeNode::Struct(body) if cursor.peek()? == b'{' => transcoder.fields(&mut cursor, ty, body)?,
        _ => drop(cursor.value()?),
    }
    if cursor.is_at_end() { Ok(()) } else { Err(cursor.value().err().unwrap_or(InvalidJson { at: json.len() })) }
}

struct Transcoder<'t, 'o> {
    /// The fields of the messages that are being written: those of a message in the order of their tags, those of the
    /// innermost message last.
    segments: Vec<Segment<'t>>,
    /// A copy of fields while they are reordered.
    scratch: Vec<u8>,
    out: &'o mut Vec<u8>,
}

/// The range of the bytes of a written field.
struct Segment<'t> {
    field: &'t Field,
    start: usize,
    end: usize,
}

/// A field of the message that is being written, or one element of it.
#[derive(Clone, Copy)]
struct Place<'t> {
    tag: u32,
    ty: TypeRef<'t>,
    /// Whether this is a whole field: then lists and maps are written element by element, and `null` is not written.
    is_field: bool,
}

impl<'t> Transcoder<'t, '_> {
    /// The fields of an object, as the content of a message.
    fn fields(&mut self, cursor: &mut Cursor<'_>, ty: TypeRef<'t>, body: &'t Struct) -> Result<(), InvalidJson> {
        let (base, first_segment) = (self.out.len(), self.segments.len());
        let (mut is_first, mut expected, mut is_in_order) = (true, 0, true);
        cursor.enter(b'{')?;
        while cursor.next(b'}', &mut is_first)? {
            let name = cursor.name()?;
            let known = body.position_near(&name, expected);
            let field = known.map(|at| &body.fields[at]).filter(|field| !field.tags.is_empty());
            expected = known.map_or(expected, |at| at + 1);
            let Some(field) = field else {
                cursor.value()?;
                continue;
            };
            let start = self.out.len();
            let ty = TypeRef::new(ty.table(), &field.shape);
            self.put(cursor, Place { tag: field.tags[field.tags.len() - 1], ty, is_field: true })?;
            let end = self.out.len();
            if end > start {
                let mut at = self.segments.len();
                while at > first_segment && is_before(field, self.segments[at - 1].field) {
                    at -= 1;
                }
                is_in_order &= at == self.segments.len() && field.tags.len() == 1;
                self.segments.insert(at, Segment { field, start, end });
            }
        }
        if !is_in_order {
            self.arrange(first_segment, base);
        }
        self.segments.truncate(first_segment);
        Ok(())
    }

    /// Writes the fields from `base` on again in the order of their segments, those of embedded structs in their messages.
    fn arrange(&mut self, first_segment: usize, base: usize) {
        self.scratch.clear();
        self.scratch.extend_from_slice(&self.out[base..]);
        self.out.truncate(base);
        emit(&self.segments[first_segment..], 0, base, &self.scratch, self.out);
    }

    fn put(&mut self, cursor: &mut Cursor<'_>, place: Place<'t>) -> Result<(), InvalidJson> {
        let Place { tag, ty, is_field } = place;
        let node = ty.node();
        match (node, cursor.peek()?) {
            (TypeNode::String, b'"') => put_bytes(self.out, tag, &cursor.string()?),
            (TypeNode::Struct(body), b'{') => self.message(tag, |this| this.fields(cursor, ty, body))?,
            (TypeNode::List, b'[') if is_field => self.elements(cursor, tag, ty)?,
            (TypeNode::List, b'[') => self.message(tag, |this| this.elements(cursor, 1, ty))?,
            (TypeNode::Map, b'{') if is_field => self.entries(cursor, tag, ty)?,
            (TypeNode::Bool, b't' | b'f') => put_int(self.out, tag, i64::from(cursor.value()? == b"true")),
            (TypeNode::Bytes, b'"') => put_bytes(self.out, tag, &STANDARD.decode(cursor.string()?).unwrap_or_default()),
            (TypeNode::Int32 | TypeNode::Int64, b'-' | b'0'..=b'9') => {
                let number = cursor.value()?;
                put_int(self.out, tag, whole(number).unwrap_or_default());
            }
            (TypeNode::Double, b'-' | b'0'..=b'9') => put_double(
                self.out,
                tag,
                number(cursor.value()?).and_then(|number| number.as_f64()).unwrap_or_default(),
            ),
            (_, b'n') => {
                cursor.value()?;
                if !is_field && is_message(node) {
                    put_bytes(self.out, tag, b"");
                }
            }
            (TypeNode::Special(special), first) => self.special(cursor, place, special, first)?,
            (node, _) => {
                cursor.value()?;
                if is_message(node) {
                    put_bytes(self.out, tag, b"");
                }
            }
        }
        Ok(())
    }

    /// A message of this tag, whose content `write` appends.
    fn message(
        &mut self,
        tag: u32,
        write: impl FnOnce(&mut Self) -> Result<(), InvalidJson>,
    ) -> Result<(), InvalidJson> {
        let length_at = begin_message(self.out, tag);
        write(self)?;
        end_message(self.out, length_at);
        Ok(())
    }

    fn elements(&mut self, cursor: &mut Cursor<'_>, tag: u32, list: TypeRef<'t>) -> Result<(), InvalidJson> {
        let mut is_first = true;
        cursor.enter(b'[')?;
        while cursor.next(b']', &mut is_first)? {
            match list.element() {
                Some(ty) => self.put(cursor, Place { tag, ty, is_field: false })?,
                None => drop(cursor.value()?),
            }
        }
        Ok(())
    }

    fn entries(&mut self, cursor: &mut Cursor<'_>, tag: u32, map: TypeRef<'t>) -> Result<(), InvalidJson> {
        let mut is_first = true;
        cursor.enter(b'{')?;
        while cursor.next(b'}', &mut is_first)? {
            let key = cursor.name()?;
            self.message(tag, |this| {
                put_bytes(this.out, 1, &key);
                match map.element() {
                    Some(ty) => this.put(cursor, Place { tag: 2, ty, is_field: false }),
                    None => cursor.value().map(drop),
                }
            })?;
        }
        Ok(())
    }

    /// A value that is not `null` and has a special JSON form; `first` is its first byte.
    fn special(
        &mut self,
        cursor: &mut Cursor<'_>,
        place: Place<'t>,
        special: Special,
        first: u8,
    ) -> Result<(), InvalidJson> {
        let length_at = begin_message(self.out, place.tag);
        match (special, first) {
            (Special::Quantity, b'"') => put_bytes(self.out, 1, &cursor.string()?),
            (Special::Time | Special::MicroTime, b'"') => {
                let layout = if special == Special::MicroTime { Layout::Micros } else { Layout::Seconds };
                let text = cursor.string()?;
                let time = str::from_utf8(&text).ok().and_then(|text| GoTime::read_printed(text, layout));
                if let Some(time) = time {
                    put_int(self.out, 1, time.seconds());
                    put_int(self.out, 2, i64::from(time.nanos()));
                }
            }
            (Special::RawExtension | Special::FieldsV1 | Special::Json, _) => put_bytes(self.out, 1, cursor.value()?),
            _ => {
                let text = cursor.value()?;
                let value = coracle_meta::json::from_slice(text).map_err(|_| cursor.here())?;
                encode::message(&value, place.ty, self.out);
            }
        }
        end_message(self.out, length_at);
        Ok(())
    }
}

/// Whether values of a type are messages, so that an empty one is written, too.
fn is_message(node: TypeNode<'_>) -> bool {
    matches!(node, TypeNode::Struct(_) | TypeNode::Special(_) | TypeNode::List)
}

fn number(text: &[u8]) -> Option<Number> {
    serde_json::from_slice(text).ok()
}

fn whole(text: &[u8]) -> Option<i64> {
    let digits = str::from_utf8(text).ok()?;
    digits.parse().ok().or_else(|| number(text)?.as_i64())
}

/// Whether a field precedes another in a message.
fn is_before(field: &Field, other: &Field) -> bool {
    match field.tags[0].cmp(&other.tags[0]) {
        Ordering::Equal => field.tags < other.tags,
        order => order == Ordering::Less,
    }
}

/// Appends the fields in `segments`, which are sorted by their tags and of which the first `depth` tags are written.
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
