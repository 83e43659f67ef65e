use std::path::PathBuf;

use coracle_journal::EntryId;

use crate::file::Step;

/// A step that is inserted into a run. The run takes it as soon as an event has happened, before the clock advances. Up
/// to that event the run equals the run without the step. Operations in progress at that moment continue.
///
/// [`read_change`](crate::read_change) reads one.
#[derive(Clone, Debug)]
pub struct Change {
    /// The event after which the step is taken.
    pub at: EntryId,
    /// The step.
    pub step: Step,
    /// The file that the step was read from; paths in it are relative to this file.
    pub path: PathBuf,
    /// The hash of that file's text: `sha256:` and 64 hexadecimal digits.
    pub hash: String,
}

impl Change {
    /// Its form in the first line of an events file.
    pub(crate) fn mark(&self) -> String {
        format!("#{} {}", self.at.0, self.hash)
    }
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// The step was taken. Its operations succeeded, or a condition was not met in time, which the report shows.
    Taken,
    /// The API or the cluster refused one of its operations, and the run ended there.
    Refused {
        /// The reason.
        why: String,
    },
    /// The steps were complete before its event, which is a verdict on the whole run or does not occur at all.
    TooLate {
        /// The last event of the run after which a step can be inserted.
        last: EntryId,
    },
}
