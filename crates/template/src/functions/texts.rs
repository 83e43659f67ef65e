//! Strings. In sprig: `strings.go`, `regex.go`.

use std::sync::LazyLock;

use coracle_meta::go_quote;
use regex::Regex;

use super::{CallArguments, Function, count, items, text};
use crate::number::whole;
use crate::show::{LONGEST, shown};
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("upper", |call| one(call, |text| text.to_uppercase())),
    ("lower", |call| one(call, |text| text.to_lowercase())),
    ("title", |call| one(call, |text| starts(text, char::to_ascii_uppercase))),
    ("untitle", |call| one(call, |text| starts(text, char::to_ascii_lowercase))),
    ("trim", |call| one(call, |text| text.trim().to_owned())),
    ("trimAll", |call| two(call, |set, text| text.trim_matches(|sign| set.contains(sign)).to_owned())),
    ("trimPrefix", |call| two(call, |prefix, text| text.strip_prefix(prefix).unwrap_or(text).to_owned())),
    ("trimSuffix", |call| two(call, |suffix, text| text.strip_suffix(suffix).unwrap_or(text).to_owned())),
    ("nospace", |call| one(call, |text| text.split_whitespace().collect())),
    ("contains", |call| test(call, |part, text| text.contains(part))),
    ("hasPrefix", |call| test(call, |prefix, text| text.starts_with(prefix))),
    ("hasSuffix", |call| test(call, |suffix, text| text.ends_with(suffix))),
    ("quote", |call| {
        let quoted = call.values.iter().filter(|value| !value.is_nil()).map(|value| go_quote(&shown(value)));
        Ok(Value::text(quoted.collect::<Vec<_>>().join(" ")))
    }),
    ("squote", |call| {
        let quoted = call.values.iter().filter(|value| !value.is_nil()).map(|value| format!("'{}'", shown(value)));
        Ok(Value::text(quoted.collect::<Vec<_>>().join(" ")))
    }),
    ("cat", |call| {
        let texts = call.values.iter().filter(|value| !value.is_nil()).map(shown);
        Ok(Value::text(texts.collect::<Vec<_>>().join(" ")))
    }),
    ("indent", |call| indent(call, "")),
    ("nindent", |call| indent(call, "\n")),
    ("replace", |call| {
        let [old, new, of] = call.exactly()?;
        let (old, new, of) = (text(&old)?, text(&new)?, text(&of)?);
        limited(of.matches(&*old).count().saturating_mul(new.len()) + of.len())?;
        Ok(Value::text(of.replace(&*old, &new)))
    }),
    ("repeat", |call| {
        let [times, of] = call.exactly()?;
        let (times, of) = (count(&times)?, text(&of)?);
        limited(of.len().saturating_mul(times))?;
        Ok(Value::text(of.repeat(times)))
    }),
    ("plural", |call| call.exactly().map(|[one, many, number]| if whole(&number) == 1 { one } else { many })),
    ("substr", |call| {
        let [from, to, of] = call.exactly()?;
        let (from, to, of) = (whole(&from), whole(&to), text(&of)?);
        let start = usize::try_from(from).unwrap_or(0);
        let end = usize::try_from(to).ok().filter(|to| *to <= of.len()).unwrap_or(of.len());
        of.get(start..end).map(Value::text).ok_or_else(|| format!("slice bounds out of range [{from}:{to}]"))
    }),
    ("trunc", |call| {
        let [length, of] = call.exactly()?;
        let (length, of) = (whole(&length), text(&of)?);
        let most = usize::try_from(length.unsigned_abs()).unwrap_or(usize::MAX);
        let cut = match (length < 0, of.len().checked_sub(most)) {
            (_, None) => Some(&*of),
            (true, Some(start)) => of.get(start..),
            (false, Some(_)) => of.get(..most),
        };
        cut.map(Value::text).ok_or_else(|| "cuts a sign of the text".to_owned())
    }),
    ("toString", |call| call.exactly().map(|[value]| Value::text(shown(&value)))),
    ("toStrings", |call| {
        let [value] = call.exactly()?;
        Ok(Value::list(items(&value)?.iter().map(|item| Value::text(shown(item))).collect()))
    }),
    ("join", |call| {
        let [between, of] = call.exactly()?;
        let texts: Vec<String> = match of.items() {
            Some(items) => items.iter().filter(|item| !item.is_nil()).map(shown).collect(),
            None => vec![shown(&of)],
        };
        Ok(Value::text(texts.join(&*text(&between)?)))
    }),
    ("splitList", |call| {
        let [at, of] = call.exactly()?;
        let (at, of) = (text(&at)?, text(&of)?);
        Ok(Value::list(pieces(&of, &at).map(Value::text).collect()))
    }),
    ("split", |call| {
        let [at, of] = call.exactly()?;
        let (at, of) = (text(&at)?, text(&of)?);
        let named = pieces(&of, &at).enumerate().map(|(at, piece)| (format!("_{at}"), Value::text(piece)));
        Ok(Value::map(named.collect()))
    }),
    ("regexMatch", |call| {
        let [pattern, of] = call.exactly()?;
        Ok(Value::Bool(regex(&text(&pattern)?)?.is_match(&text(&of)?)))
    }),
    ("regexFind", |call| {
        let [pattern, of] = call.exactly()?;
        let of = text(&of)?;
        Ok(Value::text(regex(&text(&pattern)?)?.find(&of).map_or("", |found| found.as_str())))
    }),
    ("regexReplaceAll", |call| {
        let [pattern, of, by] = call.exactly()?;
        let replaced = regex(&text(&pattern)?)?.replace_all(&text(&of)?, &*text(&by)?).into_owned();
        limited(replaced.len())?;
        Ok(Value::text(replaced))
    }),
    ("snakecase", |call| one(call, |text| divided(text, '_'))),
    ("kebabcase", |call| one(call, |text| divided(text, '-'))),
];

fn one<'d>(call: CallArguments<'d>, make: impl Fn(&str) -> String) -> Result<Value<'d>, String> {
    let [of] = call.exactly()?;
    Ok(Value::text(make(&text(&of)?)))
}

fn two<'d>(call: CallArguments<'d>, make: impl Fn(&str, &str) -> String) -> Result<Value<'d>, String> {
    let [by, of] = call.exactly()?;
    Ok(Value::text(make(&text(&by)?, &text(&of)?)))
}

fn test<'d>(call: CallArguments<'d>, holds: impl Fn(&str, &str) -> bool) -> Result<Value<'d>, String> {
    let [by, of] = call.exactly()?;
    Ok(Value::Bool(holds(&text(&by)?, &text(&of)?)))
}

/// Changes the first letter of each word.
fn starts(text: &str, make: impl Fn(&char) -> char) -> String {
    let mut was_letter = false;
    let changed = text.chars().map(|sign| {
        let is_start = !was_letter && sign.is_alphabetic();
        was_letter = sign.is_alphanumeric() || sign == '_' || sign == '\'';
        if is_start { make(&sign) } else { sign }
    });
    changed.collect()
}

fn indent<'d>(call: CallArguments<'d>, before: &str) -> Result<Value<'d>, String> {
    let [spaces, of] = call.exactly()?;
    let (pad, of) = (" ".repeat(count(&spaces)?), text(&of)?);
    limited(pad.len().saturating_mul(of.matches('\n').count() + 1) + of.len())?;
    Ok(Value::text(format!("{before}{pad}{}", of.replace('\n', &format!("\n{pad}")))))
}

/// Splits as Go does: an empty separator splits into characters.
fn pieces<'t>(of: &'t str, at: &'t str) -> Box<dyn Iterator<Item = &'t str> + 't> {
    match at {
        "" => Box::new(of.split_inclusive(|_: char| true)),
        at => Box::new(of.split(at)),
    }
}

fn divided(text: &str, by: char) -> String {
    static BORDER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("([a-z0-9])([A-Z])").ok());
    let words = BORDER.as_ref().map_or(text.into(), |border| border.replace_all(text, "$1 $2"));
    let words = words.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(&by.to_string())
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| error.to_string())
}

fn limited(length: usize) -> Result<(), String> {
    if length > LONGEST { Err(format!("gives more than {LONGEST} bytes")) } else { Ok(()) }
}
