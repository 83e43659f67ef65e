use coracle_journal::Entry;

use crate::sentence::sentence;
use crate::struck::{MARK, is_fault};

/// How the columns of a chain or a story are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Below each other, in lines of more than a hundred letters.
    #[default]
    Aligned,
    /// One after the other with two spaces between them, for narrow screens.
    Narrow,
}

impl Columns {
    /// The line over the steps of a story.
    pub(crate) fn head_of_steps(self) -> String {
        match self {
            Self::Aligned => format!("      time     rev  {:<34} what", "who"),
            Self::Narrow => "time  rev  who  what".to_owned(),
        }
    }

    /// A step of a story: the milliseconds since its beginning, the entry's revision, who did it, and what.
    pub(crate) fn step(self, millis: f64, entry: &Entry, actor: &str, what: &str) -> String {
        let revision = revision(entry);
        match self {
            Self::Aligned => format!("{millis:>10.1} ms  {revision:>5}  {actor:<34} {what}"),
            Self::Narrow => narrow(&[&format!("{millis:.1} ms"), &revision, actor, what]),
        }
    }

    /// An entry: its number, time, revision, actor and sentence.
    pub(crate) fn entry(self, entry: &Entry) -> String {
        let millis = entry.at.as_secs_f64() * 1000.0;
        let (id, revision) = (format!("#{}", entry.id.0), revision(entry));
        let mark = if is_fault(entry) { MARK } else { "" };
        let what = format!("{mark}{}", sentence(entry));
        match self {
            Self::Aligned => format!("{id:>8} {millis:>10.1} ms {revision:>6}  {:<34} {what}", entry.actor),
            Self::Narrow => narrow(&[&id, &format!("{millis:.1} ms"), &revision, &entry.actor, &what]),
        }
    }

    /// A note below a chain.
    pub(crate) fn note(self, text: &str) -> String {
        match self {
            Self::Aligned => format!("         {text}"),
            Self::Narrow => text.to_owned(),
        }
    }
}

fn revision(entry: &Entry) -> String {
    entry.revision.map_or(String::new(), |revision| revision.to_string())
}

fn narrow(columns: &[&str]) -> String {
    columns.iter().filter(|column| !column.is_empty()).copied().collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use coracle_journal::{Detail, EntryId, Recorder, Stage};

    use super::*;

    #[test]
    fn columns_are_aligned_or_stand_one_after_the_other_without_the_empty_ones() {
        let recorder = Recorder::ring(10);
        recorder.record("rs", Stage::QueueGet, || Detail::about("default/web"));
        recorder.record("store", Stage::StoreCommit, || Detail::about("pods/a/b").at(7).with("op", "create"));
        let entries = recorder.entries(EntryId(0));
        let millis = entries[0].at.as_secs_f64() * 1000.0;
        let (id, revision) = (entries[0].id.0, entries[1].revision.unwrap());
        assert_eq!(
            Columns::Narrow.entry(&entries[0]),
            format!("#{id}  {millis:.1} ms  rs  a worker takes the key default/web")
        );
        assert_eq!(
            Columns::Narrow.step(1.0, &entries[1], "store", "creates pods/a/b"),
            format!("1.0 ms  {revision}  store  creates pods/a/b")
        );
        assert_eq!(
            Columns::Aligned.step(1.0, &entries[1], "store", "creates pods/a/b"),
            format!("       1.0 ms  {revision:>5}  {:<34} creates pods/a/b", "store")
        );
    }
}
