use std::fmt;

use coracle_journal::EntryId;

use super::run::Run;

/// A property of every correct controller.
pub struct Check {
    /// The word of it, in reports and in files.
    pub word: &'static str,
    /// How bad it is.
    pub grade: Grade,
    /// What a controller does that fails it, without a subject: `leaves objects behind`.
    pub title: &'static str,
    /// When it fails, for the document.
    pub about: &'static str,
    /// What it does not count, so that a correct controller passes, for the document.
    pub except: &'static str,
    /// What fails in a run. The other runs had no fault.
    pub(super) find: fn(&Run, &[&Run]) -> Vec<Violation>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// No correct controller does it.
    Broken,
    /// The run ends in another state than runs without a fault.
    Differs,
    /// It costs more than it has to. It fails nothing.
    Wasteful,
}

/// Where a check fails in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong, in one line.
    pub what: String,
    /// The entry of the log that shows it; `None` if the whole run does.
    pub entry: Option<EntryId>,
}

/// A check that fails in a run.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The check.
    pub check: &'static Check,
    /// The component that fails it.
    pub component: String,
    /// What is wrong.
    pub violation: Violation,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

impl Grade {
    /// The word of it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Differs => "differs",
            Self::Wasteful => "wasteful",
        }
    }

    /// Whether a finding of this grade fails a run.
    pub fn fails(self) -> bool {
        self != Self::Wasteful
    }
}

impl Violation {
    pub(super) fn at(entry: EntryId, what: impl Into<String>) -> Self {
        Self { what: what.into(), entry: Some(entry) }
    }

    pub(super) fn of_the_run(what: impl Into<String>) -> Self {
        Self { what: what.into(), entry: None }
    }
}
