//! Positions in a text, and their display in errors.

use std::fmt;

/// An error at a position in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The line in the text, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The message.
    pub message: String,
    /// The line of the text.
    snippet: String,
}

/// All errors in a text, in the order of their positions. The format is cel-go's: with the line, and a caret below
/// the column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The errors.
    pub issues: Vec<Issue>,
}

/// Collects the errors in a text.
pub(crate) struct Issues<'t> {
    text: &'t str,
    found: Vec<(usize, String)>,
}

impl<'t> Issues<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new() }
    }

    /// Adds an error at a byte of the text.
    pub(crate) fn add(&mut self, at: usize, message: impl Into<String>) {
        self.found.push((at, message.into()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn report(mut self) -> Report {
        self.found.sort_by_key(|(at, _)| *at);
        let text = self.text;
        Report { issues: self.found.into_iter().map(|(at, message)| issue(text, at, message)).collect() }
    }
}

fn issue(text: &str, at: usize, message: String) -> Issue {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let snippet = text[start..].split('\n').next().unwrap_or("").to_owned();
    let column = before[start..].chars().count() + 1;
    Issue { line: before.matches('\n').count() + 1, column, message, snippet }
}

/// Longer lines are not shown.
const LONGEST_SNIPPET: usize = 16384;

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR: <input>:{}:{}: {}", self.line, self.column, self.message)?;
        if self.snippet.len() > LONGEST_SNIPPET {
            return Ok(());
        }
        let snippet = self.snippet.replace('\t', " ");
        write!(f, "\n | {snippet}\n | ")?;
        let mut signs = snippet.chars();
        for sign in signs.by_ref().take(self.column - 1) {
            f.write_str(if sign.len_utf8() > 1 { "\u{ff0e}" } else { "." })?;
        }
        f.write_str(if signs.next().is_some_and(|sign| sign.len_utf8() > 1) { "\u{ff3e}" } else { "^" })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, issue) in self.issues.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{issue}")?;
        }
        Ok(())
    }
}
