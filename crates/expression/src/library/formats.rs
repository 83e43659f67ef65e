//! Named formats for the validation of strings. In Kubernetes: `library.Format`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use coracle_meta::names;

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Format, Opaque, Time, Value};

use super::function::Function;
use super::urls;

static FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", title: "DNS1123Label", pattern: 30, check: names::dns1123_label },
    Format { name: "dns1123Subdomain", title: "DNS1123Subdomain", pattern: 60, check: names::dns1123_subdomain },
    Format { name: "dns1035Label", title: "DNS1035Label", pattern: 30, check: names::dns1035_label },
    Format { name: "qualifiedName", title: "QualifiedName", pattern: 60, check: names::qualified_name },
    Format {
        name: "dns1123LabelPrefix",
        title: "DNS1123LabelPrefix",
        pattern: 30,
        check: |text| names::dns1123_label(&unmasked(text)),
    },
    Format {
        name: "dns1123SubdomainPrefix",
        title: "DNS1123SubdomainPrefix",
        pattern: 60,
        check: |text| names::dns1123_subdomain(&unmasked(text)),
    },
    Format {
        name: "dns1035LabelPrefix",
        title: "DNS1035LabelPrefix",
        pattern: 30,
        check: |text| names::dns1035_label(&unmasked(text)),
    },
    Format { name: "labelValue", title: "LabelValue", pattern: 40, check: names::label_value },
    Format { name: "uri", title: "URI", pattern: 1103, check: |text| urls::parse(text).err().into_iter().collect() },
    Format {
        name: "uuid",
        title: "uuid",
        pattern: 69,
        check: |text| wrong(!is_uuid(text), "does not match the UUID format"),
    },
    Format {
        name: "byte",
        title: "byte",
        pattern: 84,
        check: |text| wrong(BASE64_STANDARD.decode(text).is_err(), "invalid base64"),
    },
    Format {
        name: "date",
        title: "date",
        pattern: 70,
        check: |text| wrong(Time::of_date(text).is_none(), "invalid date"),
    },
    Format {
        name: "datetime",
        title: "datetime",
        pattern: 70,
        check: |text| wrong(Time::parse(text).is_none(), "invalid datetime"),
    },
];

/// A name prefix may end with a character that a name may not end with.
fn unmasked(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(start) if text.len() > 1 => format!("{start}a"),
        _ => text.to_owned(),
    }
}

fn wrong(is_wrong: bool, what: &str) -> Vec<String> {
    if is_wrong { vec![what.to_owned()] } else { Vec::new() }
}

fn is_uuid(text: &str) -> bool {
    let digits: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = digits.iter().map(|part| part.len()).collect();
    let is_hexadecimal = digits.iter().all(|part| part.bytes().all(|sign| sign.is_ascii_hexdigit()));
    is_hexadecimal && (lengths == [8, 4, 4, 4, 12] || lengths == [32])
}

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "format.named" => |arguments, _| match arguments {
            [Value::String(name)] => Ok(match FORMATS.iter().find(|format| *format.name == **name) {
                Some(format) => Value::some(Value::opaque(Opaque::Format(format))),
                None => Value::Optional(None),
            }),
            _ => Err(Fault::no_overload()),
        },
        "validate" => validate,
        "format.dns1123Label" => |_, _| constant(0),
        "format.dns1123Subdomain" => |_, _| constant(1),
        "format.dns1035Label" => |_, _| constant(2),
        "format.qualifiedName" => |_, _| constant(3),
        "format.dns1123LabelPrefix" => |_, _| constant(4),
        "format.dns1123SubdomainPrefix" => |_, _| constant(5),
        "format.dns1035LabelPrefix" => |_, _| constant(6),
        "format.labelValue" => |_, _| constant(7),
        "format.uri" => |_, _| constant(8),
        "format.uuid" => |_, _| constant(9),
        "format.byte" => |_, _| constant(10),
        "format.date" => |_, _| constant(11),
        "format.datetime" => |_, _| constant(12),
        _ => return None,
    })
}

fn constant<'v>(at: usize) -> Result<Value<'v>, Fault> {
    Ok(Value::opaque(Opaque::Format(&FORMATS[at])))
}

fn validate<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<Value<'v>, Fault> {
    let [Value::Opaque(opaque), Value::String(text)] = arguments else { return Err(Fault::no_overload()) };
    let Opaque::Format(format) = &**opaque else { return Err(Fault::no_overload()) };
    meter.memory(text.len())?;
    let wrong = (format.check)(text);
    if wrong.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(wrong.into_iter().map(Value::string).collect())))
}
