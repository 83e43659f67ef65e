//! The first entry in which two runs of a scenario in two releases differ.

use std::time::Duration;

use coracle_journal::{Entry, EntryId};

/// The first entries that differ, given those of each run from its first step on; `None` for a run that has ended there,
/// and for equal runs.
///
/// Two entries are equal if the time since the first step, the actor, the stage and the subject are. Numbers of entries,
/// revisions and data do not count: they differ from the beginning, because each release has its own default objects.
pub(crate) fn first_difference(run: &[Entry], contrast: &[Entry]) -> [Option<EntryId>; 2] {
    let begin = |entries: &[Entry]| entries.first().map_or(Duration::ZERO, |entry| entry.at);
    let (run_begin, contrast_begin) = (begin(run), begin(contrast));
    let is_same = |(one, other): &(&Entry, &Entry)| {
        one.at.checked_sub(run_begin) == other.at.checked_sub(contrast_begin)
            && (&one.actor, one.stage, &one.subject) == (&other.actor, other.stage, &other.subject)
    };
    let same = run.iter().zip(contrast).take_while(is_same).count();
    [run, contrast].map(|entries| entries.get(same).map(|entry| entry.id))
}

#[cfg(test)]
mod tests {
    use coracle_journal::{Detail, Recorder, Stage};

    use super::*;

    fn run(first: usize, subjects: &[&str]) -> Vec<Entry> {
        let recorder = Recorder::ring(100);
        for _ in 0..first {
            recorder.record("store", Stage::StoreCommit, Detail::default);
        }
        for subject in subjects {
            recorder.record("controller-manager/a", Stage::SyncStart, || Detail::about(*subject));
        }
        let mut entries = recorder.entries(EntryId(0)).split_off(first);
        entries.iter_mut().for_each(|entry| entry.at = Duration::from_secs(first as u64));
        entries
    }

    #[test]
    fn the_first_other_subject_differs_and_what_came_before_the_steps_does_not() {
        let (one, other) = (run(2, &["a", "b", "c"]), run(5, &["a", "x", "c"]));
        assert_eq!(first_difference(&one, &other), [Some(one[1].id), Some(other[1].id)]);
        assert_eq!(first_difference(&one, &one[..2]), [Some(one[2].id), None]);
        assert_eq!(first_difference(&one, &run(3, &["a", "b", "c"])), [None, None]);
    }

    #[test]
    fn a_later_moment_differs() {
        let (one, mut other) = (run(0, &["a", "b"]), run(0, &["a", "b"]));
        other[1].at += Duration::from_millis(1);
        assert_eq!(first_difference(&one, &other), [Some(one[1].id), Some(other[1].id)]);
    }
}
