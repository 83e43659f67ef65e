//! Regular expressions. In Kubernetes: `library.Regex` and `matches`, over Go's `regexp`.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use parking_lot::Mutex;
use regex::{Regex, RegexBuilder};

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Text, Value};

type Result<'v> = std::result::Result<Value<'v>, Fault>;

/// The maximum size of a compiled pattern, in bytes.
const LARGEST: usize = 1 << 20;
/// How many patterns one evaluation caches.
const KEPT: usize = 16;

/// The approximate maximum size of all cached compiled patterns, in bytes: about 500 patterns.
const MOST_KEPT: usize = 8 << 20;

/// A pattern, and its work for each byte of a text. Expressions hold its text; the compiled pattern is in a shared
/// cache of limited size, and is compiled again if it was dropped.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    translated: Arc<str>,
    weight: u64,
}

/// A cache of compiled patterns in two halves: when the recent half is full, it becomes the older one, and the patterns
/// that were not used since the last time are dropped.
struct PatternCache {
    recent: BTreeMap<Arc<str>, Compiled>,
    older: BTreeMap<Arc<str>, Compiled>,
    recent_bytes: usize,
    max_bytes: usize,
}

struct Compiled {
    regex: Regex,
    /// The approximate size.
    bytes: usize,
}

static CACHE: Mutex<PatternCache> = Mutex::new(PatternCache::new(MOST_KEPT));

impl PatternCache {
    const fn new(max_bytes: usize) -> Self {
        Self { recent: BTreeMap::new(), older: BTreeMap::new(), recent_bytes: 0, max_bytes }
    }

    fn get(&mut self, translated: &Arc<str>) -> Option<Regex> {
        if let Some(compiled) = self.recent.get(translated) {
            return Some(compiled.regex.clone());
        }
        let compiled = self.older.remove(translated)?;
        let regex = compiled.regex.clone();
        self.insert(Arc::clone(translated), compiled);
        Some(regex)
    }

    fn insert(&mut self, translated: Arc<str>, compiled: Compiled) {
        if self.recent_bytes + compiled.bytes > self.max_bytes / 2 {
            self.older = std::mem::take(&mut self.recent);
            self.recent_bytes = 0;
        }
        self.recent_bytes += compiled.bytes;
        // Two threads can compile the same pattern at the same time.
        if let Some(same) = self.recent.insert(translated, compiled) {
            self.recent_bytes -= same.bytes;
        }
    }
}

/// Compiles the pattern; `None` if it is invalid or too large.
fn compiled(translated: &Arc<str>) -> Option<Regex> {
    if let Some(regex) = CACHE.lock().get(translated) {
        return Some(regex);
    }
    let builder = |size| RegexBuilder::new(translated).size_limit(size).dfa_size_limit(LARGEST).build().ok();
    // The limit that suffices is the size of the pattern.
    let (regex, bytes) =
        [LARGEST / 64, LARGEST / 8, LARGEST].into_iter().find_map(|size| Some((builder(size)?, size)))?;
    CACHE.lock().insert(Arc::clone(translated), Compiled { regex: regex.clone(), bytes });
    Some(regex)
}

/// Why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternError(pub(crate) String);

/// Compiles a pattern with Go's syntax: classes such as `\w` match only ASCII characters.
pub(crate) fn compile_pattern(text: &str) -> std::result::Result<Pattern, PatternError> {
    if has_doubled_repetition(text) {
        return Err(PatternError(format!("error parsing regexp: invalid nested repetition operator in `{text}`")));
    }
    // The parser takes about 300 bytes for each sign before the size of what it compiles to is known.
    let translated = Arc::from(translated(text));
    if text.len() > LARGEST / 4 || compiled(&translated).is_none() {
        return Err(PatternError(format!("error parsing regexp: invalid pattern: `{text}`")));
    }
    Ok(Pattern { translated, weight: 1 + repetitions(text) / 64 })
}

/// Translates the pattern to the syntax of the `regex` crate.
fn translated(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut signs = text.chars().peekable();
    let mut in_class = false;
    while let Some(sign) = signs.next() {
        match sign {
            '\\' => translate_escape(&mut signs, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                begin_class(&mut signs, &mut out);
            }
            '[' if signs.peek() == Some(&':') => {
                out.push('[');
                copy_named_class(&mut signs, &mut out);
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(sign);
            }
            other => out.push(other),
        }
    }
    out
}

/// Translates what follows a backslash.
fn translate_escape(signs: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    match signs.next() {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
        Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
        Some('b') if !in_class => out.push_str("(?-u:\\b)"),
        Some('Q') => out.push_str(&regex::escape(&quoted(signs))),
        Some(other) => {
            out.push('\\');
            out.push(other);
        }
        None => out.push('\\'),
    }
}

/// The text up to `\E`, which is taken literally.
fn quoted(signs: &mut Peekable<Chars<'_>>) -> String {
    let mut quoted = String::new();
    for sign in signs {
        quoted.push(sign);
        if quoted.ends_with("\\E") {
            quoted.truncate(quoted.len() - 2);
            break;
        }
    }
    quoted
}

/// Begins a class. A `]` that comes first is one of its characters.
fn begin_class(signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if signs.peek() == Some(&'^') {
        out.extend(signs.next());
    }
    if signs.peek() == Some(&']') {
        signs.next();
        out.push_str("\\]");
    }
}

/// Copies the rest of a class such as `[:alpha:]` up to its `]`.
fn copy_named_class(signs: &mut Peekable<Chars<'_>>, out: &mut String) {
    for sign in signs {
        out.push(sign);
        if sign == ']' {
            break;
        }
    }
}

/// Whether a repetition is repeated, as in `x++`, which Go rejects.
fn has_doubled_repetition(text: &str) -> bool {
    let (mut in_class, mut is_escaped, mut repeated) = (false, false, 0);
    for sign in text.chars() {
        let is_plain = is_escaped || in_class;
        repeated = match sign {
            '*' | '+' | '?' if !is_plain => match (sign, repeated) {
                (_, 0) => 1,
                ('?', 1) => 2,
                _ => return true,
            },
            _ => 0,
        };
        in_class = !is_escaped && ((in_class && sign != ']') || (!in_class && sign == '['));
        is_escaped = !is_escaped && sign == '\\';
    }
    false
}

/// The product of all counted repetitions in a pattern.
fn repetitions(text: &str) -> u64 {
    let counts = text.split('{').skip(1).filter_map(|rest| {
        let inner = rest.split('}').next()?;
        inner.split(',').filter_map(|digits| digits.parse::<u64>().ok()).max()
    });
    counts.fold(1_u64, |product, count| product.saturating_mul(count.max(1))).min(1 << 20)
}

/// The patterns of an evaluation; each is compiled once.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    met: BTreeMap<String, Arc<Pattern>>,
}

impl Patterns {
    fn get(&mut self, text: &str, meter: &mut Meter) -> std::result::Result<Arc<Pattern>, PatternError> {
        if let Some(pattern) = self.met.get(text) {
            return Ok(Arc::clone(pattern));
        }
        let effort = 20_000 + text.len() as u64 * 100 + repetitions(text).saturating_mul(100);
        meter.work(effort).map_err(|fault| PatternError(fault.to_string()))?;
        let pattern = Arc::new(compile_pattern(text)?);
        if self.met.len() >= KEPT {
            self.met.clear();
        }
        self.met.insert(text.to_owned(), Arc::clone(&pattern));
        Ok(pattern)
    }

    /// `matches`, `find` and `findAll`. `ready` is the pattern, if it is constant.
    pub(crate) fn call<'v>(
        &mut self,
        function: &str,
        arguments: &[Value<'v>],
        ready: Option<&Pattern>,
        meter: &mut Meter,
    ) -> Result<'v> {
        let (text, pattern, most) = match arguments {
            [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
            [Value::String(text), Value::String(pattern), Value::Int(most)] => (text, pattern, *most),
            _ => return Err(Fault::no_overload()),
        };
        let met = match ready {
            Some(_) => None,
            None => Some(self.get(pattern, meter).map_err(|PatternError(why)| {
                if meter.work(0).is_err() {
                    return Fault::too_costly();
                }
                Fault::new(if function == "matches" { why } else { format!("Illegal regex: {why}") })
            })?),
        };
        let Some(pattern) = ready.or(met.as_deref()) else { return Err(Fault::no_overload()) };
        meter.work((text.len() as u64).saturating_mul(pattern.weight))?;
        let Some(regex) = compiled(&pattern.translated) else { return Err(Fault::no_overload()) };
        let part = |text: &Text<'v>, found: regex::Match<'_>| Value::String(text.part(found.start(), found.end()));
        match function {
            "matches" => Ok(Value::Bool(regex.is_match(text))),
            "find" => Ok(regex.find(text).map_or_else(|| Value::string(""), |found| part(text, found))),
            _ => {
                let mut found = Vec::new();
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                for piece in regex.find_iter(text).take(most) {
                    meter.items(1)?;
                    meter.memory(piece.len())?;
                    found.push(part(text, piece));
                }
                Ok(Value::list(found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_patterns_share_a_bounded_memory() {
        for at in 0..300 {
            let pattern = compile_pattern(&format!(r"^\pL{{8}}{at}$")).unwrap();
            let regex = compiled(&pattern.translated).unwrap();
            assert!(regex.is_match(&format!("{}{at}", "\u{e9}".repeat(8))), "{at}");
        }
        let cache = CACHE.lock();
        let held: usize = cache.recent.values().chain(cache.older.values()).map(|compiled| compiled.bytes).sum();
        assert!(held <= MOST_KEPT, "{held} bytes");
        assert!(cache.recent.len() + cache.older.len() < 300, "nothing was dropped");
    }

    #[test]
    fn a_pattern_that_is_used_stays_in_the_cache_and_others_leave_it() {
        let mut cache = PatternCache::new(8);
        let compiled = || Compiled { regex: Regex::new("a").unwrap(), bytes: 1 };
        let used: Arc<str> = Arc::from("used");
        cache.insert(Arc::clone(&used), compiled());
        for at in 0..100 {
            assert!(cache.get(&used).is_some(), "after {at} others");
            cache.insert(Arc::from(format!("other {at}")), compiled());
            assert!(cache.recent.len() + cache.older.len() <= 8, "after {at} others");
        }
        assert!(cache.get(&Arc::from("other 99")).is_some());
        assert!(cache.get(&Arc::from("other 0")).is_none());
    }
}
