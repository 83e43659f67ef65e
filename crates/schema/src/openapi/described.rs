use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::Descriptions;

/// Descriptions in a text: one line each, sorted by type and field.
///
/// ```text
/// io.k8s.api.core.v1.Pod⇥Pod is a collection of containers ...
/// io.k8s.api.core.v1.Pod spec⇥Specification of the desired behavior ...
/// ```
/// A line break is written `\n`, a backslash `\\`.
#[derive(Debug)]
pub struct Described {
    text: String,
    /// The range of each line.
    lines: Vec<Range<usize>>,
}

/// An invalid line of a text of descriptions.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line} of the descriptions {why}")]
pub struct NotDescribed {
    /// The line, the first being 1.
    pub line: usize,
    why: &'static str,
}

/// A type, or one of its fields.
type Key<'a> = (&'a str, Option<&'a str>);

impl Described {
    /// Parses a text; lines are copied only when they are requested.
    ///
    /// # Errors
    /// If a line has no description, a backslash is followed by anything except `n` or `\`, or lines are out of order.
    pub fn read(text: String) -> Result<Self, NotDescribed> {
        let mut lines = Vec::new();
        let mut before: Option<Key<'_>> = None;
        let mut start = 0;
        for line in text.split_terminator('\n') {
            let refuse = |why| Err(NotDescribed { line: lines.len() + 1, why });
            let Some((key, description)) = parts(line) else { return refuse("has no tab") };
            if unescape(description).is_none() {
                return refuse("has a backslash before anything else than n or a backslash");
            }
            if before.is_some_and(|before| before >= key) {
                return refuse("is not after the one before");
            }
            before = Some(key);
            lines.push(start..start + line.len());
            start += line.len() + 1;
        }
        Ok(Self { text, lines })
    }

    /// Writes a text with these descriptions of types and fields.
    pub fn write(descriptions: &BTreeMap<(String, Option<String>), String>) -> String {
        let mut text = String::new();
        for ((ty, field), description) in descriptions {
            text.push_str(ty);
            if let Some(field) = field {
                // Writing to a String does not fail.
                let _ = write!(text, " {field}");
            }
            let _ = writeln!(text, "\t{}", description.replace('\\', "\\\\").replace('\n', "\\n"));
        }
        text
    }

    /// A valid line.
    fn line(&self, range: &Range<usize>) -> (Key<'_>, &str) {
        parts(&self.text[range.clone()]).unwrap_or_default()
    }
}

impl Descriptions for Described {
    fn describe(&self, ty: &str, field: Option<&str>) -> String {
        let found = self.lines.binary_search_by(|range| self.line(range).0.cmp(&(ty, field)));
        let description = found.ok().and_then(|found| unescape(self.line(&self.lines[found]).1));
        description.unwrap_or_default().into_owned()
    }
}

fn parts(line: &str) -> Option<(Key<'_>, &str)> {
    let (key, description) = line.split_once('\t')?;
    let key = key.split_once(' ').map_or((key, None), |(ty, field)| (ty, Some(field)));
    Some((key, description))
}

fn unescape(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('\\') {
        return Some(text.into());
    }
    let mut out = String::with_capacity(text.len());
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        out.push(match sign {
            '\\' => match signs.next()? {
                'n' => '\n',
                '\\' => '\\',
                _ => return None,
            },
            sign => sign,
        });
    }
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> String {
        Described::read(text.to_owned()).unwrap_err().to_string()
    }

    #[test]
    fn a_type_and_a_field_are_found_and_others_have_no_description() {
        let described =
            Described::read("a.Pod\tA \\\\ pod.\\nTwo lines.\na.Pod spec\tIts\tspec.\n".to_owned()).unwrap();
        assert_eq!(described.describe("a.Pod", None), "A \\ pod.\nTwo lines.");
        assert_eq!(described.describe("a.Pod", Some("spec")), "Its\tspec.");
        assert_eq!(described.describe("a.Pod", Some("status")), "");
        assert_eq!(described.describe("a.Po", None), "");
        assert_eq!(described.describe("a.Pod spec", None), "");
    }

    #[test]
    fn invalid_lines_are_refused_with_their_number() {
        assert_eq!(refused("a\tx\nb"), "line 2 of the descriptions has no tab");
        assert_eq!(refused("a\tx\n\nb\ty\n"), "line 2 of the descriptions has no tab");
        assert_eq!(refused("b\tx\na\ty"), "line 2 of the descriptions is not after the one before");
        assert_eq!(refused("b\tx\nb\ty"), "line 2 of the descriptions is not after the one before");
        let backslash = "line 1 of the descriptions has a backslash before anything else than n or a backslash";
        assert_eq!(refused("a\tx\\"), backslash);
        assert_eq!(refused("a\t\\t"), backslash);
    }

    proptest! {
        #[test]
        fn written_descriptions_are_read_again(
            described in prop::collection::btree_map(("[a-z.]{1,6}", prop::option::of("[a-zA-Z$]{1,3}")), any::<String>(), 0..20)
        ) {
            let read = Described::read(Described::write(&described)).unwrap();
            prop_assert_eq!(read.lines.len(), described.len());
            for ((ty, field), description) in &described {
                prop_assert_eq!(&read.describe(ty, field.as_deref()), description);
            }
        }

        #[test]
        fn any_text_is_refused_or_read_as_it_would_be_written(text in "([ab]{0,2}( [ab]{0,2})?\t?[ab\\\\nß\r]{0,4}\n?){0,6}") {
            let Ok(read) = Described::read(text.clone()) else { return Ok(()) };
            let of_line = |range| {
                let ((ty, field), _) = read.line(range);
                ((ty.to_owned(), field.map(str::to_owned)), read.describe(ty, field))
            };
            let written = Described::write(&read.lines.iter().map(of_line).collect());
            prop_assert_eq!(written.trim_end_matches('\n'), text.trim_end_matches('\n'));
        }
    }
}
