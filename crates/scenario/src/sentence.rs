use coracle_journal::{Entry, Stage};
use serde_json::Value;

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
        Stage::WebhookCall => format!("calls {subject}"),
        Stage::WebhookAnswer => match word(entry, "error") {
            error if error.is_empty() => format!("is answered by {subject}"),
            error => format!("gets no use of {subject}: {error}"),
        },
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
        Stage::SyncStart => format!("sync of {subject}"),
        Stage::SyncWaitStale if has("gone") => {
            format!(
                "waits: the cache of {} still shows {}, which it has deleted",
                word(entry, "kind"),
                word(entry, "gone")
            )
        }
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
            let (read, error) = (suffix(", having read ", &reads(entry)), suffix(": ", &word(entry, "error")));
            format!("sync of {subject} ends: {}{read}{error}", word(entry, "result"))
        }
        Stage::SchedulerPick => match word(entry, "node") {
            node if node.is_empty() => format!("finds no node for {subject}: {}", word(entry, "why")),
            node => format!("picks {node} for {subject}"),
        },
        Stage::KubeletTransition => format!("{subject} goes from {} to {}", word(entry, "from"), word(entry, "to")),
        Stage::KubeletVolume => {
            let (step, volume) = (word(entry, "step"), word(entry, "volume"));
            format!("{step} of {volume} for {subject}{}", suffix(": ", &word(entry, "error")))
        }
        Stage::StepStart => format!("step: {}", word(entry, "name")),
        Stage::StepEnd => format!("step is over: {}", word(entry, "name")),
        Stage::CheckPass => format!("holds: {}", word(entry, "name")),
        Stage::CheckFail => format!("does not hold: {}", word(entry, "name")),
        Stage::ComponentStart => "starts".to_owned(),
        Stage::ComponentStop => "stops".to_owned(),
    }
}

fn reads(entry: &Entry) -> String {
    let Some(Value::Object(reads)) = entry.data.get("reads") else { return String::new() };
    reads.iter().map(|(kind, revision)| format!("{kind} at {}", plain(revision))).collect::<Vec<_>>().join(", ")
}

pub(crate) fn past(op: &str) -> String {
    match op {
        "create" => "creates".to_owned(),
        "put" => "updates".to_owned(),
        "delete" => "removes".to_owned(),
        other => other.to_owned(),
    }
}

pub(crate) fn suffix(before: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{before}{text}") }
}

pub(crate) fn word(entry: &Entry, name: &str) -> String {
    entry.data.get(name).map(plain).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
