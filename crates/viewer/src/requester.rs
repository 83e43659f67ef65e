use coracle_journal::{Entry, Stage};

use crate::find::at;
use crate::sentence::word;

/// Finds who sent the requests in one log.
#[derive(Debug)]
pub struct Requesters<'e> {
    entries: &'e [Entry],
}

impl<'e> Requesters<'e> {
    /// Reads this log.
    pub fn of(entries: &'e [Entry]) -> Self {
        Self { entries }
    }

    /// The requester: the part of a component whose sync sent the request, or the user.
    pub fn requester(&self, request: &Entry) -> String {
        let sender = self.cause(request, Stage::SyncWrite);
        sender.map_or_else(|| word(request, "user"), |sender| sender.actor.clone())
    }

    /// The requester of a commit, as far as the log shows it.
    pub(crate) fn writer(&self, commit: &Entry) -> Option<String> {
        self.request(commit).map(|request| self.requester(request))
    }

    /// The request that led to a commit.
    pub(crate) fn request(&self, commit: &Entry) -> Option<&'e Entry> {
        self.cause(commit, Stage::ApiRequest)
    }

    fn cause(&self, of: &Entry, stage: Stage) -> Option<&'e Entry> {
        of.causes.iter().filter_map(|id| at(self.entries, *id)).find(|cause| cause.stage == stage)
    }
}
