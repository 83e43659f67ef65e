//! Strings. In Kubernetes: `ext.Strings`, version 2.

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Text, Value};

use super::formatting;
use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "charAt" => char_at,
        "lowerAscii" => |arguments, meter| map(arguments, meter, str::to_ascii_lowercase),
        "upperAscii" => |arguments, meter| map(arguments, meter, str::to_ascii_uppercase),
        "trim" => |arguments, meter| map(arguments, meter, |text| text.trim_matches(is_space).to_owned()),
        "strings.quote" => |arguments, meter| map(arguments, meter, quote),
        "jsonpatch.escapeKey" => |arguments, meter| map(arguments, meter, escape_key),
        "replace" => replace,
        "split" => split,
        "substring" => substring,
        "join" => join,
        "format" => formatting::format,
        _ => return None,
    })
}

/// A key for a path of a JSON patch.
fn escape_key(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn is_space(sign: char) -> bool {
    sign.is_whitespace()
}

fn out_of_range(at: i64) -> Fault {
    Fault::new(format!("index out of range: {at}"))
}

/// Converts a string to another one of about the same length.
fn map<'v>(arguments: &[Value<'v>], meter: &mut Meter, change: fn(&str) -> String) -> Result<'v> {
    let [Value::String(text)] = arguments else { return Err(Fault::no_overload()) };
    meter.memory(text.len() * 2)?;
    Ok(Value::string(change(text)))
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for sign in text.chars() {
        match sign {
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The byte index of a character.
fn byte_of(text: &Text<'_>, at: i64, meter: &mut Meter) -> std::result::Result<usize, Fault> {
    meter.work(text.len() as u64 / 8)?;
    let place = u64::try_from(at).ok().and_then(|at| text.byte_of(at));
    place.ok_or_else(|| out_of_range(at))
}

fn char_at<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let [Value::String(text), Value::Int(at)] = arguments else { return Err(Fault::no_overload()) };
    let from = byte_of(text, *at, meter)?;
    let length = text[from..].chars().next().map_or(0, char::len_utf8);
    Ok(Value::String(text.part(from, from + length)))
}

/// The first or last index of a substring, in characters.
pub(super) fn index<'v>(arguments: &[Value<'v>], meter: &mut Meter, is_last: bool) -> Result<'v> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, Some(*offset)),
        _ => return Err(Fault::no_overload()),
    };
    meter.work(text.len() as u64 / 4)?;
    let length = i64::try_from(text.characters()).unwrap_or(i64::MAX);
    if part.is_empty() {
        return Ok(Value::Int(offset.unwrap_or(if is_last { length } else { 0 })));
    }
    let found = match offset {
        Some(offset) if offset < 0 => return Err(out_of_range(offset)),
        Some(offset) if offset >= length => None,
        Some(offset) if is_last => {
            let from = byte_of(text, offset, meter)?;
            let end = (from + part.len()).min(text.len());
            (0..=end).rev().find(|end| text.is_char_boundary(*end)).and_then(|end| text[..end].rfind(&**part))
        }
        Some(offset) => {
            let from = byte_of(text, offset, meter)?;
            text[from..].find(&**part).map(|at| from + at)
        }
        None if is_last => text.rfind(&**part),
        None => text.find(&**part),
    };
    let characters = found.map(|at| if text.is_ascii() { at } else { text[..at].chars().count() });
    Ok(Value::Int(characters.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}

fn replace<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let (text, old, new, most) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(most)] => (text, old, new, *most),
        _ => return Err(Fault::no_overload()),
    };
    meter.work(text.len() as u64 / 2)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let places = if old.is_empty() { text.chars().count() + 1 } else { text.matches(&**old).count() };
    meter.memory(text.len().saturating_add(places.min(most).saturating_mul(new.len())))?;
    Ok(Value::string(text.replacen(&**old, new, most)))
}

fn split<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let (text, separator, most) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(most)] => (text, separator, *most),
        _ => return Err(Fault::no_overload()),
    };
    meter.work(text.len() as u64 / 2)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut bounds = Vec::new();
    let mut from = 0;
    if separator.is_empty() {
        for (at, _) in text.char_indices().skip(1).take(most.saturating_sub(1)) {
            bounds.push((from, at));
            from = at;
        }
    } else {
        for (at, found) in text.match_indices(&**separator).take(most.saturating_sub(1)) {
            bounds.push((from, at));
            from = at + found.len();
        }
    }
    if most > 0 && !(separator.is_empty() && text.is_empty()) {
        bounds.push((from, text.len()));
    }
    meter.items(bounds.len())?;
    if matches!(text, Text::Shared(_)) {
        meter.memory(text.len() + bounds.len() * 16)?;
    }
    Ok(Value::list(bounds.into_iter().map(|(from, to)| Value::String(text.part(from, to))).collect()))
}

fn substring<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Fault::no_overload()),
    };
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Fault::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let from = byte_of(text, start, meter)?;
    let to = end.map_or(Ok(text.len()), |end| byte_of(text, end, meter))?;
    meter.memory(to - from)?;
    Ok(Value::String(text.part(from, to)))
}

fn join<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let (list, separator) = match arguments {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(Fault::no_overload()),
    };
    let mut joined = String::new();
    for (at, item) in list.iter().enumerate() {
        let item = item?;
        let Value::String(text) = &item else {
            return Err(Fault::new(format!("join: invalid input: {}", item.shown())));
        };
        let separator = if at > 0 { separator } else { "" };
        meter.memory(separator.len() + text.len())?;
        joined.push_str(separator);
        joined.push_str(text);
    }
    Ok(Value::string(joined))
}
