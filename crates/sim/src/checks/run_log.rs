use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_journal::{Entry, EntryId, Stage};
use coracle_schema::patch::merge_patch;
use serde_json::{Map, Value};

/// The stages that a [`RunLog`] is made of.
pub const STAGES: [Stage; 6] = [
    Stage::ApiRequest,
    Stage::ApiRespond,
    Stage::AdmissionRefuse,
    Stage::StoreCommit,
    Stage::ObjectChange,
    Stage::ComponentStop,
];

/// The requests and the writes of a run, from its event log.
///
/// The event log names objects by resource, namespace and name. So two groups with the same plural must not be in one run.
#[derive(Clone, Debug, Default)]
pub struct RunLog {
    /// The requests that reached the API server, in order.
    pub requests: Vec<LoggedRequest>,
    /// The changes of objects, in order.
    pub writes: Vec<LoggedWrite>,
    /// The ends of components.
    pub stops: Vec<LoggedStop>,
    /// The time of the last entry.
    pub end: Duration,
}

/// A request.
#[derive(Clone, Debug)]
pub struct LoggedRequest {
    /// Its entry.
    pub entry: EntryId,
    /// When it reached the API server.
    pub at: Duration,
    /// Who sent it.
    pub user: Arc<str>,
    /// The verb.
    pub verb: Arc<str>,
    /// The object, or the resource.
    pub subject: String,
    /// The subresource; may be empty.
    pub subresource: String,
    /// The audit id.
    pub audit_id: String,
    /// The status code of the answer; `None` if there is no answer.
    pub code: Option<u16>,
    /// Why it was refused: the message of an admission plug-in, or the reason of the answer; empty if it was not refused.
    pub refusal: String,
    /// Whether it was a dry run.
    pub is_dry_run: bool,
    /// Whether it changed a revision.
    pub has_committed: bool,
}

/// A change of an object.
#[derive(Clone, Debug)]
pub struct LoggedWrite {
    /// The entry of the change.
    pub entry: EntryId,
    /// When it was committed.
    pub at: Duration,
    /// The revision.
    pub revision: i64,
    /// The index of its request; `None` for a write without one.
    pub request: Option<usize>,
    /// The object: `configmaps/default/a`.
    pub subject: String,
    /// The object before; `None` if it was created.
    pub before: Option<Arc<Value>>,
    /// The object after; `None` if it was removed.
    pub after: Option<Arc<Value>>,
}

/// The end of an instance of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedStop {
    /// Its entry.
    pub entry: EntryId,
    /// The component.
    pub component: String,
    /// Why: `asked`, `killed`, or the text of a panic or an exit.
    pub why: String,
}

impl LoggedRequest {
    /// The plural of the resource.
    pub fn resource(&self) -> &str {
        resource(&self.subject)
    }
}

/// The plural of the resource in a subject.
fn resource(subject: &str) -> &str {
    subject.split('/').next().unwrap_or_default()
}

impl LoggedWrite {
    /// The plural of the resource.
    pub fn resource(&self) -> &str {
        resource(&self.subject)
    }

    /// What it does to the object: `creates`, `changes` or `removes`.
    pub fn act(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "creates",
            (Some(_), Some(_)) => "changes",
            (Some(_), None) => "removes",
        }
    }

    /// The object after the write, or before it if it was removed.
    pub fn object(&self) -> Option<&Value> {
        self.after.as_deref().or(self.before.as_deref())
    }

    /// The uid of the object.
    pub fn uid(&self) -> &str {
        self.object().map_or("", |object| text(object, "/metadata/uid"))
    }

    /// Whether the object records that something is alive, or that something happened: a Lease or an Event.
    pub fn is_record(&self) -> bool {
        self.object().is_some_and(is_record)
    }
}

/// Whether an object records that something is alive, or that something happened: a Lease or an Event.
pub(super) fn is_record(object: &Value) -> bool {
    matches!(text(object, "/kind"), "Lease" | "Event")
}

/// The value at a JSON pointer without array indices and escapes. Unlike [`Value::pointer`], which copies each name.
pub(super) fn at<'v>(object: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(object, |value, name| value.get(name))
}

/// The text at a JSON pointer, or an empty one.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

fn word<'e>(data: &'e Map<String, Value>, name: &str) -> &'e str {
    data.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl RunLog {
    /// Reads entries of a log, in order. Entries of other stages than [`STAGES`] are ignored.
    pub fn of(entries: &[Entry]) -> Self {
        let mut reader = Reader::default();
        entries.iter().for_each(|entry| reader.read(entry));
        reader.log
    }

    /// The objects that exist before a run begins, from entries that record them.
    pub(crate) fn before_a_run(entries: &[Entry]) -> Self {
        let mut log = Self::of(entries);
        for write in &mut log.writes {
            (write.entry, write.at) = (EntryId(0), Duration::ZERO);
        }
        Self { writes: log.writes, ..Self::default() }
    }

    /// Reads the entries of a run that begins with the objects of this log.
    #[must_use]
    pub fn continued(self, entries: &[Entry]) -> Self {
        let there =
            self.writes.iter().filter_map(|write| Some((write.subject.clone(), Arc::clone(write.after.as_ref()?))));
        let objects = there.collect();
        let mut reader = Reader { objects, log: self, ..Reader::default() };
        entries.iter().for_each(|entry| reader.read(entry));
        reader.log
    }

    /// The request of a write.
    pub fn request_of(&self, write: &LoggedWrite) -> Option<&LoggedRequest> {
        self.requests.get(write.request?)
    }

    /// The writes of a user, in order.
    pub fn writes_of<'l>(&'l self, user: &'l str) -> impl Iterator<Item = &'l LoggedWrite> {
        self.writes.iter().filter(move |write| self.request_of(write).is_some_and(|request| *request.user == *user))
    }

    /// The objects that exist after an entry, with the last write of each.
    pub fn objects_at(&self, entry: EntryId) -> BTreeMap<&str, &LoggedWrite> {
        let mut objects = BTreeMap::new();
        for write in self.writes.iter().take_while(|write| write.entry <= entry) {
            match write.after {
                Some(_) => objects.insert(write.subject.as_str(), write),
                None => objects.remove(write.subject.as_str()),
            };
        }
        objects
    }
}

#[derive(Default)]
struct Reader {
    log: RunLog,
    /// The requests, by their entries.
    requests: BTreeMap<EntryId, usize>,
    /// The commits: the revision, and the index of the request.
    commits: BTreeMap<EntryId, Commit>,
    objects: BTreeMap<String, Arc<Value>>,
}

#[derive(Clone, Copy)]
struct Commit {
    revision: i64,
    request: Option<usize>,
}

impl Reader {
    fn read(&mut self, entry: &Entry) {
        self.log.end = entry.at;
        match entry.stage {
            Stage::ApiRequest => self.request(entry),
            Stage::ApiRespond => self.answer(entry),
            Stage::AdmissionRefuse => self.refusal(entry),
            Stage::StoreCommit => self.commit(entry),
            Stage::ObjectChange => self.change(entry),
            Stage::ComponentStop => self.log.stops.push(LoggedStop {
                entry: entry.id,
                component: entry.actor.clone(),
                why: word(&entry.data, "why").to_owned(),
            }),
            _ => {}
        }
    }

    fn request(&mut self, entry: &Entry) {
        self.requests.insert(entry.id, self.log.requests.len());
        self.log.requests.push(LoggedRequest {
            entry: entry.id,
            at: entry.at,
            user: word(&entry.data, "user").into(),
            verb: word(&entry.data, "verb").into(),
            subject: entry.subject.clone(),
            subresource: word(&entry.data, "subresource").to_owned(),
            audit_id: word(&entry.data, "audit").to_owned(),
            code: None,
            refusal: String::new(),
            is_dry_run: entry.data.contains_key("dryRun"),
            has_committed: false,
        });
    }

    fn caused(&self, entry: &Entry) -> Option<usize> {
        entry.causes.iter().find_map(|cause| self.requests.get(cause)).copied()
    }

    fn answer(&mut self, entry: &Entry) {
        let code = entry.data.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        if let Some(request) = self.caused(entry) {
            let request = &mut self.log.requests[request];
            request.code = code;
            if request.refusal.is_empty() {
                word(&entry.data, "reason").clone_into(&mut request.refusal);
            }
        }
    }

    fn refusal(&mut self, entry: &Entry) {
        if let Some(request) = self.caused(entry) {
            self.log.requests[request].refusal = word(&entry.data, "why").to_owned();
        }
    }

    fn commit(&mut self, entry: &Entry) {
        let request = self.caused(entry);
        if let Some(request) = request {
            self.log.requests[request].has_committed = true;
        }
        self.commits.insert(entry.id, Commit { revision: entry.revision.unwrap_or_default(), request });
    }

    fn change(&mut self, entry: &Entry) {
        let before = self.objects.get(&entry.subject).cloned();
        let after = match (entry.data.get("whole"), entry.data.get("patch")) {
            (Some(whole), _) => Some(Arc::new(whole.clone())),
            (None, Some(patch)) => {
                before.as_ref().and_then(|before| merge_patch(Value::clone(before), patch.clone()).ok().map(Arc::new))
            }
            (None, None) => None,
        };
        match &after {
            Some(after) => self.objects.insert(entry.subject.clone(), Arc::clone(after)),
            None => self.objects.remove(&entry.subject),
        };
        let commit = entry.causes.iter().find_map(|cause| self.commits.get(cause)).copied();
        self.log.writes.push(LoggedWrite {
            entry: entry.id,
            at: entry.at,
            revision: commit.map_or_else(|| entry.revision.unwrap_or_default(), |commit| commit.revision),
            request: commit.and_then(|commit| commit.request),
            subject: entry.subject.clone(),
            before,
            after,
        });
    }
}
