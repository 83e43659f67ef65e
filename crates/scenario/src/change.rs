use std::path::PathBuf;

use coracle_journal::EntryId;

use crate::file::Step;

/// A step that is put into a run. It is taken as soon as an event has happened, before the clock moves on; up to that event the run
/// goes as it goes without it. What was under way at that moment goes on.
///
/// [`read_change`](crate::read_change) reads one.
#[derive(Clone, Debug)]
pub struct Change {
    /// After which event.
    pub at: EntryId,
    /// What is done there.
    pub step: Step,
    /// The file that it was read from; files that it names are relative to it.
    pub path: PathBuf,
    /// That file's text, hashed: `sha256:` and 64 hexadecimal digits.
    pub hash: String,
}

impl Change {
    /// As it stands in the first line of an events file.
    pub(crate) fn mark(&self) -> String {
        format!("#{} {}", self.at.0, self.hash)
    }
}

/// What became of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was taken; its operations succeeded, or what it waited for did not come in time, which the report says.
    Taken,
    /// The API, or the cluster, refused one of its operations. The run ended there.
    Refused {
        /// What was said.
        why: String,
    },
    /// The steps were over before its event, which is a verdict on the whole run or does not come at all.
    TooLate {
        /// The last event of the run at which a step can go in.
        last: EntryId,
    },
}
