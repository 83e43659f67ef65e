//! The validated string formats of custom resources. In Kubernetes: the formats of `strfmt` that `apiextensions`
//! supports.

use std::net::{Ipv4Addr, Ipv6Addr};

use coracle_meta::{names, parse_time};
use serde_json::Value;

/// Whether a format is validated; all others are ignored.
pub(super) fn is_known(format: &str) -> bool {
    let plain = format.replace('-', "");
    let known = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    ];
    known.contains(&plain.as_str())
}

/// The string formats in a schema that are not validated, one for each place.
/// In Kubernetes: `getUnrecognizedFormatsInSchema`.
pub fn unrecognized_formats(schema: &Value, of_all_types: bool) -> Vec<String> {
    let Some(fields) = schema.as_object() else { return Vec::new() };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or("");
    let own = text("format");
    let is_unknown = match text("type") {
        _ if own.is_empty() => false,
        "string" => !is_known(own),
        _ if !of_all_types => false,
        "" => !is_known(own),
        "integer" => !["int32", "int64"].contains(&own),
        "number" => !["float", "double"].contains(&own),
        _ => true,
    };
    let mut found: Vec<String> = is_unknown.then(|| own.to_owned()).into_iter().collect();
    let recurse = |below: &Value| unrecognized_formats(below, of_all_types);
    for name in ["items", "allOf", "anyOf", "oneOf", "not", "properties", "additionalProperties"] {
        match fields.get(name) {
            Some(Value::Object(below)) if name == "properties" => {
                found.extend(below.values().flat_map(recurse));
            }
            Some(Value::Array(below)) => found.extend(below.iter().flat_map(recurse)),
            Some(below) => found.extend(recurse(below)),
            None => {}
        }
    }
    found
}

/// Whether a text has a format. Every text has a format that is not checked here.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "uri" => is_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')) && has_variant(text),
        "uuid5" => is_uuid(text, Some('5')) && has_variant(text),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            [3, 6].contains(&digits.len()) && digits.chars().all(|sign| sign.is_ascii_hexdigit())
        }
        "byte" => is_base64(text),
        "bsonobjectid" => text.len() == 24 && text.chars().all(|sign| sign.is_ascii_hexdigit()),
        "date" => text.len() == 10 && parse_time(&format!("{text}T00:00:00Z")).is_some(),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "k8sshortname" => names::dns1123_label(text).is_empty(),
        "k8slongname" => names::dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

fn is_uri(text: &str) -> bool {
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_fits = scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && scheme.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign));
    scheme_fits && !rest.is_empty() && !text.contains(|sign: char| sign.is_ascii_control() || sign == ' ')
}

fn is_email(text: &str) -> bool {
    let address = text.rsplit_once('<').map_or(text, |(_, rest)| rest.trim_end_matches('>'));
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    !local.is_empty() && !domain.is_empty() && !address.contains(char::is_whitespace)
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|sign| sign.is_alphanumeric() || sign == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_label)
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    (address.parse::<Ipv4Addr>().is_ok() && bits <= 32) || (address.parse::<Ipv6Addr>().is_ok() && bits <= 128)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<_> = text.split([':', '-']).collect();
    let is_pair = |part: &&str| part.len() == 2 && part.chars().all(|sign| sign.is_ascii_hexdigit());
    [6, 8, 20].contains(&parts.len()) && parts.iter().all(is_pair)
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let digits: String = text.chars().filter(|sign| *sign != '-').collect();
    let dashes_fit =
        text.char_indices().all(|(at, sign)| sign != '-' || [8, 13, 18, 23].contains(&at) || text.len() < 36);
    digits.len() == 32
        && dashes_fit
        && digits.chars().all(|sign| sign.is_ascii_hexdigit())
        && version.is_none_or(|version| digits.chars().nth(12) == Some(version))
}

fn has_variant(text: &str) -> bool {
    let digit = text.chars().filter(|sign| *sign != '-').nth(16);
    digit.is_some_and(|digit| "89abAB".contains(digit))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '+' || sign == '/')
}

fn is_date_time(text: &str) -> bool {
    let has_parts = text.len() >= 20 && text.is_ascii() && matches!(text.as_bytes()[10], b'T' | b't');
    has_parts && parse_time(text).is_some()
}

/// The units of Go's durations, and of Scala's.
const DURATION_UNITS: &[&[&str]] = &[
    &["ns", "nano", "nanos", "nanosecond", "nanoseconds"],
    &["us", "µs", "μs", "micro", "micros", "microsecond", "microseconds"],
    &["ms", "milli", "millis", "millisecond", "milliseconds"],
    &["s", "sec", "secs", "second", "seconds"],
    &["m", "min", "mins", "minute", "minutes"],
    &["h", "hr", "hour", "hours"],
    &["d", "day", "days"],
    &["w", "wk", "week", "weeks"],
];

/// Go's durations, and Scala's: `1h30m`, `22 ns`, `3 days`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
        if number.len() == rest.len() {
            return false;
        }
        let number = number.trim_start();
        let unit_length = number.find(|sign: char| sign.is_ascii_digit()).unwrap_or(number.len());
        let (unit, more) = number.split_at(unit_length);
        if !DURATION_UNITS.iter().any(|units| units.contains(&unit.trim_end())) {
            return false;
        }
        rest = more;
    }
    true
}
