use std::fmt::Write;

use coracle_journal::{Entry, EntryId};

use crate::NothingToTell;
use crate::find::{at, find};
use crate::sentence::sentence;

/// A link of the chain from an entry back to what nothing in the log caused.
#[derive(Clone, Copy, Debug)]
pub struct Link<'e> {
    /// The entry.
    pub entry: &'e Entry,
    /// How many causes it has beside the one that the chain follows: a queue merges what is added.
    pub others: usize,
}

/// Why an entry is there: itself, its newest cause, the newest cause of that, and so on. Empty if there is no such entry.
///
/// Of causes that a queue merged the newest is followed, because a sync acts on what is newest: a key that was queued for a status
/// and then for a deletion is synced because of the deletion. The page draws the same chain.
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
    while let Some(entry) = next.and_then(|id| at(entries, id)) {
        links.push(Link { entry, others: entry.causes.len().saturating_sub(1) });
        // A cause is earlier; a file that says otherwise must not make this go on for ever.
        next = newest(entry).filter(|cause| *cause < entry.id);
    }
    links
}

/// Says why an object, a revision or an entry is there, called as [`find`] takes it: its chain, a sentence a line, the newest first.
///
/// # Errors
/// If the log holds nothing about it.
pub fn why(entries: &[Entry], about: &str) -> Result<String, NothingToTell> {
    let start = find(entries, about)?;
    let mut text = String::new();
    let links = chain(entries, start);
    for Link { entry, others } in &links {
        let also = if *others > 0 { format!(" (and {others} more)") } else { String::new() };
        let _ = writeln!(text, "{}{also}", line(entry));
    }
    if let Some(lost) = links.last().and_then(|link| newest(link.entry)) {
        let _ = writeln!(text, "         what caused that, #{}, is not in the log", lost.0);
    }
    Ok(text)
}

/// An entry as a line: its number, when, at which revision, who and what.
pub(crate) fn line(entry: &Entry) -> String {
    let millis = entry.at.as_secs_f64() * 1000.0;
    let revision = entry.revision.map_or(String::new(), |revision| revision.to_string());
    let id = format!("#{}", entry.id.0);
    format!("{id:>8} {millis:>10.1} ms {revision:>6}  {:<34} {}", entry.actor, sentence(entry))
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
            let text = why(&entries, called).unwrap();
            assert_eq!(text.lines().count(), 2, "{called}: {text}");
            assert!(text.starts_with(&format!("{:>8}", format!("#{}", created.0))), "{text}");
        }
        assert!(why(&entries, "b-1").is_err() && why(&entries, "#99").is_err() && why(&entries, "#x").is_err());
    }

    #[test]
    fn a_cause_that_is_no_longer_in_the_log_is_named() {
        let recorder = Recorder::ring(1);
        let first = recorder.record("x", Stage::QueueAdd, || Detail::about("a/b")).unwrap();
        let last = recorder.record("x", Stage::QueueGet, || Detail::about("a/b").caused_by([first])).unwrap();
        let text = why(&recorder.entries(EntryId(0)), &format!("#{}", last.0)).unwrap();
        assert!(text.ends_with(&format!("what caused that, #{}, is not in the log\n", first.0)), "{text}");
    }
}
