use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Stop;

/// How many lines a transcript has at most; a node keeps no more of a log.
pub(super) const MOST_LINES: usize = 1000;

/// The output of a program and how it ends, computed when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transcript {
    /// The output, in the order of its times.
    pub lines: Vec<OutputLine>,
    /// How long it runs, and its exit code; none if it runs forever.
    pub end: Option<(Duration, i32)>,
}

/// A line of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputLine {
    /// How long the program has run when it writes the line.
    pub after: Duration,
    /// The line, without its line break.
    pub text: String,
    /// Whether it goes to standard error.
    pub is_error: bool,
    /// Whether it has no line break.
    pub is_open: bool,
}

impl Transcript {
    /// The transcript of a program that has stopped after this long.
    pub(super) fn new(lines: Vec<OutputLine>, after: Duration, stop: &Stop) -> Self {
        let end = match stop {
            Stop::Exit(code) => Some((after, *code)),
            Stop::Forever => None,
        };
        Self { lines, end }
    }
}
