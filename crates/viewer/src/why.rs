use std::fmt::Write;

use coracle_journal::{Entry, EntryId, Stage};
use serde_json::Value;

use crate::NotInLog;
use crate::changed::changed;
use crate::columns::Columns;
use crate::find::{find, place};
use crate::sentence::word;
use crate::struck::faults_between;

/// A link of the chain from an entry back to an entry without a cause in the log.
#[derive(Clone, Debug)]
pub struct Link<'e> {
    /// The entry.
    pub entry: &'e Entry,
    /// How many causes it has in addition to the one in the chain: a queue merges keys.
    pub others: usize,
    /// What the sync decided that the entry starts. The decision is the reason for all writes of the sync, and is
    /// recorded at its end.
    pub decided: Option<&'e str>,
    /// The fields that the entry changed, if it is an update and the log holds the objects.
    pub changed: Option<String>,
}

/// Why an entry exists: the entry itself, its newest cause, the newest cause of that, and so on. Empty if there is no
/// such entry.
///
/// If a queue merged several causes, the chain follows the newest one, because a sync acts on the newest state: a key
/// that was queued for a status and then for a deletion is synced because of the deletion. The page draws the same
/// chain.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Recorder, Stage};
/// use coracle_viewer::chain;
///
/// let recorder = Recorder::ring(10);
/// let add = recorder.record("rs", Stage::QueueAdd, || Detail::about("default/web")).unwrap();
/// let merged = recorder.record("rs", Stage::QueueAdd, || Detail::about("default/web")).unwrap();
/// let get = recorder.record("rs", Stage::QueueGet, || Detail::about("default/web").caused_by([add, merged])).unwrap();
/// let entries = recorder.entries(EntryId(0));
/// let links = chain(&entries, get);
/// assert_eq!(links.iter().map(|link| (link.entry.id, link.others)).collect::<Vec<_>>(), [(get, 1), (merged, 0)]);
/// ```
pub fn chain(entries: &[Entry], id: EntryId) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    let mut next = Some(id);
    while let Some(at) = next.and_then(|id| place(entries, id).ok()) {
        let entry = &entries[at];
        let others = entry.causes.len().saturating_sub(1);
        let (decided, changed) = (decided(&entries[at + 1..], entry), changed(entries, entry));
        links.push(Link { entry, others, decided, changed });
        // A cause is always earlier; an invalid file must not make this loop endless.
        next = newest(entry).filter(|cause| *cause < entry.id);
    }
    links
}

/// Explains why an object, a revision or an entry exists, named as for [`find`]: the chain, one sentence per line, the
/// newest first. Faults that applied meanwhile are between them, after `!!`.
///
/// # Errors
/// If the log holds nothing about it.
pub fn why(entries: &[Entry], about: &str, columns: Columns) -> Result<String, NotInLog> {
    let start = find(entries, about)?;
    let mut text = String::new();
    let links = chain(entries, start);
    let oldest = links.last().map_or(start, |link| link.entry.id);
    let mut faults = faults_between(entries, oldest, start);
    for Link { entry, others, decided, changed } in &links {
        // The newest is first, as in the chain.
        while let Some(fault) = faults.pop_if(|fault| fault.id > entry.id) {
            let _ = writeln!(text, "{}", columns.entry(fault));
        }
        faults.pop_if(|fault| fault.id == entry.id);
        let decides = decided.map(|decided| format!(" decides: {decided}")).unwrap_or_default();
        let changes = changed.as_ref().map(|changed| format!(" (changes {changed})")).unwrap_or_default();
        let also = if *others > 0 { format!(" (and {others} more)") } else { String::new() };
        let _ = writeln!(text, "{}{decides}{changes}{also}", columns.entry(entry));
    }
    for fault in faults.iter().rev() {
        let _ = writeln!(text, "{}", columns.entry(fault));
    }
    if let Some(lost) = links.last().and_then(|link| newest(link.entry)) {
        let _ = writeln!(text, "{}", columns.note(&format!("what caused that, #{}, is not in the log", lost.0)));
    }
    if let Some(gone) = removed(entries, start).filter(|_| !about.starts_with('#') && !about.starts_with("rev=")) {
        let removed = format!("it was removed later, by #{}, which has a chain of its own", gone.0);
        let _ = writeln!(text, "{}", columns.note(&removed));
    }
    Ok(text)
}

/// The decision of the sync that an entry starts, from one of the entries after it; `None` if the entry starts no sync,
/// or if its end is not recorded.
fn decided<'e>(after: &'e [Entry], start: &Entry) -> Option<&'e str> {
    if start.stage != Stage::SyncStart {
        return None;
    }
    let ends = |entry: &&Entry| entry.stage == Stage::SyncEnd && entry.causes.contains(&start.id);
    after.iter().find(ends)?.data.get("decided").and_then(Value::as_str)
}

/// The commit that deleted the subject of an entry, after that entry.
fn removed(entries: &[Entry], after: EntryId) -> Option<EntryId> {
    let from = place(entries, after).ok()?;
    let subject = &entries[from].subject;
    let removes = |entry: &&Entry| {
        entry.stage == Stage::StoreCommit && entry.subject == *subject && word(entry, "op") == "delete"
    };
    entries[from..].iter().find(removes).map(|entry| entry.id)
}

fn newest(entry: &Entry) -> Option<EntryId> {
    entry.causes.iter().copied().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, Recorder, Stage};

    #[test]
    fn an_object_is_there_because_of_its_last_creation() {
        let recorder = Recorder::ring(10);
        let say = |stage, detail: Detail| recorder.record("x", stage, || detail).unwrap();
        let pod = || Detail::about("pods/default/web-1").with("op", "create");
        say(Stage::StoreCommit, pod().at(1));
        let asked = say(Stage::ApiRequest, Detail::about("pods/default").with("user", "me").with("verb", "create"));
        let created = say(Stage::StoreCommit, pod().at(2).caused_by([asked]));
        say(Stage::StoreCommit, Detail::about("pods/default/web-1").at(3).with("op", "put"));
        let entries = recorder.entries(EntryId(0));
        for called in ["pods/default/web-1", "default/web-1", "web-1", "pod/web-1"] {
            let text = why(&entries, called, Columns::Aligned).unwrap();
            assert_eq!(text.lines().count(), 2, "{called}: {text}");
            assert!(text.starts_with(&format!("{:>8}", format!("#{}", created.0))), "{text}");
        }
        let gone = say(Stage::StoreCommit, Detail::about("pods/default/web-1").at(4).with("op", "delete"));
        let text = why(&recorder.entries(EntryId(0)), "pod/web-1", Columns::Aligned).unwrap();
        assert!(
            text.ends_with(&format!("it was removed later, by #{}, which has a chain of its own\n", gone.0)),
            "{text}"
        );
        assert!(["b-1", "#99", "#x"].iter().all(|unknown| why(&entries, unknown, Columns::Aligned).is_err()));
    }

    #[test]
    fn where_a_chain_passes_through_a_sync_it_says_what_that_sync_decided() {
        let recorder = Recorder::ring(10);
        let say = |stage, detail: Detail| recorder.record("rs", stage, || detail).unwrap();
        let sync = |key: &str| say(Stage::SyncStart, Detail::about(key));
        let ends =
            |start, what: &str| say(Stage::SyncEnd, Detail::about("a/b").caused_by([start]).with("decided", what));
        let (other, start) = (sync("a/other"), sync("a/web"));
        ends(other, "nothing to do");
        let write = say(Stage::SyncWrite, Detail::about("pods/a/web-").with("verb", "create").caused_by([start]));
        let commit = say(Stage::StoreCommit, Detail::about("pods/a/web-1").with("op", "create").caused_by([write]));
        let told = || why(&recorder.entries(EntryId(0)), &format!("#{}", commit.0), Columns::Aligned).unwrap();
        assert!(told().ends_with("sync of a/web\n"), "it has not ended yet: {}", told());
        ends(start, "want 3, see 2: create 1");
        assert!(told().ends_with("sync of a/web decides: want 3, see 2: create 1\n"), "{}", told());
        assert_eq!(told().matches("decides").count(), 1);
    }

    #[test]
    fn a_cause_that_is_no_longer_in_the_log_is_named() {
        let recorder = Recorder::ring(1);
        let first = recorder.record("x", Stage::QueueAdd, || Detail::about("a/b")).unwrap();
        let last = recorder.record("x", Stage::QueueGet, || Detail::about("a/b").caused_by([first])).unwrap();
        let text = why(&recorder.entries(EntryId(0)), &format!("#{}", last.0), Columns::Aligned).unwrap();
        assert!(text.ends_with(&format!("what caused that, #{}, is not in the log\n", first.0)), "{text}");
    }
}
