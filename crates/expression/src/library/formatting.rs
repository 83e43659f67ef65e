//! `'%s is %d'.format([...])`. In Kubernetes: `ext.Strings`, with numbers in the format of American English.

use std::fmt::Write;

use coracle_meta::go_quote;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{ListValue, Value};

type Result<T> = std::result::Result<T, Fault>;

/// The number of decimals if a format does not specify it.
const PRECISION: usize = 6;
/// More digits than this are rejected.
const MOST_DIGITS: usize = 1000;

pub(super) fn format<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<Value<'v>> {
    let [Value::String(format), Value::List(list)] = arguments else { return Err(Fault::no_overload()) };
    let mut text = String::new();
    let mut signs = format.chars();
    let mut next = 0;
    while let Some(sign) = signs.next() {
        meter.work(1)?;
        if sign != '%' {
            text.push(sign);
            continue;
        }
        let mut clause = signs.next().ok_or_else(|| Fault::new("unexpected end of string"))?;
        if clause == '%' {
            text.push('%');
            continue;
        }
        let mut precision = None;
        if clause == '.' {
            let mut digits = String::new();
            clause = loop {
                match signs.next() {
                    Some(digit) if digit.is_ascii_digit() => digits.push(digit),
                    Some(other) => break other,
                    None => return Err(Fault::new("could not find end of precision specifier")),
                }
            };
            precision = digits.parse().ok().filter(|digits| *digits <= MOST_DIGITS);
        }
        let value = list.get(next).ok_or_else(|| Fault::new(format!("index {next} out of range")))??;
        next += 1;
        let piece = one(clause, precision, &value, meter)?;
        meter.memory(piece.len())?;
        meter.work(piece.len() as u64)?;
        text.push_str(&piece);
    }
    Ok(Value::string(text))
}

fn one(clause: char, precision: Option<usize>, value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    let refuse = |what: &str| {
        let name = value.type_of().name();
        Err(Fault::new(format!("error during formatting: {what}, was given {name}")))
    };
    match (clause, value) {
        ('s', value) => shown(value, meter),
        ('d', Value::Int(int)) => Ok(int.to_string()),
        ('d', Value::Uint(uint)) => Ok(uint.to_string()),
        ('d', _) => refuse("decimal clause can only be used on integers"),
        ('f' | 'e', Value::Double(double)) => Ok(number(clause, precision.unwrap_or(PRECISION), *double)),
        ('f' | 'e', Value::String(text)) if matches!(&**text, "NaN" | "Infinity" | "-Infinity") => {
            let double = text.parse().unwrap_or(f64::NAN);
            Ok(number(clause, precision.unwrap_or(PRECISION), double))
        }
        ('f', _) => refuse("fixed-point clause can only be used on doubles"),
        ('e', _) => refuse("scientific clause can only be used on doubles"),
        ('b', Value::Int(int)) => Ok(signed(*int, &format!("{:b}", int.unsigned_abs()))),
        ('b', Value::Uint(uint)) => Ok(format!("{uint:b}")),
        ('b', Value::Bool(value)) => Ok(if *value { "1" } else { "0" }.to_owned()),
        ('b', _) => refuse("only integers and bools can be formatted as binary"),
        ('o', Value::Int(int)) => Ok(signed(*int, &format!("{:o}", int.unsigned_abs()))),
        ('o', Value::Uint(uint)) => Ok(format!("{uint:o}")),
        ('o', _) => refuse("octal clause can only be used on integers"),
        ('x' | 'X', value) => {
            let lower = match value {
                Value::Int(int) => signed(*int, &format!("{:x}", int.unsigned_abs())),
                Value::Uint(uint) => format!("{uint:x}"),
                Value::String(text) => hexadecimal(text.as_bytes()),
                Value::Bytes(bytes) => hexadecimal(bytes),
                _ => return refuse("only integers, byte buffers, and strings can be formatted as hex"),
            };
            Ok(if clause == 'X' { lower.to_uppercase() } else { lower })
        }
        (other, _) => {
            Err(Fault::new(format!("could not parse formatting clause: unrecognized formatting clause \"{other}\"")))
        }
    }
}

fn signed(int: i64, digits: &str) -> String {
    if int < 0 { format!("-{digits}") } else { digits.to_owned() }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A number with thousands separators, or in scientific notation.
fn number(clause: char, precision: usize, double: f64) -> String {
    if double.is_nan() {
        return if clause == 'e' { format!("{:>precision$}", "NaN") } else { "NaN".to_owned() };
    }
    if double.is_infinite() {
        let text = if double > 0.0 { "∞" } else { "-∞" };
        return if clause == 'e' { format!("{text:>precision$}") } else { text.to_owned() };
    }
    if clause == 'e' {
        // Kubernetes uses the precision as the width here.
        let text = format!("{double:.PRECISION$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        let raised: String = format!("{:02}", exponent.abs())
            .chars()
            .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize))
            .collect();
        let sign = if exponent < 0 { "⁻" } else { "" };
        return format!("{:>precision$}", format!("{mantissa}×10{sign}{raised}"));
    }
    let text = format!("{double:.precision$}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

/// A value formatted by `%s`.
fn shown(value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Type(of) => of.name(),
        Value::List(list) => list_shown(list, meter)?,
        Value::Map(map) => {
            let mut pairs = Vec::new();
            for key in map.keys() {
                let value = map.find(&key).transpose()?.unwrap_or(Value::Null);
                let pair = format!("{}:{}", nested(&key, meter)?, nested(&value, meter)?);
                meter.memory(pair.len())?;
                pairs.push(pair);
            }
            pairs.sort();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Optional(_) | Value::Opaque(_) | Value::Message(_) => {
            let what = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
            return Err(Fault::new(format!("error during formatting: {what}, was given {}", value.type_of().name())));
        }
        other => match other.to_text(meter)? {
            Value::String(text) => text.to_string(),
            _ => return Err(Fault::no_overload()),
        },
    })
}

fn list_shown(list: &ListValue<'_>, meter: &mut Meter) -> Result<String> {
    let mut text = "[".to_owned();
    for (at, item) in list.iter().enumerate() {
        let item = nested(&item?, meter)?;
        meter.memory(item.len())?;
        text.push_str(if at > 0 { ", " } else { "" });
        text.push_str(&item);
    }
    text.push(']');
    Ok(text)
}

/// A nested value, as its literal.
fn nested(value: &Value<'_>, meter: &mut Meter) -> Result<String> {
    let plain = match value {
        Value::Double(double) if double.is_finite() => return Ok(format!("{double:.PRECISION$}")),
        Value::Optional(_) | Value::Opaque(_) | Value::Message(_) => {
            return Err(Fault::new(format!("no formatting function for {}", value.type_of().name())));
        }
        value => shown(value, meter)?,
    };
    Ok(match value.type_of() {
        Type::String | Type::Double => go_quote(&plain),
        Type::Bytes => format!("b{}", go_quote(&plain)),
        Type::Timestamp => format!("timestamp({})", go_quote(&plain)),
        Type::Duration => format!("duration({})", go_quote(&plain)),
        _ => plain,
    })
}
