use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Stop;

/// How many lines a transcript has at the most; a node keeps no more of a log.
pub(crate) const MOST_LINES: usize = 1000;

/// What a program says and how it ends, told as it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Transcript {
    pub(crate) lines: Vec<Said>,
    /// After how long it ends, and with which code; none if it goes on for ever.
    pub(crate) end: Option<(Duration, i32)>,
}

/// A line that a program says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Said {
    /// After it has run for so long.
    pub(crate) after: Duration,
    pub(crate) text: String,
    /// Whether it is no output but an error.
    pub(crate) is_error: bool,
    /// Whether the line has not ended.
    pub(crate) is_open: bool,
}

impl Transcript {
    /// The lines that are there when a program has stopped after so long.
    pub(crate) fn new(lines: Vec<Said>, after: Duration, stop: &Stop) -> Self {
        let end = match stop {
            Stop::Exit(code) => Some((after, *code)),
            Stop::Forever => None,
        };
        Self { lines, end }
    }
}
