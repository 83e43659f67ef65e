use std::collections::BTreeSet;

use coracle_journal::{Entry, EntryId, Stage};

use crate::NotInLog;
use crate::sentence::word;

/// Finds the entry that a user names: the entry with a number (`#412`), the commit of a revision (`rev=31`), or the
/// cause of an object: its last creation, or the first entry about it if the log holds no creation. An object can be
/// named `pods/default/web-1`, `default/web-1`, `web-1` or `pod/web-1`.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Recorder, Stage};
/// use coracle_viewer::find;
///
/// let recorder = Recorder::ring(10);
/// recorder.record("store", Stage::StoreCommit, || Detail::about("pods/default/web-1").at(31).with("op", "create"));
/// let entries = recorder.entries(EntryId(0));
/// for called in ["#1", "rev=31", "pod/web-1"] {
///     assert_eq!(find(&entries, called), Ok(EntryId(1)));
/// }
/// let nothing = find(&entries, "pod/web-2").unwrap_err();
/// assert_eq!(nothing.to_string(), "nothing in the log is about `pod/web-2`; the nearest is `pods/default/web-1`");
/// ```
///
/// # Errors
/// If the log does not hold it; the error names the nearest that the log holds.
pub fn find(entries: &[Entry], called: &str) -> Result<EntryId, NotInLog> {
    if let Some(number) = called.strip_prefix('#') {
        let number = number.parse().map_err(|_| NotInLog::NoNumber { called: called.to_owned() })?;
        return event(entries, EntryId(number));
    }
    if let Some(revision) = called.strip_prefix("rev=") {
        let revision = revision.parse().map_err(|_| NotInLog::NoNumber { called: called.to_owned() })?;
        return at_revision(entries, revision);
    }
    let is_about = |entry: &&Entry| names(&entry.subject, called);
    let creates = |entry: &&Entry| entry.stage == Stage::StoreCommit && word(entry, "op") == "create";
    let created = entries.iter().rev().filter(creates).find(is_about);
    let found = created.or_else(|| entries.iter().find(is_about));
    found.map(|entry| entry.id).ok_or_else(|| unknown_object(entries, called))
}

fn event(entries: &[Entry], id: EntryId) -> Result<EntryId, NotInLog> {
    place(entries, id).map(|_| id).map_err(|nearest| NotInLog::UnknownEvent { id, nearest })
}

/// The index of an entry in a log.
///
/// # Errors
/// If there is no such entry: the nearest number, or `None` if the log is empty.
pub fn place(entries: &[Entry], id: EntryId) -> Result<usize, Option<EntryId>> {
    entries.binary_search_by_key(&id, |entry| entry.id).map_err(|after| {
        let beside = entries[after.saturating_sub(1)..].iter().take(2).map(|entry| entry.id);
        beside.min_by_key(|found| found.0.abs_diff(id.0))
    })
}

/// The entry with this number.
pub(crate) fn at(entries: &[Entry], id: EntryId) -> Option<&Entry> {
    place(entries, id).ok().map(|place| &entries[place])
}

fn at_revision(entries: &[Entry], revision: i64) -> Result<EntryId, NotInLog> {
    let of_it = || entries.iter().filter(|entry| entry.revision == Some(revision));
    let found = of_it().find(|entry| entry.stage == Stage::StoreCommit).or_else(|| of_it().next());
    found.map(|entry| entry.id).ok_or_else(|| {
        let known = entries.iter().filter_map(|entry| entry.revision);
        NotInLog::UnknownRevision { revision, nearest: known.min_by_key(|known| known.abs_diff(revision)) }
    })
}

/// The error for an unknown object, with the object of the most similar name.
pub(crate) fn unknown_object(entries: &[Entry], called: &str) -> NotInLog {
    let objects: BTreeSet<&str> =
        entries.iter().filter(|entry| is_about_an_object(entry)).map(|entry| &*entry.subject).collect();
    let distance = |object: &str| short_names(object).map(|name| strsim::levenshtein(&name, called)).min();
    // A name with a kind means an object of that kind.
    let kind = called.split_once('/').map(|(kind, _)| format!("{kind}/"));
    let is_other = |object: &str| kind.as_ref().is_none_or(|kind| !object.starts_with(kind));
    let nearest = objects.into_iter().min_by_key(|object| (is_other(object), distance(object)));
    NotInLog::UnknownObject { object: called.to_owned(), nearest: nearest.map(str::to_owned) }
}

/// Whether the subject of an entry is an object that exists or existed, and not the key of a queue or the subject of a
/// request.
fn is_about_an_object(entry: &Entry) -> bool {
    let is_told = matches!(
        entry.stage,
        Stage::StoreCommit
            | Stage::ObjectChange
            | Stage::WatchSend
            | Stage::FifoAdd
            | Stage::FifoPop
            | Stage::CacheApply
            | Stage::HandlerCall
            | Stage::KubeletTransition
    );
    is_told && !entry.subject.is_empty()
}

/// The names that a user may give a subject: complete, without its resource, and with the resource in the singular.
fn short_names(subject: &str) -> impl Iterator<Item = String> {
    let (resource, rest) = subject.split_once('/').unwrap_or(("", subject));
    let name = rest.rsplit('/').next().unwrap_or(rest);
    let kind = resource.strip_suffix('s').unwrap_or(resource);
    let whole = [subject.to_owned(), rest.to_owned(), name.to_owned()];
    let by_kind = [resource, kind].into_iter().flat_map(|kind| [format!("{kind}/{name}"), format!("{kind}/{rest}")]);
    whole.into_iter().chain(by_kind.collect::<Vec<_>>())
}

/// Whether a user may name a subject like this: `pods/default/web-1`, `default/web-1`, `web-1` or `pod/web-1`.
pub(crate) fn names(subject: &str, called: &str) -> bool {
    let Some(rest) = subject.strip_suffix(called) else {
        let Some((kind, name)) = called.split_once('/') else { return false };
        let Some((resource, rest)) = subject.split_once('/') else { return false };
        let is_kind = resource.strip_prefix(kind).is_some_and(|ending| matches!(ending, "" | "s" | "es"));
        return is_kind && (rest == name || rest.strip_suffix(name).is_some_and(|before| before.ends_with('/')));
    };
    rest.is_empty() || rest.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, Recorder};

    fn log() -> Vec<Entry> {
        let recorder = Recorder::ring(4);
        let say = |name: &str, revision| {
            recorder.record("store", Stage::StoreCommit, || Detail::about(name).at(revision).with("op", "create"))
        };
        for (name, revision) in [("x", 1), ("pods/default/web-1", 10), ("nodes/node-1", 20), ("pods/shop/db-0", 31)] {
            say(name, revision);
        }
        recorder.record("x", Stage::QueueAdd, || Detail::about("default/webb"));
        recorder.entries(EntryId(0))
    }

    fn refused(called: &str) -> String {
        find(&log(), called).unwrap_err().to_string()
    }

    #[test]
    fn an_event_or_a_revision_that_is_not_there_names_the_nearest_in_number() {
        assert_eq!(refused("#1"), "the log holds no event #1; the nearest is #2");
        assert_eq!(refused("#400"), "the log holds no event #400; the nearest is #5");
        assert_eq!(refused("rev=27"), "the log holds nothing at revision 27; the nearest is 31");
        assert_eq!(refused("#x"), "`#x`: expected a number, as in `#412` or `rev=31`");
        assert!(matches!(find(&[], "#1"), Err(NotInLog::UnknownEvent { nearest: None, .. })));
        assert_eq!(find(&log(), "rev=20"), Ok(EntryId(3)));
    }

    #[test]
    fn an_object_that_is_not_there_names_the_nearest_in_letters() {
        for (called, nearest) in [
            ("pod/web-2", "pods/default/web-1"),
            ("shop/bd-0", "pods/shop/db-0"),
            ("node/nod-1", "nodes/node-1"),
            ("webs", "pods/default/web-1"),
            ("pods/web-0", "pods/default/web-1"),
            ("pods/node-1", "pods/default/web-1"),
            ("default/web", "pods/default/web-1"),
        ] {
            let wanted = format!("nothing in the log is about `{called}`; the nearest is `{nearest}`");
            assert_eq!(refused(called), wanted);
        }
        assert_eq!(find(&[], "a").unwrap_err().to_string(), "nothing in the log is about `a`");
    }
}
