use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use coracle_journal::{Entry, EntryId, Stage};

use crate::NotInLog;
use crate::changed::changed;
use crate::columns::Columns;
use crate::find::{find, names, unknown_object};
use crate::sentence::{sentence, word};
use crate::steps::Steps;
use crate::struck::{MARK, faults_between, is_fault};

/// The level of detail of a story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// One line per step of `docs/walk.md`: the write, the watchers that receive it, the sync, the pick, the pod's
    /// transition.
    #[default]
    Steps,
    /// Every entry of the log that is part of the story.
    Everything,
}

/// Describes what happened between a write and the last write that it caused, as far as the log records causes.
///
/// Without `about`, the story begins at the first deletion that a user or a scenario requested. With it, the story
/// begins at the first entry about that object. Entries that caused no further write are left out, except syncs that
/// found nothing to do. Faults that applied between the two writes are part of it, after `!!`.
///
/// ```
/// use coracle::api::core_v1::Namespace;
/// use coracle::journal::{EntryId, Recorder};
/// use coracle::meta::Resource;
/// use coracle::runtime::{Api, DeleteParams};
/// use coracle::viewer::{Columns, Telling, story};
/// use coracle::simulation::{ClockMode, run_in};
///
/// let story = run_in(ClockMode::Virtual, async {
///     let recorder = Recorder::ring(10_000);
///     let cluster = coracle::Cluster::builder().recorder(recorder.clone()).start().await.unwrap();
///     let mut shop = Namespace::default();
///     shop.metadata.name = Some("shop".to_owned());
///     let namespaces = Api::<Namespace>::of(&cluster.api_client());
///     namespaces.create(&shop).await.unwrap();
///     namespaces.delete(&shop.key(), &DeleteParams::default()).await.unwrap();
///     tokio::time::sleep(std::time::Duration::from_secs(10)).await;
///     story(&recorder.entries(EntryId(0)), None, Telling::Steps, Columns::Aligned).unwrap()
/// });
/// assert!(story.unwrap().contains("kubernetes-admin asks to delete namespaces/shop"));
/// ```
pub fn story(entries: &[Entry], about: Option<&str>, telling: Telling, columns: Columns) -> Result<String, NotInLog> {
    let start = beginning(entries, about)?;
    let selected = on_the_way(entries, start);
    let last = selected.last().copied().unwrap_or(start);
    let faults: BTreeSet<EntryId> = faults_between(entries, start, last).iter().map(|fault| fault.id).collect();
    let origin = entries.iter().find(|entry| entry.id == start).map_or_else(Default::default, |entry| entry.at);
    let mut text = format!("{}\n", columns.head_of_steps());
    let mut revision = None;
    let mut tell = |entry: &Entry, actor: &str, what: &str| {
        if telling == Telling::Everything && entry.stage == Stage::StoreCommit && entry.revision != revision {
            revision = entry.revision;
            text.push('\n');
        }
        let millis = entry.at.saturating_sub(origin).as_secs_f64() * 1000.0;
        let changes = changed(entries, entry).map(|changed| format!(" (changes {changed})")).unwrap_or_default();
        let _ = writeln!(text, "{}", columns.step(millis, entry, actor, &format!("{what}{changes}")));
    };
    let on_the_way = || entries.iter().filter(|entry| selected.contains(&entry.id) || faults.contains(&entry.id));
    match telling {
        Telling::Everything => on_the_way().for_each(|entry| {
            let mark = if is_fault(entry) { MARK } else { "" };
            tell(entry, &entry.actor, &format!("{mark}{}", sentence(entry)));
        }),
        Telling::Steps => {
            Steps::of(on_the_way().collect()).each(|entry, actor, what| tell(entry, actor, what));
        }
    }
    let _ = write!(text, "\n{}", summary(entries, &selected));
    Ok(text)
}

fn beginning(entries: &[Entry], about: Option<&str>) -> Result<EntryId, NotInLog> {
    if let Some(subject) = about {
        if subject.starts_with('#') || subject.starts_with("rev=") {
            return find(entries, subject);
        }
        let first = entries.iter().find(|entry| names(&entry.subject, subject));
        return first.map(|entry| entry.id).ok_or_else(|| unknown_object(entries, subject));
    }
    entries
        .iter()
        .find(|entry| entry.stage == Stage::ApiRequest && word(entry, "verb") == "delete" && entry.causes.is_empty())
        .map(|entry| entry.id)
        .ok_or(NotInLog::NoDeletion)
}

/// The entries that `start` caused and that caused a commit, or are a sync that ended.
fn on_the_way(entries: &[Entry], start: EntryId) -> BTreeSet<EntryId> {
    let mut after = BTreeSet::from([start]);
    for entry in entries.iter().filter(|entry| entry.id > start) {
        if entry.causes.iter().any(|cause| after.contains(cause)) {
            after.insert(entry.id);
        }
    }
    let by_id: BTreeMap<EntryId, &Entry> = entries.iter().map(|entry| (entry.id, entry)).collect();
    let mut selected = BTreeSet::new();
    let mut open: Vec<EntryId> = after
        .iter()
        .copied()
        .filter(|id| {
            matches!(
                by_id[id].stage,
                Stage::StoreCommit
                    | Stage::SyncEnd
                    | Stage::SchedulerPick
                    | Stage::KubeletTransition
                    | Stage::KubeletVolume
            )
        })
        .collect();
    while let Some(id) = open.pop() {
        if after.contains(&id) && selected.insert(id) {
            open.extend(by_id[&id].causes.iter().copied());
        }
    }
    selected
}

fn summary(entries: &[Entry], selected: &BTreeSet<EntryId>) -> String {
    let count =
        |stage: Stage| entries.iter().filter(|entry| selected.contains(&entry.id) && entry.stage == stage).count();
    let (commits, syncs) = (count(Stage::StoreCommit), count(Stage::SyncEnd));
    format!(
        "{commits} writes, {syncs} syncs; {} of {} entries of the log are on the way\n",
        selected.len(),
        entries.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, Recorder};

    fn log() -> Vec<Entry> {
        let recorder = Recorder::ring(100);
        let say = |actor: &str, stage, detail: Detail| recorder.record(actor, stage, || detail).unwrap();
        let old = say("store", Stage::StoreCommit, Detail::about("pods/default/old").at(40).with("op", "create"));
        let ask = say(
            "apiserver",
            Stage::ApiRequest,
            Detail::about("pods/default/a").with("verb", "delete").with("user", "admin"),
        );
        let commit =
            say("store", Stage::StoreCommit, Detail::about("pods/default/a").at(41).with("op", "put").caused_by([ask]));
        let unseen = say("other", Stage::CacheApply, Detail::about("pods/default/a").at(41).caused_by([commit]));
        let cache = say("cm/replicaset", Stage::CacheApply, Detail::about("pods/default/a").at(41).caused_by([commit]));
        let add = say(
            "cm/replicaset",
            Stage::QueueAdd,
            Detail::about("default/web").with("how", "queued").caused_by([cache, old]),
        );
        let sync = say("cm/replicaset", Stage::SyncStart, Detail::about("default/web").caused_by([add]));
        let write = say(
            "cm/replicaset",
            Stage::SyncWrite,
            Detail::about("pods/default/web-").with("verb", "create").caused_by([sync]),
        );
        say(
            "store",
            Stage::StoreCommit,
            Detail::about("pods/default/b").at(42).with("op", "create").caused_by([write]),
        );
        let end = Detail::about("default/web").with("decided", "want 1, see 0: create 1").caused_by([sync]);
        say("cm/replicaset", Stage::SyncEnd, end);
        assert!(unseen < cache);
        recorder.entries(EntryId(0))
    }

    #[test]
    fn the_story_runs_from_the_deletion_to_the_replacement_and_leaves_out_what_led_nowhere() {
        let text = story(&log(), None, Telling::Everything, Columns::Aligned).unwrap();
        let actors: Vec<&str> =
            text.lines().skip(1).filter_map(|line| line.get(21..)?.split_whitespace().next()).collect();
        assert_eq!(
            actors,
            [
                "apiserver",
                "store",
                "cm/replicaset",
                "cm/replicaset",
                "cm/replicaset",
                "cm/replicaset",
                "store",
                "cm/replicaset",
                "of"
            ]
        );
        assert!(text.contains("2 writes"), "{text}");
        assert!(!text.contains("other"), "{text}");
    }

    #[test]
    fn in_steps_the_story_is_who_asked_what_was_written_and_which_sync_wrote_deciding_what() {
        let text = story(&log(), None, Telling::Steps, Columns::Aligned).unwrap();
        let selected: Vec<&str> = text.lines().skip(1).filter_map(|line| line.get(21..)).collect();
        let selected: Vec<String> =
            selected.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            selected[..4],
            [
                "apiserver admin asks to delete pods/default/a",
                "store updates pods/default/a, for admin",
                "cm/replicaset sync of default/web decides: want 1, see 0: create 1",
                "store creates pods/default/b",
            ]
        );
    }

    #[test]
    fn a_story_marks_the_faults_that_applied_on_its_way() {
        let recorder = Recorder::ring(100);
        let say = |actor: &str, stage, detail: Detail| recorder.record(actor, stage, || detail).unwrap();
        let ask = Detail::about("pods/default/a").with("verb", "delete").with("user", "admin");
        let ask = say("apiserver", Stage::ApiRequest, ask);
        let fault = Detail::about("pods/default/a").with("fault", "lose: answer").caused_by([ask]);
        say("wire", Stage::FaultOn, fault);
        let commit = Detail::about("pods/default/a").at(41).with("op", "put").caused_by([ask]);
        say("store", Stage::StoreCommit, commit);
        say("wire", Stage::FaultOn, Detail::about("pods").with("fault", "later"));
        for telling in [Telling::Steps, Telling::Everything] {
            let text = story(&recorder.entries(EntryId(0)), None, telling, Columns::Aligned).unwrap();
            let marked: Vec<&str> =
                text.lines().filter_map(|line| line.split_once("!! ")).map(|(_, what)| what).collect();
            assert_eq!(marked, ["lose: answer of pods/default/a begins"], "{text}");
        }
        let chain = crate::why::why(&recorder.entries(EntryId(0)), "rev=41", Columns::Aligned).unwrap();
        let lines: Vec<bool> = chain.lines().map(|line| line.contains("!! ")).collect();
        assert_eq!(lines, [false, true, false], "{chain}");
    }

    #[test]
    fn an_object_that_the_log_does_not_know_has_no_story() {
        assert_eq!(
            story(&log(), Some("pods/default/zzz"), Telling::Steps, Columns::Aligned),
            Err(NotInLog::UnknownObject { object: "pods/default/zzz".into(), nearest: Some("pods/default/a".into()) })
        );
        assert_eq!(story(&[], None, Telling::Steps, Columns::Aligned), Err(NotInLog::NoDeletion));
    }
}
