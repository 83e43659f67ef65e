use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Stop;

/// How many lines a transcript has at most; a node keeps no more of a log.
pub(crate) const MOST_LINES: usize = 1000;

/// The output of a program and how it ends, computed when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Transcript {
    pub(crate) lines: Vec<Said>,
    /// How long it runs, and its exit code; none if it runs forever.
    pub(crate) end: Option<(Duration, i32)>,
}

/// A line of output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Said {
    /// How long the program has run when it writes the line.
    pub(crate) after: Duration,
    pub(crate) text: String,
    /// Whether it goes to standard error.
    pub(crate) is_error: bool,
    /// Whether it has no line break.
    pub(crate) is_open: bool,
}

impl Transcript {
    /// The transcript of a program that has stopped after this long.
    pub(crate) fn new(lines: Vec<Said>, after: Duration, stop: &Stop) -> Self {
        let end = match stop {
            Stop::Exit(code) => Some((after, *code)),
            Stop::Forever => None,
        };
        Self { lines, end }
    }
}
