//! Decodes a message to [`Raw`]. Unknown fields are skipped, as in Go.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::GroupVersion;

use super::wire::{Reader, Wire, WireError};
use crate::go_time::{GoTime, Layout};
use crate::table::{Field, Special, Struct, Table, TypeNode, TypeRef};
use crate::text::json;
use crate::text::raw::Raw;

/// The maximum depth of messages.
const MAX_DEPTH: usize = 200;

type Read<T> = Result<T, WireError>;

/// Decodes a message of a type.
pub(crate) fn message(bytes: &[u8], ty: TypeRef<'_>) -> Read<Raw> {
    read_message(bytes, ty, 0)
}

fn read_message(bytes: &[u8], ty: TypeRef<'_>, depth: usize) -> Read<Raw> {
    if depth > MAX_DEPTH {
        return Err(WireError::Depth);
    }
    let mut fields = Vec::new();
    match ty.node() {
        TypeNode::Struct(body) => {
            read_struct(bytes, body, ty, &mut Vec::new(), &mut fields, depth)?;
            Ok(Raw::Object(fields))
        }
        TypeNode::Special(special) => read_special(bytes, special, ty, depth),
        // A list as the value of a map is a message, with the elements in field 1.
        TypeNode::List => {
            let element = ty.element().ok_or(WireError::Depth)?;
            let mut elements = Vec::new();
            let mut reader = Reader::new(bytes);
            while let Some((tag, wire)) = reader.next()? {
                if tag == 1 {
                    elements.push(read_value(wire, tag, element, depth + 1)?);
                }
            }
            Ok(Raw::List(elements))
        }
        _ => Err(WireError::Content("proto: a scalar is no message".to_owned())),
    }
}

/// Decodes the fields below `path`; messages whose fields JSON inlines are decoded into the same object.
fn read_struct(
    bytes: &[u8],
    body: &Struct,
    ty: TypeRef<'_>,
    path: &mut Vec<u32>,
    out: &mut Vec<(String, Raw)>,
    depth: usize,
) -> Read<()> {
    let mut reader = Reader::new(bytes);
    while let Some((tag, wire)) = reader.next()? {
        path.push(tag);
        if let Some(field) = body.fields.iter().find(|field| field.tags == *path) {
            read_field(wire, tag, field, TypeRef::new(ty.table(), &field.shape), out, depth)?;
        } else if path.len() < 8 && body.fields.iter().any(|field| field.tags.starts_with(path)) {
            read_struct(wire.bytes(tag)?, body, ty, path, out, depth)?;
        }
        path.pop();
    }
    Ok(())
}

fn read_field(
    wire: Wire<'_>,
    tag: u32,
    field: &Field,
    ty: TypeRef<'_>,
    out: &mut Vec<(String, Raw)>,
    depth: usize,
) -> Read<()> {
    let slot = out.iter().position(|(name, _)| *name == field.name);
    match (ty.node(), ty.element()) {
        (TypeNode::List, Some(element)) => {
            let value = read_value(wire, tag, element, depth + 1)?;
            match slot.map(|slot| &mut out[slot].1) {
                Some(Raw::List(elements)) => elements.push(value),
                _ => out.push((field.name.clone(), Raw::List(vec![value]))),
            }
        }
        (TypeNode::Map, Some(element)) => {
            let entry = read_entry(wire.bytes(tag)?, element, depth + 1)?;
            match slot.map(|slot| &mut out[slot].1) {
                // The last value of a duplicate key counts.
                Some(Raw::Object(entries)) => entries.push(entry),
                _ => out.push((field.name.clone(), Raw::Object(vec![entry]))),
            }
        }
        _ => {
            let value = read_value(wire, tag, ty, depth + 1)?;
            match slot {
                Some(slot) => out[slot].1 = value,
                None => out.push((field.name.clone(), value)),
            }
        }
    }
    Ok(())
}

fn read_entry(bytes: &[u8], ty: TypeRef<'_>, depth: usize) -> Read<(String, Raw)> {
    let (mut key, mut value) = (String::new(), Raw::Null);
    let mut reader = Reader::new(bytes);
    while let Some((tag, wire)) = reader.next()? {
        match tag {
            1 => key = wire.text(tag)?.to_owned(),
            2 => value = read_value(wire, tag, ty, depth)?,
            _ => {}
        }
    }
    Ok((key, value))
}

fn read_value(wire: Wire<'_>, tag: u32, ty: TypeRef<'_>, depth: usize) -> Read<Raw> {
    Ok(match ty.node() {
        TypeNode::String => Raw::String(wire.text(tag)?.to_owned()),
        TypeNode::Bytes => Raw::String(STANDARD.encode(wire.bytes(tag)?)),
        TypeNode::Bool => Raw::Bool(wire.varint(tag)? != 0),
        TypeNode::Int32 => Raw::Number((wire.varint(tag)? as i32).to_string()),
        TypeNode::Int64 => Raw::Number((wire.varint(tag)? as i64).to_string()),
        TypeNode::Double => match wire {
            Wire::Fixed64(bits) => Raw::Number(f64::from_bits(bits).to_string()),
            _ => return Err(WireError::WrongType(tag)),
        },
        TypeNode::Struct(_) | TypeNode::Special(_) | TypeNode::List => read_message(wire.bytes(tag)?, ty, depth)?,
        TypeNode::Map | TypeNode::Any => return Err(WireError::WrongType(tag)),
    })
}

fn read_special(bytes: &[u8], special: Special, ty: TypeRef<'_>, depth: usize) -> Read<Raw> {
    let mut reader = Reader::new(bytes);
    Ok(match special {
        Special::Quantity => {
            let mut text = "0";
            while let Some((tag, wire)) = reader.next()? {
                text = if tag == 1 { wire.text(tag)? } else { text };
            }
            Raw::String(if text.is_empty() { "0" } else { text }.to_owned())
        }
        Special::IntOrString => {
            let (mut is_text, mut number, mut text) = (false, 0, "");
            while let Some((tag, wire)) = reader.next()? {
                match tag {
                    1 => is_text = wire.varint(tag)? == 1,
                    2 => number = wire.varint(tag)? as i32,
                    3 => text = wire.text(tag)?,
                    _ => {}
                }
            }
            if is_text { Raw::String(text.to_owned()) } else { Raw::Number(number.to_string()) }
        }
        Special::Time => read_time(reader, Layout::Seconds)?,
        Special::MicroTime => read_time(reader, Layout::Micros)?,
        Special::RawExtension | Special::FieldsV1 | Special::Json => {
            let mut raw: &[u8] = &[];
            while let Some((tag, wire)) = reader.next()? {
                raw = if tag == 1 { wire.bytes(tag)? } else { raw };
            }
            read_embedded(raw, ty.table(), depth)?
        }
        Special::SchemaOrArray | Special::SchemaOrBool | Special::SchemaOrStrings => {
            read_schema_or(reader, special, ty, depth)?
        }
        Special::Patch => Raw::Null,
    })
}

fn read_time(mut reader: Reader<'_>, layout: Layout) -> Read<Raw> {
    let (mut seconds, mut nanos, mut is_empty) = (0, 0, true);
    while let Some((tag, wire)) = reader.next()? {
        is_empty = false;
        match tag {
            1 => seconds = wire.varint(tag)? as i64,
            2 => nanos = wire.varint(tag)? as i32,
            _ => {}
        }
    }
    if is_empty {
        return Ok(Raw::Null);
    }
    let time = GoTime::new(seconds, nanos, layout);
    let time = time.ok_or_else(|| WireError::Content(format!("the time {seconds} s after 1970 is out of range")))?;
    Ok(time.print(layout).map_or(Raw::Null, Raw::String))
}

/// JSON inside a message, or another object in its envelope.
fn read_embedded(raw: &[u8], table: &Table, depth: usize) -> Read<Raw> {
    if raw.is_empty() {
        return Ok(Raw::Null);
    }
    let Some(envelope) = raw.strip_prefix(super::MAGIC) else {
        return json::parse(raw).map_err(WireError::Content);
    };
    let envelope = super::Envelope::read(envelope)?;
    let version = GroupVersion::parse(&envelope.api_version).unwrap_or_default();
    let ty = table.root_of_kind(&version.kind(&envelope.kind));
    let ty = ty.ok_or_else(|| WireError::Content(format!("no kind \"{}\" is registered", envelope.kind)))?;
    let mut object = read_message(envelope.raw, ty, depth + 1)?;
    envelope.name(&mut object);
    Ok(object)
}

fn read_schema_or(mut reader: Reader<'_>, special: Special, ty: TypeRef<'_>, depth: usize) -> Read<Raw> {
    let missing = || WireError::Content("the table has no type for schemas".to_owned());
    let schema = ty.json_schema().ok_or_else(missing)?;
    let (schema_tag, other_tag) = if special == Special::SchemaOrBool { (2, 1) } else { (1, 2) };
    let (mut found, mut others, mut allows) = (None, Vec::new(), false);
    while let Some((tag, wire)) = reader.next()? {
        if tag == schema_tag {
            found = Some(read_message(wire.bytes(tag)?, schema, depth + 1)?);
        } else if tag == other_tag {
            match special {
                Special::SchemaOrBool => allows = wire.varint(tag)? != 0,
                Special::SchemaOrArray => others.push(read_message(wire.bytes(tag)?, schema, depth + 1)?),
                _ => others.push(Raw::String(wire.text(tag)?.to_owned())),
            }
        }
    }
    Ok(match found {
        Some(found) => found,
        None if special == Special::SchemaOrBool => Raw::Bool(allows),
        None => Raw::List(others),
    })
}
