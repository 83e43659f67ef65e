use coracle_journal::{Entry, EntryId, Stage};
use coracle_viewer::Requesters;
use coracle_yaml::Spanned;

use super::ScenarioRun;
use super::judge::failed;
use crate::file::RequestCount;
use crate::report::{Check, Outcome};

impl ScenarioRun<'_> {
    pub(super) fn count_requests(&mut self, outcome: &mut Outcome) {
        if self.scenario.spec.requests.is_empty() {
            return;
        }
        let revision = self.world.revision();
        // Requests, and the syncs that sent them.
        let entries = self.recorder.entries_of(EntryId(0), &[Stage::ApiRequest, Stage::SyncWrite]);
        for expected in &self.scenario.spec.requests {
            let since = self.beginning_of(expected);
            let senders = senders(&entries, expected, since);
            let own = senders.iter().filter(|sender| **sender == expected.by.value).count();
            let others: Vec<_> = senders.iter().filter(|sender| **sender != expected.by.value).cloned().collect();
            let is_right = match (expected.count, expected.at_most) {
                (Some(count), _) => own == count,
                (None, Some(most)) => own <= most,
                (None, None) => own > 0,
            };
            let forgotten = self.forgotten(since);
            if forgotten.is_none() && others.is_empty() && is_right {
                // A count of zero is only meaningful if there could have been such requests.
                let is_about_some = !senders.is_empty()
                    || expected.count == Some(0) && !self::senders(&entries, expected, EntryId(0)).is_empty();
                let vacuous = (!is_about_some).then(|| "no request matched".to_owned());
                let check = Check { throughout: true, vacuous, ..self.check(&expected.name, true, revision) };
                self.note_held(check);
                continue;
            }
            self.checks.push(Check { throughout: true, ..self.check(&expected.name, false, revision) });
            let count = match (expected.count, expected.at_most) {
                (Some(count), _) => count.to_string(),
                (None, Some(most)) => format!("at most {most}"),
                (None, None) => "at least one".to_owned(),
            };
            let (verb, resource, by) = (&expected.verb.value, &expected.resource.value, &expected.by.value);
            let wanted = format!("{count} {verb} of {resource} by {by} alone");
            let found =
                forgotten.unwrap_or_else(|| format!("{own} by it, {} by others{}", others.len(), listed(&others)));
            self.record_failure(&expected.name, &wanted, &found, revision, "throughout");
            if *outcome == Outcome::Passed {
                *outcome = failed(&expected.name, wanted, found, revision, self.line_of(&expected.name));
            }
        }
    }

    /// Why requests from an entry on cannot be counted; `None` if all of them are in memory.
    fn forgotten(&self, since: EntryId) -> Option<String> {
        match self.recorder.first() {
            None => Some("the run has no event log in which requests could be counted".to_owned()),
            Some(first) if first > since.max(EntryId(1)) => {
                Some(format!("the event log holds entries from #{} on only; requests before are not known", first.0))
            }
            Some(_) => None,
        }
    }

    fn beginning_of(&self, expected: &RequestCount) -> EntryId {
        let named =
            |name: &Spanned<String>| self.steps.iter().find(|(step, _)| *step == name.value).map(|(_, entry)| *entry);
        expected.since.as_ref().and_then(named).unwrap_or(EntryId(0))
    }
}

/// The senders of the accepted requests of one kind, from an entry on.
fn senders(entries: &[Entry], expected: &RequestCount, since: EntryId) -> Vec<String> {
    let requesters = Requesters::of(entries);
    let verb = |entry: &Entry| entry.data.get("verb").is_some_and(|verb| verb == &*expected.verb.value);
    entries
        .iter()
        .filter(|entry| entry.id >= since && entry.stage == Stage::ApiRequest && verb(entry))
        .filter(|entry| entry.subject.split('/').next() == Some(expected.resource.value.as_str()))
        .filter(|entry| !entry.data.contains_key("subresource"))
        .map(|entry| requesters.requester(entry))
        .collect()
}

fn listed(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) }
}
