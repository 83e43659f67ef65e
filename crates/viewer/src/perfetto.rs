use std::collections::BTreeMap;

use coracle_journal::{Entry, EntryId, Events, Stage};
use serde_json::{Value, json};

use crate::sentence::{sentence, word};
use crate::summary::nanos;

/// A trace in the JSON format of ui.perfetto.dev: a process for each component, a track for each of its parts and
/// workers, a slice for each entry (with the duration of the sync, for a sync), and a flow for each cause.
pub(crate) fn render(events: &Events) -> String {
    let tracks = Tracks::of(&events.entries);
    let ends: BTreeMap<EntryId, u64> = syncs(&events.entries);
    let mut trace = tracks.names();
    for entry in events.entries.iter().filter(|entry| entry.stage != Stage::SyncEnd) {
        let (pid, tid) = tracks.of_entry(entry);
        let length = ends.get(&entry.id).map_or(1, |end| end.saturating_sub(nanos(entry)).max(1));
        let mut says = json!({"entry": entry.id, "about": entry.subject, "says": sentence(entry), "data": entry.data});
        if let Some(revision) = entry.revision {
            says["revision"] = json!(revision);
        }
        trace.push(json!({
            "ph": "X", "name": name(entry), "cat": entry.stage.word(), "pid": pid, "tid": tid,
            "ts": micros(nanos(entry)), "dur": micros(length), "args": says,
        }));
    }
    let by_id: BTreeMap<EntryId, &Entry> = events.entries.iter().map(|entry| (entry.id, entry)).collect();
    let caused = events.entries.iter().flat_map(|entry| entry.causes.iter().map(move |cause| (*cause, entry)));
    let shown = |entry: &Entry| entry.stage != Stage::SyncEnd;
    let flows = caused.filter_map(|(cause, entry)| Some((*by_id.get(&cause)?, entry)));
    for (number, (cause, entry)) in flows.filter(|(cause, entry)| shown(cause) && shown(entry)).enumerate() {
        for (phase, end) in [("s", cause), ("f", entry)] {
            let (pid, tid) = tracks.of_entry(end);
            let mut flow = json!({
                "ph": phase, "name": "causes", "cat": "causes", "id": number, "pid": pid, "tid": tid,
                "ts": micros(nanos(end)),
            });
            if phase == "f" {
                flow["bp"] = json!("e");
            }
            trace.push(flow);
        }
    }
    json!({"displayTimeUnit": "ns", "traceEvents": trace, "otherData": events.header}).to_string()
}

fn name(entry: &Entry) -> String {
    match entry.stage {
        Stage::SyncStart => format!("sync {}", entry.subject),
        Stage::StoreCommit => format!("{} {}", word(entry, "op"), entry.subject),
        Stage::StepStart | Stage::CheckPass | Stage::CheckFail => word(entry, "name"),
        stage => format!("{stage} {}", entry.subject).trim_end().to_owned(),
    }
}

/// When each sync ended.
fn syncs(entries: &[Entry]) -> BTreeMap<EntryId, u64> {
    let ended = entries.iter().filter(|entry| entry.stage == Stage::SyncEnd);
    ended.flat_map(|entry| entry.causes.iter().map(move |cause| (*cause, nanos(entry)))).collect()
}

/// Perfetto counts in microseconds.
fn micros(nanos: u64) -> Value {
    json!(nanos as f64 / 1e3)
}

/// Where each entry is drawn.
#[derive(Default)]
struct Tracks {
    processes: BTreeMap<String, usize>,
    threads: BTreeMap<(String, String), usize>,
    /// The thread of each sync; the writes of a sync are drawn there.
    syncs: BTreeMap<EntryId, String>,
}

impl Tracks {
    fn of(entries: &[Entry]) -> Self {
        let mut tracks = Self::default();
        for entry in entries {
            if entry.stage == Stage::SyncStart {
                let worker = word(entry, "worker");
                let thread = if worker.is_empty() { entry.actor.clone() } else { format!("{} #{worker}", entry.actor) };
                tracks.syncs.insert(entry.id, thread);
            }
            let (process, thread) = tracks.place(entry);
            let next = tracks.processes.len() + 1;
            tracks.processes.entry(process.clone()).or_insert(next);
            let next = tracks.threads.len() + 1;
            tracks.threads.entry((process, thread)).or_insert(next);
        }
        tracks
    }

    fn place(&self, entry: &Entry) -> (String, String) {
        let process = entry.actor.split('/').next().unwrap_or_default().to_owned();
        let of_sync = self.syncs.get(&entry.id).or_else(|| match entry.stage {
            Stage::SyncWrite => entry.causes.iter().find_map(|cause| self.syncs.get(cause)),
            _ => None,
        });
        (process, of_sync.unwrap_or(&entry.actor).clone())
    }

    fn of_entry(&self, entry: &Entry) -> (usize, usize) {
        let (process, thread) = self.place(entry);
        (self.processes[&process], self.threads[&(process, thread)])
    }

    fn names(&self) -> Vec<Value> {
        let processes = self
            .processes
            .iter()
            .map(|(name, pid)| json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}));
        let threads = self.threads.iter().map(|((process, name), tid)| {
            json!({"ph": "M", "name": "thread_name", "pid": self.processes[process], "tid": tid, "args": {"name": name}})
        });
        processes.chain(threads).collect()
    }
}
