use crate::types::Type;

use super::call::{Argument, Costed, EstimatedCall, PATTERN, TRAVERSAL};
use super::path::Path;
use super::range::Range;
use super::sizes::Sizes;

const LIST: u64 = 10;
/// The functions of Kubernetes that cost 1, whatever their arguments are.
const CONSTANT_COST: &[&str] = &[
    "serviceAccount",
    "path",
    "group",
    "resource",
    "subresource",
    "namespace",
    "name",
    "allowed",
    "reason",
    "error",
    "errored",
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
];
/// The size of a selector requirement: a struct and a list.
const REQUIREMENT: f64 = 50.0;
/// The longest pattern of a named format, and the longest format.
const FORMAT_PATTERN: f64 = 128.0;
const FORMAT: u64 = 64;
/// The size of an address in bytes.
const ADDRESS: Range = Range { least: 4, most: 16 };

/// The libraries of cel-go for lists and sets. In Kubernetes: the estimators of `cel-go/ext`.
pub(super) fn of_lists(call: &EstimatedCall<'_, '_>) -> Option<Costed> {
    let whole = |argument: &Argument<'_>, otherwise: u64| {
        argument.whole().map_or(otherwise, |number| u64::try_from(number).unwrap_or(0))
    };
    let made = |factor: f64, size: Range| (size.scaled(factor).plus(Range::fixed(1 + LIST)), Some(size));
    let compared = |factor: f64, size: Range| made(factor, size.times(size));
    Some(match (call.overload, &call.target, call.arguments) {
        ("list_slice", Some(target), [start, end]) => {
            let size = whole(end, target.size().most).wrapping_sub(whole(start, 0));
            made(1.0, Range::fixed(size))
        }
        ("lists_range", None, [count]) => made(1.0, Range::fixed(whole(count, u64::MAX))),
        ("list_reverse", Some(target), []) => made(1.0, target.size()),
        ("list_flatten", Some(target), []) => made(1.0, target.size()),
        ("list_flatten_int", Some(target), [depth]) => made(whole(depth, u64::MAX) as f64, target.size()),
        ("list_distinct", Some(target), []) => compared(2.0, target.size()),
        ("list_sets_contains_list" | "list_sets_intersects_list", _, [one, other]) => {
            (one.size().times(other.size()).plus(Range::ONE), None)
        }
        ("list_sets_equivalent_list", _, [one, other]) => {
            (one.size().times(other.size()).scaled(2.0).plus(Range::ONE), None)
        }
        (overload, Some(_), [keys]) if overload.ends_with("_sortByAssociatedKeys") => {
            compared(sorting(overload), keys.size())
        }
        (overload, Some(target), []) if overload.starts_with("list_") && overload.ends_with("_sort") => {
            compared(sorting(overload), target.size())
        }
        _ => return None,
    })
}

fn sorting(overload: &str) -> f64 {
    let is_long = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
    if is_long { 2.0 + TRAVERSAL } else { 2.0 }
}

/// In Kubernetes: `library.CostEstimator.EstimateCallCost`.
pub(super) fn of_kubernetes<'e>(call: &EstimatedCall<'_, 'e>, sizes: &Sizes<'e>) -> Option<Costed> {
    let first = call.arguments.first().map(Argument::size);
    let target = call.target.as_ref().map(Argument::size);
    let plain = |cost: Range| Some((cost, None));
    match call.function {
        "check" => plain(Range::fixed(350_000)),
        function if CONSTANT_COST.contains(&function) => plain(Range::ONE),
        "fieldSelector" | "labelSelector" if call.arguments.len() == 1 => plain(selector(first?)),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => of_items(call.target.as_ref()?, sizes),
        "url" | "jsonpatch.escapeKey" if call.arguments.len() == 1 => Some((first?.scaled(TRAVERSAL), first)),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => Some((target?.scaled(TRAVERSAL), target)),
        "replace" => match call.arguments {
            [from, to, ..] => Some(replacement(target?, from.size(), to.size())),
            _ => None,
        },
        "split" => {
            let written = call.arguments.get(1).and_then(Argument::whole);
            let most = written.map_or(target?.most, |count| count as u64);
            Some((target?.scaled(2.0 * TRAVERSAL), Some(Range::up_to(most))))
        }
        "join" => Some(joined(call.target.as_ref()?, first, sizes)),
        "find" | "findAll" => {
            let text = target?.plus(Range::ONE).scaled(TRAVERSAL);
            Some((text.times(first?.scaled(PATTERN)), Some(Range::up_to(target?.most))))
        }
        "ip" if call.overload == "cidr_ip" => plain(Range::ONE),
        "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            plain(first?.scaled(TRAVERSAL))
        }
        "ip.isCanonical" => plain(first?.scaled(2.0 * TRAVERSAL)),
        "containsIP" | "containsCIDR" => {
            let mut cost = ADDRESS.plus(ADDRESS).scaled(TRAVERSAL);
            if call.function == "containsCIDR" {
                cost = cost.plus(ADDRESS.scaled(TRAVERSAL)).plus(Range::ONE);
            }
            let is_text = matches!(call.overload, "cidr_contains_ip_string" | "cidr_contains_cidr_string");
            plain(if is_text { cost.plus(first?.scaled(TRAVERSAL)) } else { cost })
        }
        "validate" => plain(first?.scaled(TRAVERSAL).scaled(FORMAT_PATTERN * PATTERN)),
        "_==_" => equality(call.arguments),
        _ => None,
    }
}

fn selector(length: Range) -> Range {
    let requirements = length.scaled(0.5).scaled(REQUIREMENT);
    Range::fixed(LIST).plus(length.scaled(TRAVERSAL)).plus(requirements)
}

/// The type of a list's items, and their size.
fn item<'e>(list: &Argument<'e>, sizes: &Sizes<'e>) -> Option<(&'e Type, Range)> {
    let of = list.of.parameters().into_iter().next()?;
    let path = match list.path {
        Path::Unsaid => Path::Unsaid,
        path => sizes.items_of(path),
    };
    Some((of, path.largest().map_or(Range::ANY, Range::up_to)))
}

/// Each item is visited; for a string only the string.
fn of_items<'e>(target: &Argument<'e>, sizes: &Sizes<'e>) -> Option<Costed> {
    let cost = match item(target, sizes) {
        Some((Type::String | Type::Bytes, size)) => target.size().times(Range::ONE.plus(size.scaled(TRAVERSAL))),
        Some(_) => target.size(),
        None => target.size().scaled(TRAVERSAL),
    };
    Some((cost, None))
}

fn replacement(text: Range, from: Range, to: Range) -> Costed {
    let ceiled = |size: u64, by: u64| (size as f64 / by as f64).ceil() as u64;
    let (mut count, mut kept) = (Range::NOTHING, Range::NOTHING);
    if from.least == 0 {
        count.most = text.most.saturating_add(1);
        kept.most = text.most;
    } else if to.most <= from.least {
        kept.most = text.most;
    } else {
        count.most = ceiled(text.most, from.least);
    }
    if from.most == 0 {
        count.least = text.least.saturating_add(1);
        kept.least = text.least;
    } else if from.most <= to.least {
        kept.least = text.least;
    } else {
        count.least = ceiled(text.least, from.most);
    }
    (text.scaled(2.0 * TRAVERSAL), Some(count.times(to).plus(kept)))
}

fn joined<'e>(target: &Argument<'e>, separator: Option<Range>, sizes: &Sizes<'e>) -> Costed {
    let count = target.size();
    let mut size = item(target, sizes).map_or(Range::NOTHING, |(_, item)| count.times(item));
    if let Some(separator) = separator {
        let between = Range { least: count.least.saturating_sub(1), most: count.most.saturating_sub(1) };
        size = size.plus(separator.times(between));
    }
    (size.scaled(TRAVERSAL), Some(size))
}

/// Library values with a constant comparison cost; others are compared generically.
fn equality(arguments: &[Argument<'_>]) -> Option<Costed> {
    let [one, other] = arguments else { return None };
    if one.of != other.of {
        return None;
    }
    let cost = match one.of {
        Type::Opaque("net.IP" | "net.CIDR") => Range::ONE,
        Type::Named("kubernetes.NamedFormat") => Range { least: 1, most: FORMAT }.scaled(TRAVERSAL),
        Type::Named("kubernetes.URL") => {
            Range { least: 1, most: other.size.map_or(1, |size| size.most) }.scaled(TRAVERSAL)
        }
        Type::Named(_) => Range::ONE,
        _ => return None,
    };
    Some((cost, None))
}
