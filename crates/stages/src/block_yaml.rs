//! The YAML that templates of statuses usually give: nested blocks of short scalars. A status is rendered for each pod,
//! and a full parser would take a quarter of the time that the pod's status costs.

use serde_json::{Map, Value as Json};

/// The deepest level that is read here.
const DEEPEST: usize = 64;
/// Plain words that are no strings in some version of YAML.
const RESERVED: [&str; 12] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf", "infinity"];

/// The document as the full parser gives it, or none if it contains anything but blocks of keys and items with scalars
/// that have one meaning in all versions of YAML.
pub(crate) fn read(text: &str) -> Option<Json> {
    let lines = text.lines().map(Line::of).filter(|line| !matches!(line, Some(line) if line.content.is_empty()));
    let mut blocks = Blocks { lines: lines.collect::<Option<_>>()?, next: 0 };
    let value = blocks.block(blocks.peek()?.indent, 0)?;
    blocks.peek().is_none().then_some(value)
}

#[derive(Clone, Copy)]
struct Line<'t> {
    indent: usize,
    content: &'t str,
}

impl<'t> Line<'t> {
    /// None for characters that this reader leaves to the full one.
    fn of(text: &'t str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        let content = text.trim_start_matches(' ');
        is_plain.then(|| Self { indent: text.len() - content.len(), content: content.trim_end_matches(' ') })
    }

    fn is_item(self) -> bool {
        self.content.starts_with("- ")
    }
}

struct Blocks<'t> {
    lines: Vec<Line<'t>>,
    next: usize,
}

impl<'t> Blocks<'t> {
    fn peek(&self) -> Option<Line<'t>> {
        self.lines.get(self.next).copied()
    }

    /// The next line if it is indented by `indent`.
    fn line_at(&self, indent: usize) -> Option<Line<'t>> {
        self.peek().filter(|line| line.indent == indent)
    }

    /// The items or the fields whose lines are indented by `indent`.
    fn block(&mut self, indent: usize, depth: usize) -> Option<Json> {
        if depth > DEEPEST {
            return None;
        }
        if self.peek()?.is_item() { self.items(indent, depth) } else { self.fields(indent, depth) }
    }

    fn items(&mut self, indent: usize, depth: usize) -> Option<Json> {
        let mut items = Vec::new();
        while let Some(line) = self.line_at(indent).filter(|line| line.is_item()) {
            let content = &line.content[2..];
            if content.starts_with([' ', '-', '?', ':']) {
                return None;
            }
            if key_of(content).is_some() {
                // The first field of an item stands where the fields below it do.
                self.lines[self.next] = Line { indent: indent + 2, content };
                items.push(self.fields(indent + 2, depth + 1)?);
            } else {
                items.push(scalar(content)?);
                self.next += 1;
            }
            self.ends_at(indent)?;
        }
        Some(Json::Array(items))
    }

    fn fields(&mut self, indent: usize, depth: usize) -> Option<Json> {
        let mut fields = Map::new();
        while let Some(line) = self.line_at(indent).filter(|line| !line.is_item()) {
            let (key, content) = key_of(line.content)?;
            self.next += 1;
            let value = if content.is_empty() { self.below(indent, depth)? } else { scalar(content)? };
            self.ends_at(indent)?;
            fields.insert(key.to_owned(), value);
        }
        Some(Json::Object(fields))
    }

    /// The value of a key that has none in its line.
    fn below(&mut self, indent: usize, depth: usize) -> Option<Json> {
        match self.peek() {
            Some(line) if line.indent > indent || (line.indent == indent && line.is_item()) => {
                self.block(line.indent, depth + 1)
            }
            _ => Some(Json::Null),
        }
    }

    /// None if the next line is indented more: then it continues a scalar, or nothing.
    fn ends_at(&self, indent: usize) -> Option<()> {
        self.peek().is_none_or(|line| line.indent <= indent).then_some(())
    }
}

/// The key of a line, and what stands behind its colon.
fn key_of(content: &str) -> Option<(&str, &str)> {
    let (key, rest) = content.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
        && !is_reserved(key);
    let is_end = rest.is_empty() || rest.starts_with(' ');
    (is_key && is_end).then(|| (key, rest.trim_start_matches(' ')))
}

fn scalar(content: &str) -> Option<Json> {
    match content {
        "{}" => return Some(Json::Object(Map::new())),
        "[]" => return Some(Json::Array(Vec::new())),
        "true" => return Some(Json::Bool(true)),
        "false" => return Some(Json::Bool(false)),
        _ => {}
    }
    for quote in ['"', '\''] {
        if let Some(text) = content.strip_prefix(quote) {
            let text = text.strip_suffix(quote)?;
            return (!text.contains(['"', '\'', '\\'])).then(|| Json::String(text.to_owned()));
        }
    }
    if content.starts_with(|first: char| first.is_ascii_digit()) {
        return number(content).or_else(|| address(content));
    }
    let is_plain = content.starts_with(|first: char| first.is_ascii_alphabetic())
        && content.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _./:-".contains(&byte))
        && !content.contains(": ")
        && !content.ends_with(':')
        && !is_reserved(content);
    is_plain.then(|| Json::String(content.to_owned()))
}

/// A number without a sign, a leading zero or an exponent.
fn number(content: &str) -> Option<Json> {
    let is_usual = content.len() <= 15 && content.bytes().all(|byte| byte.is_ascii_digit());
    let has_one_meaning = content == "0" || !content.starts_with('0');
    (is_usual && has_one_meaning).then(|| content.parse::<u64>().ok().map(Json::from)).flatten()
}

/// An IPv4 address, which no version of YAML takes for a number.
fn address(content: &str) -> Option<Json> {
    content.parse::<std::net::Ipv4Addr>().ok().map(|_| Json::String(content.to_owned()))
}

fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::yaml::parse;

    #[test]
    fn a_status_of_a_pod_is_read_without_the_full_parser() {
        let text = "\nconditions:\n- lastTransitionTime: \"2026-01-01T00:00:00Z\"\n  status: 'True'\n  type: Ready\n\n\
                    containerStatuses:\n- name: web\n  ready: true\n  restartCount: 0\n  state:\n    running:\n      \
                    startedAt: \"x\"\n  lastState: {}\nhostIP: 10.0.0.1\nphase: Running\nempty:\n";
        let wanted = json!({
            "conditions": [{"lastTransitionTime": "2026-01-01T00:00:00Z", "status": "True", "type": "Ready"}],
            "containerStatuses": [{"name": "web", "ready": true, "restartCount": 0, "lastState": {},
                                   "state": {"running": {"startedAt": "x"}}}],
            "hostIP": "10.0.0.1", "phase": "Running", "empty": null,
        });
        assert_eq!(read(text).as_ref(), Some(&wanted));
        assert_eq!(parse(text).unwrap(), wanted);
    }

    #[test]
    fn what_has_several_meanings_is_left_to_the_full_parser() {
        for text in [
            "a: yes",
            "a: 012",
            "a: 1e3",
            "a: 1.5",
            "a: 0x1f",
            "a: b: c",
            "a: b #c",
            "a: |\n  b",
            "a: \"b\\n\"",
            "a: it's",
            "a: ~",
            "a: b\n  c",
            "a: &x b",
            "a: *x",
            "a: [b]",
            "a: {b: c}",
            "- - a",
            "? a",
            "a:\tb",
            "yes: 1",
            "1: a",
            "a: b\n c: d",
            "--- a",
            "# a",
            "a: ü",
            "a: -1",
            "a: 2026-01-01",
            "a: \"b\" c",
            "",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    /// Lines of such words reach most of the branches, and most texts are documents.
    fn text() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "a:", "b:", "c/d:", "- ", "-", " ", "  ", "x", "yes", "null", "0", "12", "012", "10.0.0.1", "1.2",
            "\"q r\"", "'s'", "''", "{}", "[]", "true", "e:f", "#", "\n", "\n", "\n  ", "\n    ", "\n- ", "\n  - ",
            ":", "|", "\"", "1e3", "True",
        ]);
        prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
    }

    /// Statuses as templates give them, as values.
    fn status() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            Just(json!({})),
            Just(json!([])),
            any::<bool>().prop_map(Json::from),
            (0..1_000_000u64).prop_map(Json::from),
            "[A-E][a-z]{3,9}".prop_map(Json::from),
            Just(json!("10.0.0.1")),
            Just(json!("2026-01-01T00:00:00Z")),
            Just(json!("True")),
        ];
        leaf.prop_recursive(4, 30, 4, |below| {
            let fields = prop::collection::btree_map("k[A-Za-z]{2,8}", below, 1..4);
            let fields = fields.prop_map(|fields| Json::Object(fields.into_iter().collect()));
            prop_oneof![fields.clone(), prop::collection::vec(fields, 1..3).prop_map(Json::Array)]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn what_is_read_here_is_what_the_full_parser_reads(text in text()) {
            if let Some(value) = read(&text) {
                prop_assert_eq!(parse(&text), Ok(value), "{:?}", text);
            }
        }

        #[test]
        fn statuses_are_read_here(status in status()) {
            let status = json!({"status": status, "words": ["Ready", 1]});
            let text = crate::yaml::to_yaml(&status).replace(": null\n", ":\n");
            prop_assert_eq!(read(&text), Some(status), "{}", text);
        }

        #[test]
        fn any_text_is_read_as_the_full_parser_reads_it(text in "[ -~\n]{0,60}") {
            if let Some(value) = read(&text) {
                prop_assert_eq!(parse(&text), Ok(value), "{:?}", text);
            }
        }
    }
}
