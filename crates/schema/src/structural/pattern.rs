use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use regex::Regex;
use regex_syntax::hir::Hir;

use super::go_pattern;
use super::pattern_program::{LARGEST_PROGRAM, Program, weight};

/// The weight from which a pattern is matched by a [`Program`]. The automata over bytes of the `regex` crate take about
/// a thousand times the memory of the pattern if it repeats Unicode classes.
const LARGEST_AUTOMATON: u64 = 2_000;
/// The product of weight and text from which a [`Program`] matches, because it counts its steps.
const MOST_UNCOUNTED: u64 = 50_000_000;
/// The approximate maximum size of all compiled patterns of the process, in bytes.
const MOST_KEPT: usize = 32 << 20;

/// A regular expression of a schema. It is compiled on first use, and evicted when the compiled patterns of all schemas
/// take too much memory. A definition therefore holds only the text.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The text.
    pub text: String,
    /// The expression for the `regex` crate and its weight, or the reason why there is no such expression.
    translated: Result<(Arc<str>, u64), String>,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), translated: translated(text) }
    }

    /// Why the text is not a regular expression; `None` if it is one.
    pub fn error(&self) -> Option<&str> {
        self.translated.as_ref().err().map(String::as_str)
    }

    /// Whether the text has a match.
    ///
    /// # Errors
    /// If the pattern is invalid, or the match takes too many steps.
    pub fn is_match(&self, text: &str) -> Result<bool, String> {
        let (translated, weight) = self.translated.as_ref().map_err(Clone::clone)?;
        let is_counted = *weight > LARGEST_AUTOMATON || weight.saturating_mul(text.len() as u64 + 1) > MOST_UNCOUNTED;
        match &*compiled(translated, *weight, is_counted)? {
            Compiled::Automaton(regex) => Ok(regex.is_match(text)),
            Compiled::Program(program) => program.is_match(text),
        }
    }
}

fn translated(text: &str) -> Result<(Arc<str>, u64), String> {
    // The parser uses about 300 bytes for each character before the weight is known. The weight of a text is about its
    // length, except for comments and groups.
    if text.len() as u64 > LARGEST_PROGRAM {
        return Err("error parsing regexp: expression too large".to_owned());
    }
    let translated = go_pattern::translated(text).map_err(|error| format!("error parsing regexp: {error}"))?;
    let weight = weight(&parsed(&translated)?);
    if weight > LARGEST_PROGRAM {
        return Err("error parsing regexp: expression too large".to_owned());
    }
    Ok((translated.into(), weight))
}

fn parsed(translated: &str) -> Result<Hir, String> {
    regex_syntax::Parser::new().parse(translated).map_err(|error| error.to_string())
}

#[derive(Debug)]
enum Compiled {
    Automaton(Regex),
    Program(Program),
}

/// The recently used compiled patterns.
#[derive(Default)]
struct Kept {
    patterns: BTreeMap<(bool, Arc<str>), Arc<Compiled>>,
    bytes: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { patterns: BTreeMap::new(), bytes: 0 });

fn compiled(translated: &Arc<str>, weight: u64, is_counted: bool) -> Result<Arc<Compiled>, String> {
    let key = (is_counted, Arc::clone(translated));
    if let Some(compiled) = KEPT.lock().patterns.get(&key) {
        return Ok(Arc::clone(compiled));
    }
    let compiled = Arc::new(if is_counted {
        Compiled::Program(Program::new(&parsed(translated)?)?)
    } else {
        Compiled::Automaton(Regex::new(translated).map_err(|error| error.to_string())?)
    });
    // An automaton has about four states for each range of a class, and a cache of the same size.
    let bytes_each = if is_counted { 24 } else { 256 };
    let bytes = 1024 + translated.len() + usize::try_from(weight).unwrap_or(usize::MAX).saturating_mul(bytes_each);
    let mut kept = KEPT.lock();
    if kept.bytes + bytes > MOST_KEPT {
        *kept = Kept::default();
    }
    kept.bytes += bytes;
    kept.patterns.insert(key, Arc::clone(&compiled));
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn many_patterns_of_large_classes_are_small_and_match() {
        let text = "\u{e9}".repeat(100);
        for at in 0..400 {
            let pattern = Pattern::new(&format!(r"^\p{{L}}{{100}}{at}$"));
            assert_eq!(pattern.error(), None);
            assert_eq!(pattern.is_match(&format!("{text}{at}")), Ok(true));
            assert_eq!(pattern.is_match(&format!("{text}x{at}")), Ok(false));
        }
        let kept = KEPT.lock();
        assert!(kept.bytes <= MOST_KEPT, "{}", kept.bytes);
        let automata = kept.patterns.keys().filter(|(is_counted, text)| !is_counted && text.contains("{100}"));
        assert_eq!(automata.count(), 0);
    }

    #[test]
    fn an_expression_has_a_size_and_a_match_a_number_of_steps() {
        let alternatives = (0..200).map(|at| format!("{at}abcdefgh")).collect::<Vec<_>>().join("|");
        let large = Pattern::new(&format!("({alternatives}){{1000}}"));
        assert_eq!(large.error(), Some("error parsing regexp: expression too large"));
        for long in ["a*", "a|", "(a)", "é"].map(|part| part.repeat(500_001)) {
            assert_eq!(Pattern::new(&long).error(), Some("error parsing regexp: expression too large"));
        }
        let slow = Pattern::new("(a?){1000}b");
        assert_eq!(slow.is_match("aab"), Ok(true));
        let why = slow.is_match(&"a".repeat(1 << 20)).unwrap_err();
        assert_eq!(why, "a match takes too many steps");
    }

    proptest! {
        #[test]
        fn both_engines_say_the_same(
            pattern in r"(\(?(a|b|[ab]|[^a]|\.|\\pL|\\b|\^|\$|\(\?m:\^|\(\?i:A)\)?([*+?|]|\{1,2\}|\{2,\})?){1,5}",
            texts in proptest::collection::vec("[abA1\n\u{e9} ]{0,6}", 4),
        ) {
            let Ok((translated, weight)) = translated(&pattern) else { return Ok(()) };
            for text in texts {
                let answers = [false, true].map(|is_counted| match &*compiled(&translated, weight, is_counted).unwrap() {
                    Compiled::Automaton(regex) => Ok(regex.is_match(&text)),
                    Compiled::Program(program) => program.is_match(&text),
                });
                prop_assert_eq!(&answers[0], &answers[1], "{} on {:?}", pattern, text);
            }
        }
    }
}
