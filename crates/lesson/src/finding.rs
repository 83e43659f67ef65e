//! Finds the entries of captions.

use std::collections::BTreeMap;

use coracle_expression::{Expression, Session, Variables};
use coracle_journal::{Entry, Stage};
use serde_json::Value;

use crate::environment::{ENTRY, entry as entry_schema};
use crate::file::Pattern;
use crate::record::Record;

/// The entries of captions, by name: as expressions see them, and as they are in the log.
pub(crate) type FoundEntries<'e> = BTreeMap<String, (&'e Entry, Value)>;

/// The entry that a pattern selects; none if no entry matches.
pub(crate) fn find<'e>(
    pattern: &Pattern,
    condition: Option<&Expression>,
    record: &Record<'e>,
    found: &FoundEntries<'e>,
) -> Result<Option<&'e Entry>, String> {
    let named = |name: &Option<coracle_yaml::Spanned<String>>| match name {
        None => Ok(None),
        Some(name) => found.get(&name.value).map(|(entry, _)| Some(entry.id)).ok_or(()),
    };
    let places = (named(&pattern.after), named(&pattern.before), named(&pattern.caused_by));
    // A pattern that refers to a missing entry matches nothing.
    let (Ok(after), Ok(before), Ok(cause)) = places else { return Ok(None) };
    let differs = pattern.differs.as_ref().is_some_and(|differs| differs.value);
    let effects = cause.map(|cause| record.effects(cause));
    let stage = Stage::ALL.iter().find(|stage| stage.word() == pattern.stage.value);
    let mut variables = Variables::default();
    for (name, (_, shown)) in found {
        variables.set_typed(name.as_str(), shown, entry_schema());
    }
    let mut matching = Vec::new();
    for entry in record.entries_of_steps() {
        let fits = Some(&entry.stage) == stage
            && (!differs || record.differs == Some(entry.id))
            && after.is_none_or(|after| entry.id > after)
            && before.is_none_or(|before| entry.id < before)
            && effects.as_ref().is_none_or(|effects| effects.contains(&entry.id))
            && pattern.actor.as_ref().is_none_or(|actor| matches(actor, &entry.actor))
            && pattern.subject.as_ref().is_none_or(|subject| matches(subject, &entry.subject));
        if fits && holds(condition, record.shown(entry), &variables)? {
            matching.push(entry);
        }
    }
    let nth = pattern.nth.as_ref().map_or(1, |nth| nth.value);
    let from_front = nth.checked_sub(1).and_then(|place| usize::try_from(place).ok());
    let from_back = nth
        .checked_neg()
        .and_then(|place| usize::try_from(place).ok())
        .and_then(|place| matching.len().checked_sub(place));
    Ok(from_front.or(from_back).and_then(|place| matching.get(place).copied()))
}

fn holds(condition: Option<&Expression>, shown: Value, variables: &Variables<'_>) -> Result<bool, String> {
    let Some(condition) = condition else { return Ok(true) };
    let mut variables = variables.clone();
    variables.set_owned_typed(ENTRY, shown, entry_schema());
    let run = Session::new(&variables).decide(condition, coracle_expression::COST_OF_ONE_EXPRESSION);
    run.result.map_err(|why| why.to_string())
}

/// Whether a text matches a pattern, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => {
            let Some(rest) = text.strip_prefix(before) else { return false };
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches(after, &rest[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, held) in [
            ("pods/*", "pods/default/web", true),
            ("pods/*/web-*", "pods/default/web-1", true),
            ("pods/*", "nodes/n", false),
            ("*", "", true),
            ("a", "ab", false),
            ("*é*", "caféx", true),
        ] {
            assert_eq!(matches(pattern, text), held, "{pattern} {text}");
        }
    }
}
