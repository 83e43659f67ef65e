use crate::syntax::Expr;

use super::call::{Costed, EstimatedCall, PATTERN, TRAVERSAL};
use super::library;
use super::range::Range;
use super::sizes::{Entries, Sizes};

/// In Kubernetes: `coster.functionCost`.
pub(super) fn cost<'e>(call: &EstimatedCall<'_, 'e>, sizes: &mut Sizes<'e>, expression: &Expr) -> Costed {
    let of_arguments = call.costs.iter().fold(Range::NOTHING, |sum, cost| sum.plus(*cost));
    let known = library::of_lists(call)
        .or_else(|| library::of_kubernetes(call, sizes))
        .or_else(|| of_texts(call))
        .or_else(|| of_sums(call, sizes, expression));
    match known {
        Some((cost, size)) => (cost.plus(of_arguments), size),
        None => of_branches(call, sizes, expression).unwrap_or((of_arguments.plus(Range::ONE), None)),
    }
}

/// Calls that traverse strings, bytes and lists.
fn of_texts(call: &EstimatedCall<'_, '_>) -> Option<Costed> {
    let traversed = |size: Range| size.scaled(TRAVERSAL);
    Some(match (call.overload, &call.target, call.arguments) {
        ("string_format", Some(target), _) => (traversed(target.size()), None),
        ("string_to_bytes", _, [text]) => {
            let size = text.size();
            (traversed(size), Some(Range { least: size.least, most: size.most.wrapping_mul(4) }))
        }
        ("bytes_to_string", _, [bytes]) => {
            let size = bytes.size();
            (traversed(size), Some(Range { least: size.least / 4, most: size.most }))
        }
        ("strings_quote", _, [text]) => {
            let size = text.size();
            let most = size.most.wrapping_mul(2).wrapping_add(2);
            (traversed(size), Some(Range { least: size.least.wrapping_add(2), most }))
        }
        ("starts_with_string" | "ends_with_string", _, [part]) => (traversed(part.size()), None),
        ("in_list", _, [_, list]) => (list.size().scaled(1.0), None),
        ("matches_string", Some(target), [pattern]) => {
            let text = traversed(target.size().plus(Range::ONE));
            (text.times(pattern.size().scaled(PATTERN)), None)
        }
        ("contains_string", Some(target), [part]) => (traversed(target.size()).times(traversed(part.size())), None),
        (
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals",
            _,
            [one, other],
        ) => {
            let most = one.size().most.min(other.size().most);
            (traversed(Range { least: u64::from(most > 0), most }), None)
        }
        _ => return None,
    })
}

/// Concatenations of strings, bytes and lists.
fn of_sums(call: &EstimatedCall<'_, '_>, sizes: &mut Sizes<'_>, expression: &Expr) -> Option<Costed> {
    let ("add_string" | "add_bytes" | "add_list", [one, other]) = (call.overload, call.arguments) else { return None };
    let size = one.size().plus(other.size());
    let entries = Entries::union(sizes.entries(one.expression), sizes.entries(other.expression));
    sizes.set_entries(expression, entries);
    let cost = if call.overload == "add_list" { Range::ONE } else { size.scaled(TRAVERSAL) };
    Some((cost, Some(size)))
}

/// Calls that do not evaluate all of their arguments.
fn of_branches(call: &EstimatedCall<'_, '_>, sizes: &mut Sizes<'_>, expression: &Expr) -> Option<Costed> {
    match (call.overload, call.arguments, call.costs) {
        ("logical_and" | "logical_or", _, [left, right]) => {
            Some((Range { least: left.least, most: left.plus(*right).most }, None))
        }
        ("conditional", [_, then, otherwise], [condition, on_true, on_false]) => {
            let entries = Entries::union(sizes.entries(then.expression), sizes.entries(otherwise.expression));
            sizes.set_entries(expression, entries);
            Some((condition.plus(on_true.union(*on_false)), Some(then.size().union(otherwise.size()))))
        }
        _ => None,
    }
}
