//! Type conversions.

use std::fmt::Write;

use crate::fault::Fault;
use crate::meter::Meter;

use super::json::to_json;
use super::opaque::Opaque;
use super::text::Text;
use super::time::{Time, duration_text, parse_duration};
use super::values::Value;

fn range(is_unsigned: bool) -> Fault {
    Fault::new(if is_unsigned { "unsigned integer overflow" } else { "integer overflow" })
}

impl<'v> Value<'v> {
    fn unconvertible(&self, to: &str) -> Fault {
        Fault::new(format!("type conversion error from '{}' to '{to}'", self.type_of().name()))
    }

    pub(crate) fn to_bool(&self) -> Result<Value<'v>, Fault> {
        match self {
            Self::Bool(value) => Ok(Self::Bool(*value)),
            Self::String(text) => match &**text {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Self::Bool(true)),
                "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Self::Bool(false)),
                _ => Err(Fault::new("type conversion error from 'string' to 'bool'")),
            },
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn to_int(&self) -> Result<Value<'v>, Fault> {
        Ok(Self::Int(match self {
            Self::Int(int) | Self::Duration(int) => *int,
            Self::Uint(uint) => i64::try_from(*uint).map_err(|_| range(false))?,
            Self::Double(double) if *double > -9_223_372_036_854_775_808.0 && *double < 9_223_372_036_854_775_807.0 => {
                *double as i64
            }
            Self::Double(_) => return Err(range(false)),
            Self::String(text) => text.parse().map_err(|_| self.unconvertible("int"))?,
            Self::Timestamp(time) => time.seconds(),
            _ => return Err(Fault::no_overload()),
        }))
    }

    pub(crate) fn to_uint(&self) -> Result<Value<'v>, Fault> {
        Ok(Self::Uint(match self {
            Self::Uint(uint) => *uint,
            Self::Int(int) => u64::try_from(*int).map_err(|_| range(true))?,
            Self::Double(double) if *double >= 0.0 && *double < 18_446_744_073_709_551_615.0 => *double as u64,
            Self::Double(_) => return Err(range(true)),
            Self::String(text) if !text.starts_with('+') => text.parse().map_err(|_| self.unconvertible("uint"))?,
            Self::String(_) => return Err(self.unconvertible("uint")),
            _ => return Err(Fault::no_overload()),
        }))
    }

    pub(crate) fn to_double(&self) -> Result<Value<'v>, Fault> {
        Ok(Self::Double(match self {
            Self::Double(double) => *double,
            Self::Int(int) => *int as f64,
            Self::Uint(uint) => *uint as f64,
            Self::String(text) => match text.parse::<f64>() {
                Ok(double)
                    if double.is_finite()
                        || text.chars().any(|sign| sign.is_ascii_alphabetic() && sign != 'e' && sign != 'E') =>
                {
                    double
                }
                _ => return Err(self.unconvertible("double")),
            },
            _ => return Err(Fault::no_overload()),
        }))
    }

    pub(crate) fn to_text(&self, meter: &mut Meter) -> Result<Value<'v>, Fault> {
        Ok(match self {
            Self::String(_) => self.clone(),
            Self::Bool(value) => Self::string(value.to_string()),
            Self::Int(int) => Self::string(int.to_string()),
            Self::Uint(uint) => Self::string(uint.to_string()),
            Self::Double(double) => Self::string(double_text(*double)),
            Self::Timestamp(time) => Self::string(time.to_string()),
            Self::Duration(nanos) => Self::string(duration_text(*nanos)),
            Self::Bytes(bytes) => {
                meter.memory(bytes.len())?;
                let text = std::str::from_utf8(bytes);
                Self::string(text.map_err(|_| Fault::new("invalid UTF-8 in bytes, cannot convert to string"))?)
            }
            Self::Opaque(opaque) => match &**opaque {
                Opaque::Ip(address) => Self::string(address.to_string()),
                Opaque::Cidr(cidr) => Self::string(format!("{}/{}", cidr.address, cidr.network.prefix())),
                _ => return Err(Fault::no_overload()),
            },
            _ => return Err(Fault::no_overload()),
        })
    }

    pub(crate) fn to_bytes(&self, meter: &mut Meter) -> Result<Value<'v>, Fault> {
        match self {
            Self::Bytes(_) => Ok(self.clone()),
            Self::String(text) => {
                meter.memory(text.len())?;
                Ok(Self::Bytes(text.as_bytes().into()))
            }
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn to_duration(&self) -> Result<Value<'v>, Fault> {
        match self {
            Self::Duration(_) => Ok(self.clone()),
            Self::Int(int) => Ok(Self::Duration(*int)),
            Self::String(text) => {
                parse_duration(text).map(Self::Duration).ok_or_else(|| self.unconvertible("google.protobuf.Duration"))
            }
            _ => Err(Fault::no_overload()),
        }
    }

    pub(crate) fn to_timestamp(&self) -> Result<Value<'v>, Fault> {
        match self {
            Self::Timestamp(_) => Ok(self.clone()),
            Self::Int(seconds) => Time::of_seconds(*seconds).map(Self::Timestamp),
            Self::String(text) => {
                Time::parse(text).map(Self::Timestamp).ok_or_else(|| self.unconvertible("google.protobuf.Timestamp"))
            }
            _ => Err(Fault::no_overload()),
        }
    }

    /// The value as shown in error messages.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::String(text) => text.to_string(),
            Self::Null => "null".to_owned(),
            Self::Type(of) => of.name(),
            other => {
                let text = other.to_text(&mut Meter::new(u64::MAX));
                match text {
                    Ok(Self::String(Text::Shared(text))) => text.to_string(),
                    _ => to_json(other).map_or_else(|| other.type_of().name(), |json| json.to_string()),
                }
            }
        }
    }
}

/// A number in Go's `%g` format.
fn double_text(double: f64) -> String {
    if double.is_nan() {
        return "NaN".to_owned();
    }
    if double.is_infinite() {
        return if double > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{double:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{double}");
    }
    let mut text = mantissa.to_owned();
    let _ = write!(text, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    text
}
