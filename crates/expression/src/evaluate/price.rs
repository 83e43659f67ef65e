//! The costs of calls. In Kubernetes: `interpreter.CostTracker`, `library.CostEstimator` and the trackers of `ext`.

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Opaque, Value};

/// How a call is charged, based on its arguments and its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Price {
    Fixed(u64),
    /// An authorizer check.
    Question,
    /// The length of an argument times a factor.
    Length(usize, f64),
    /// The length of the result times a factor.
    ResultLength(f64),
    /// The sum of the lengths of both arguments.
    BothLengths,
    /// The length of the shorter argument.
    ShorterLength,
    /// The number of items of the second argument.
    Items,
    /// The product of the lengths of a string and a pattern.
    Pattern,
    /// The product of the lengths of a string and a substring.
    Contains,
    /// The complete first argument.
    Traversal,
    /// The creation of a list with the length of the result.
    ResultList,
    Flatten,
    /// A comparison of each item of an argument with each other.
    SelfCompare(usize),
    Sets(f64),
    /// A comparison of networks; whether the argument is a string, and whether it is a network.
    Network {
        is_text: bool,
        is_cidr: bool,
    },
    Format,
    Selector,
}

const TRAVERSAL: f64 = 0.1;
const PATTERN: f64 = 0.25;
const LIST: u64 = 10;
const STRUCT: f64 = 40.0;

impl Price {
    /// The price of a function; `overload` is its only possible overload, if known.
    pub(super) fn of(function: &str, overload: Option<&str>) -> Self {
        let overload = overload.unwrap_or("");
        match overload {
            "list_slice" | "lists_range" | "list_reverse" => return Self::ResultList,
            "list_flatten" | "list_flatten_int" => return Self::Flatten,
            "list_distinct" => return Self::SelfCompare(0),
            "list_sets_contains_list" | "list_sets_intersects_list" => return Self::Sets(1.0),
            "list_sets_equivalent_list" => return Self::Sets(2.0),
            _ if overload.ends_with("_sortByAssociatedKeys") => return Self::SelfCompare(1),
            _ if overload.starts_with("list_") && overload.ends_with("_sort") => return Self::SelfCompare(0),
            _ => {}
        }
        match function {
            "check" => return Self::Question,
            "fieldSelector" | "labelSelector" => return Self::Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => return Self::Traversal,
            "ip" if overload == "cidr_ip" => return Self::Fixed(1),
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "ip"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => return Self::Length(0, TRAVERSAL),
            "replace" | "split" | "ip.isCanonical" => return Self::Length(0, 2.0 * TRAVERSAL),
            "join" => return Self::ResultLength(2.0 * TRAVERSAL),
            "find" | "findAll" => return Self::Pattern,
            "containsIP" => return Self::Network { is_text: overload.ends_with("_string"), is_cidr: false },
            "containsCIDR" => return Self::Network { is_text: overload.ends_with("_string"), is_cidr: true },
            "validate" => return Self::Format,
            _ => {}
        }
        match overload {
            "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string" | "strings_quote"
            | "string_format" => Self::Length(0, TRAVERSAL),
            "in_list" => Self::Items,
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes" => Self::ShorterLength,
            "add_string" | "add_bytes" => Self::BothLengths,
            "matches_string" => Self::Pattern,
            "contains_string" => Self::Contains,
            _ => Self::Fixed(1),
        }
    }

    /// Charges for a call. `result` is `None` if the call failed.
    pub(super) fn charge(
        self,
        arguments: &[Value<'_>],
        result: Option<&Value<'_>>,
        meter: &mut Meter,
    ) -> Result<(), Fault> {
        let length = |at: usize| arguments.get(at).map_or(1, actual_size);
        let cost = match self {
            Self::Fixed(cost) => cost,
            Self::Question => return meter.charge_question(350_000),
            Self::Length(at, factor) => scaled(length(at), factor),
            Self::ResultLength(factor) => scaled(result.map_or(1, actual_size), factor),
            Self::BothLengths => scaled(length(0) + length(1), TRAVERSAL),
            Self::ShorterLength => scaled(length(0).min(length(1)), TRAVERSAL),
            Self::Items => length(1),
            Self::Pattern => scaled(1 + length(0), TRAVERSAL).saturating_mul(scaled(length(1), PATTERN)),
            Self::Contains => scaled(length(0), TRAVERSAL).saturating_mul(scaled(length(1), TRAVERSAL)),
            Self::Traversal => match arguments.first() {
                Some(first) => traversal(first, meter)?,
                None => 0,
            },
            Self::ResultList => result.map_or(1, actual_size).saturating_add(1 + LIST),
            Self::Flatten => {
                let depth = match arguments.get(1) {
                    Some(Value::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                (length(0) as f64 * depth) as u64 + 1 + LIST
            }
            Self::SelfCompare(at) => {
                let is_long = matches!(arguments.get(at), Some(Value::List(list))
                    if matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_)))));
                let factor = if is_long { 2.0 + TRAVERSAL } else { 2.0 };
                (length(at).saturating_mul(length(at)) as f64 * factor) as u64 + 1 + LIST
            }
            Self::Sets(factor) => 1 + (length(0).saturating_mul(length(1)) as f64 * factor) as u64,
            Self::Network { is_text, is_cidr } => {
                let text = if is_text { scaled(length(1), TRAVERSAL) } else { 0 };
                let mask = if is_cidr { scaled(length(0), TRAVERSAL) + 1 } else { 0 };
                scaled(2 * length(0), TRAVERSAL) + mask + text
            }
            Self::Format => match arguments.first() {
                Some(Value::Opaque(opaque)) => match &**opaque {
                    Opaque::Format(format) => {
                        scaled(1 + length(1), TRAVERSAL).saturating_mul(scaled(format.pattern, PATTERN))
                    }
                    _ => 1,
                },
                _ => 1,
            },
            Self::Selector => {
                let requirements = scaled(length(1), 0.5);
                LIST + scaled(length(1), TRAVERSAL) + scaled(requirements, LIST as f64 + STRUCT)
            }
        };
        meter.charge(cost)
    }
}

/// The cost of comparing two values.
pub(super) fn equality(one: &Value<'_>, other: &Value<'_>, is_equal: bool) -> u64 {
    match one {
        Value::Opaque(_) if is_equal => 1,
        _ => scaled(actual_size(one).min(actual_size(other)), TRAVERSAL),
    }
}

fn actual_size(value: &Value<'_>) -> u64 {
    match value {
        Value::Optional(Some(inner)) => actual_size(inner),
        other => other.size().unwrap_or(1),
    }
}

fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

fn traversal(value: &Value<'_>, meter: &mut Meter) -> Result<u64, Fault> {
    meter.work(1)?;
    Ok(match value {
        Value::String(text) => (text.len() as f64 * TRAVERSAL) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * TRAVERSAL) as u64,
        Value::List(list) => {
            let mut total = 0_u64;
            for item in list.iter() {
                total = total.saturating_add(traversal(&item?, meter)?);
            }
            total
        }
        Value::Map(map) => {
            let mut total = 0_u64;
            for key in map.keys() {
                total = total.saturating_add(traversal(&key, meter)?);
                if let Some(value) = map.find(&key) {
                    total = total.saturating_add(traversal(&value?, meter)?);
                }
            }
            total
        }
        _ => 1,
    })
}
