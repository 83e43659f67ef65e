use coracle_journal::{Entry, Stage};

use crate::find::at;
use crate::sentence::word;

/// Who asked for what, over one log.
#[derive(Debug)]
pub struct Askers<'e> {
    entries: &'e [Entry],
}

impl<'e> Askers<'e> {
    /// Over the entries of a log.
    pub fn of(entries: &'e [Entry]) -> Self {
        Self { entries }
    }

    /// Who sent a request: the part of a component whose sync did, or the user.
    pub fn asker(&self, request: &Entry) -> String {
        let sender = self.cause(request, Stage::SyncWrite);
        sender.map_or_else(|| word(request, "user"), |sender| sender.actor.clone())
    }

    /// Who asked for a commit, as far as the log says.
    pub(crate) fn writer(&self, commit: &Entry) -> Option<String> {
        self.request(commit).map(|request| self.asker(request))
    }

    /// The request that a commit answers.
    pub(crate) fn request(&self, commit: &Entry) -> Option<&'e Entry> {
        self.cause(commit, Stage::ApiRequest)
    }

    fn cause(&self, of: &Entry, stage: Stage) -> Option<&'e Entry> {
        of.causes.iter().filter_map(|id| at(self.entries, *id)).find(|cause| cause.stage == stage)
    }
}
