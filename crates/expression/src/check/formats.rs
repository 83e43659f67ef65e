//! Whether the arguments of `'…'.format([…])` match, as far as it is known statically. In Kubernetes:
//! `ext.stringFormatValidator`.

use crate::syntax::{Expr, Kind, Literal};
use crate::types::Type;

use super::typed::Typed;

/// The error, and the expression that causes it.
pub(super) fn check<'e>(
    call: &'e Expr,
    target: &Expr,
    argument: &'e Expr,
    typed: &Typed,
) -> Option<(&'e Expr, String)> {
    let (Kind::Literal(Literal::String(format)), Kind::List(arguments)) = (&target.kind, &argument.kind) else {
        return None;
    };
    let mut signs = format.chars();
    let mut next = 0;
    while let Some(sign) = signs.next() {
        if sign != '%' {
            continue;
        }
        let Some(mut clause) = signs.next() else { return Some((call, "unexpected end of string".to_owned())) };
        if clause == '%' {
            continue;
        }
        if clause == '.' {
            match signs.by_ref().find(|sign| !sign.is_ascii_digit()) {
                Some(behind) => clause = behind,
                None => return Some((call, "could not find end of precision specifier".to_owned())),
            }
        }
        if !"sdfebxXo".contains(clause) {
            let why = format!("could not parse formatting clause: unrecognized formatting clause \"{clause}\"");
            return Some((call, why));
        }
        let Some((given, _)) = arguments.get(next) else { return Some((call, format!("index {next} out of range"))) };
        next += 1;
        let of = typed.type_of(given);
        if let Some(why) = unfit(clause, of) {
            return Some((given, format!("error during formatting: {why}, was given {}", of.name())));
        }
    }
    let given = arguments.len();
    (given > next)
        .then(|| (call, format!("too many arguments supplied to string.format (expected {next}, got {given})")))
}

/// Why a clause does not accept a type.
fn unfit(clause: char, of: &Type) -> Option<&'static str> {
    if matches!(of, Type::Dyn | Type::Parameter(_)) {
        return None;
    }
    let (fits, why) = match clause {
        's' => (
            !matches!(of, Type::Optional(_) | Type::Opaque(_) | Type::Named(_) | Type::Object(_) | Type::Message(_)),
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
        ),
        'd' => (matches!(of, Type::Int | Type::Uint), "decimal clause can only be used on integers"),
        'f' => (matches!(of, Type::Double | Type::String), "fixed-point clause can only be used on doubles"),
        'e' => (matches!(of, Type::Double | Type::String), "scientific clause can only be used on doubles"),
        'b' => {
            (matches!(of, Type::Int | Type::Uint | Type::Bool), "only integers and bools can be formatted as binary")
        }
        'o' => (matches!(of, Type::Int | Type::Uint), "octal clause can only be used on integers"),
        _ => (
            matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes),
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
    };
    (!fits).then_some(why)
}
