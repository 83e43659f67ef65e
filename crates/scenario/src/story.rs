use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use coracle_journal::{Entry, EntryId, Stage};
use serde_json::Value;

/// Why there is no story to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingToTell {
    /// The log holds no deletion to start from.
    #[error("the log holds no deletion; name an object, as in `pods/default/web-1`")]
    NoDeletion,
    /// Nothing in the log is about the object.
    #[error("nothing in the log is about `{0}`")]
    UnknownObject(String),
}

/// Tells what happened between a write and the last write that it led to, as far as the log's causes say so.
///
/// Without `about`, the story begins at the first deletion that a person or a scenario asked for; with it, at the first
/// entry about that object. Entries that led to no further write are left out, but for the syncs that found nothing to do.
///
/// ```
/// use coracle::api::core_v1::Namespace;
/// use coracle::journal::{EntryId, Recorder};
/// use coracle::meta::Resource;
/// use coracle::runtime::{Api, DeleteParams};
/// use coracle::simulation::{ClockMode, run_in};
///
/// let told = run_in(ClockMode::Virtual, async {
///     let recorder = Recorder::ring(10_000);
///     let cluster = coracle::Cluster::builder().recorder(recorder.clone()).start().await.unwrap();
///     let mut shop = Namespace::default();
///     shop.metadata.name = Some("shop".to_owned());
///     let namespaces = Api::<Namespace>::of(&cluster.api_client());
///     namespaces.create(&shop).await.unwrap();
///     namespaces.delete(&shop.key(), &DeleteParams::default()).await.unwrap();
///     tokio::time::sleep(std::time::Duration::from_secs(10)).await;
///     coracle::scenario::story(&recorder.entries(EntryId(0)), None).unwrap()
/// });
/// assert!(told.unwrap().contains("kubernetes-admin asks to delete namespaces/shop"));
/// ```
pub fn story(entries: &[Entry], about: Option<&str>) -> Result<String, NothingToTell> {
    let start = beginning(entries, about)?;
    let told = on_the_way(entries, start);
    let origin = entries.iter().find(|entry| entry.id == start).map_or_else(Default::default, |entry| entry.at);
    let mut text = String::new();
    let mut revision = None;
    for entry in entries.iter().filter(|entry| told.contains(&entry.id)) {
        if entry.stage == Stage::StoreCommit && entry.revision != revision {
            revision = entry.revision;
            text.push('\n');
        }
        let millis = entry.at.saturating_sub(origin).as_secs_f64() * 1000.0;
        let at = entry.revision.map_or(String::new(), |revision| revision.to_string());
        let _ = writeln!(text, "{millis:>10.1} ms  {at:>5}  {:<34} {}", entry.actor, sentence(entry));
    }
    let _ = write!(text, "\n{}", summary(entries, &told));
    Ok(format!("      time     rev  {:<34} what\n{text}", "who"))
}

fn beginning(entries: &[Entry], about: Option<&str>) -> Result<EntryId, NothingToTell> {
    if let Some(subject) = about {
        let names = |entry: &&Entry| entry.subject == subject || entry.subject.ends_with(&format!("/{subject}"));
        return entries
            .iter()
            .find(names)
            .map(|entry| entry.id)
            .ok_or_else(|| NothingToTell::UnknownObject(subject.to_owned()));
    }
    entries
        .iter()
        .find(|entry| entry.stage == Stage::ApiRequest && word(entry, "verb") == "delete" && entry.causes.is_empty())
        .map(|entry| entry.id)
        .ok_or(NothingToTell::NoDeletion)
}

/// The entries that follow from `start` and lead to a commit, or are a sync that ended.
fn on_the_way(entries: &[Entry], start: EntryId) -> BTreeSet<EntryId> {
    let mut after = BTreeSet::from([start]);
    for entry in entries.iter().filter(|entry| entry.id > start) {
        if entry.causes.iter().any(|cause| after.contains(cause)) {
            after.insert(entry.id);
        }
    }
    let by_id: BTreeMap<EntryId, &Entry> = entries.iter().map(|entry| (entry.id, entry)).collect();
    let mut told = BTreeSet::new();
    let mut open: Vec<EntryId> = after
        .iter()
        .copied()
        .filter(|id| {
            matches!(
                by_id[id].stage,
                Stage::StoreCommit | Stage::SyncEnd | Stage::SchedulerPick | Stage::KubeletTransition
            )
        })
        .collect();
    while let Some(id) = open.pop() {
        if after.contains(&id) && told.insert(id) {
            open.extend(by_id[&id].causes.iter().copied());
        }
    }
    told
}

/// What an entry says, as a sentence.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Recorder, Stage};
/// use coracle_scenario::sentence;
///
/// let recorder = Recorder::ring(10);
/// recorder.record("program", Stage::QueueGet, || Detail::about("default/web"));
/// assert_eq!(sentence(&recorder.entries(EntryId(0))[0]), "a worker takes the key default/web");
/// ```
pub fn sentence(entry: &Entry) -> String {
    let subject = &entry.subject;
    let has = |name: &str| entry.data.contains_key(name);
    match entry.stage {
        Stage::ApiRequest => {
            let part = suffix("/", &word(entry, "subresource"));
            format!("{} asks to {} {subject}{part}", word(entry, "user"), word(entry, "verb"))
        }
        Stage::ApiRespond => format!("answers {} {}", word(entry, "code"), word(entry, "reason")).trim_end().to_owned(),
        Stage::StoreCommit => format!("{} {subject}", past(&word(entry, "op"))),
        Stage::WatchSend => format!("sends {} {subject} to {}", word(entry, "type"), word(entry, "watcher")),
        Stage::WatchExpired => format!("ends the watch: {}", word(entry, "why")),
        Stage::ReflectorList => format!("lists {}: {}", word(entry, "kind"), word(entry, "why")),
        Stage::ReflectorWatch => format!("watches {}", word(entry, "kind")),
        Stage::FifoAdd => format!("queues the delta {} {subject}", word(entry, "type")),
        Stage::FifoPop => format!("takes the delta {} {subject}", word(entry, "type")),
        Stage::CacheApply => format!("the cache now shows {subject} at {}", entry.revision.unwrap_or_default()),
        Stage::HandlerCall => format!("the handler is told {} {subject}", word(entry, "notification")),
        Stage::QueueAdd => format!("the key {subject} is {}", word(entry, "how")),
        Stage::QueueDelay => format!("the key {subject} comes back later: {}", word(entry, "why")),
        Stage::QueueGet => format!("a worker takes the key {subject}"),
        Stage::QueueDone => format!("the worker gives the key {subject} back"),
        Stage::SyncStart => match has("reads") {
            true => format!("sync of {subject}, reading {}", reads(entry)),
            false => format!("sync of {subject}"),
        },
        Stage::SyncWaitStale => format!(
            "waits: the cache of {} has not seen its own write at {}",
            word(entry, "kind"),
            word(entry, "needs")
        ),
        Stage::SyncWrite => match has("precondition") {
            true => format!("writes: {} {subject}, only if {}", word(entry, "verb"), word(entry, "precondition")),
            false => format!("writes: {} {subject}", word(entry, "verb")),
        },
        Stage::SyncEnd => {
            format!("sync of {subject} ends: {}{}", word(entry, "result"), suffix(": ", &word(entry, "error")))
        }
        Stage::SchedulerPick => match word(entry, "node") {
            node if node.is_empty() => format!("finds no node for {subject}: {}", word(entry, "why")),
            node => format!("picks {node} for {subject}"),
        },
        Stage::KubeletTransition => format!("{subject} goes from {} to {}", word(entry, "from"), word(entry, "to")),
        Stage::StepStart => format!("step: {}", word(entry, "name")),
        Stage::StepEnd => format!("step is over: {}", word(entry, "name")),
        Stage::CheckPass => format!("holds: {}", word(entry, "name")),
        Stage::CheckFail => format!("does not hold: {}", word(entry, "name")),
        Stage::ComponentStart => "starts".to_owned(),
        Stage::ComponentStop => "stops".to_owned(),
    }
}

fn summary(entries: &[Entry], told: &BTreeSet<EntryId>) -> String {
    let count = |stage: Stage| entries.iter().filter(|entry| told.contains(&entry.id) && entry.stage == stage).count();
    let (commits, syncs) = (count(Stage::StoreCommit), count(Stage::SyncEnd));
    format!("{commits} writes, {syncs} syncs; {} of {} entries of the log are on the way\n", told.len(), entries.len())
}

fn reads(entry: &Entry) -> String {
    let Some(Value::Object(reads)) = entry.data.get("reads") else { return String::new() };
    reads.iter().map(|(kind, revision)| format!("{kind} at {}", plain(revision))).collect::<Vec<_>>().join(", ")
}

fn past(op: &str) -> String {
    match op {
        "create" => "creates".to_owned(),
        "put" => "updates".to_owned(),
        "delete" => "removes".to_owned(),
        other => other.to_owned(),
    }
}

fn suffix(before: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{before}{text}") }
}

fn word(entry: &Entry, name: &str) -> String {
    entry.data.get(name).map(plain).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
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
        assert!(unseen < cache);
        recorder.entries(EntryId(0))
    }

    #[test]
    fn the_story_runs_from_the_deletion_to_the_replacement_and_leaves_out_what_led_nowhere() {
        let text = story(&log(), None).unwrap();
        let actors: Vec<&str> =
            text.lines().skip(1).filter_map(|line| line.get(21..)?.split_whitespace().next()).collect();
        assert_eq!(
            actors,
            ["apiserver", "store", "cm/replicaset", "cm/replicaset", "cm/replicaset", "cm/replicaset", "store", "of"]
        );
        assert!(text.contains("2 writes"), "{text}");
        assert!(!text.contains("other"), "{text}");
    }

    #[test]
    fn an_object_that_the_log_does_not_know_has_no_story() {
        assert_eq!(
            story(&log(), Some("pods/default/zzz")),
            Err(NothingToTell::UnknownObject("pods/default/zzz".into()))
        );
        assert_eq!(story(&[], None), Err(NothingToTell::NoDeletion));
    }
}
