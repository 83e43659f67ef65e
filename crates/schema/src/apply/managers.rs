use std::collections::BTreeMap;

use coracle_meta::parse_time;
use serde_json::{Map, Value, json};

use super::fields_v1;
use super::set::Set;

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagedFieldsOperation {
    /// By server-side apply: it owns the fields of its last apply.
    Apply,
    /// By any other write: it owns the fields that it changed.
    Update,
}

impl ManagedFieldsOperation {
    /// `Apply` or `Update`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What identifies an entry of `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    /// The field manager's name.
    pub name: String,
    /// How it came to own fields.
    pub operation: ManagedFieldsOperation,
    /// The version of its writes; empty for [`ManagedFieldsOperation::Apply`], which has one entry for all versions.
    pub api_version: String,
    /// The subresource through which it wrote; empty for the object itself.
    pub subresource: String,
}

impl Manager {
    /// The manager of one write. An empty name becomes `unknown`.
    pub fn new(name: &str, operation: ManagedFieldsOperation, api_version: &str, subresource: &str) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        let api_version = match operation {
            ManagedFieldsOperation::Apply => "",
            ManagedFieldsOperation::Update => api_version,
        };
        Self {
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// The manager in conflicts: `"kubectl" with subresource "status" using apps/v1`.
    pub fn text(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == ManagedFieldsOperation::Update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

/// The fields of a manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// The fields.
    pub set: Set,
    /// The version of the fields.
    pub api_version: String,
    /// When fields were last added or changed, RFC 3339.
    pub time: Option<String>,
}

/// The managers of one object and their fields: `metadata.managedFields`, decoded. In Kubernetes:
/// `fieldpath.ManagedFields`.
pub type Managers = BTreeMap<Manager, Owned>;

/// Decodes `metadata.managedFields`. Errors have Kubernetes' words.
pub fn decode(entries: Option<&Value>) -> Result<Managers, String> {
    let mut managers = Managers::new();
    for (index, entry) in entries.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("");
        let operation = match text("operation") {
            "Apply" => ManagedFieldsOperation::Apply,
            "Update" => ManagedFieldsOperation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {index}")),
        }
        let set = fields_v1::from_json(entry.get("fieldsV1").unwrap_or(&Value::Null))
            .map_err(|why| format!("error decoding set: {why}"))?;
        let mut manager = Manager::new(text("manager"), operation, text("apiVersion"), text("subresource"));
        manager.name = text("manager").to_owned();
        let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
        managers.insert(manager, Owned { set, api_version: text("apiVersion").to_owned(), time });
    }
    Ok(managers)
}

/// Encodes `metadata.managedFields`, in the order of [`sort_key`].
pub fn encode(managers: &Managers) -> Vec<Value> {
    let mut sorted: Vec<_> = managers.iter().collect();
    sorted.sort_by_key(|(manager, owned)| {
        let Manager { name, operation, subresource, .. } = manager;
        sort_key(operation.as_str(), owned.time.as_deref(), name, &owned.api_version, subresource)
    });
    sorted.into_iter().map(|(manager, owned)| encode_entry(manager, owned)).collect()
}

/// The order of entries: applies before updates, then by time, name, version and subresource.
pub(super) fn sort_key<'e>(
    operation: &'e str,
    time: Option<&str>,
    name: &'e str,
    api_version: &'e str,
    subresource: &'e str,
) -> (&'e str, i64, &'e str, &'e str, &'e str) {
    // "Apply" is before "Update".
    (operation, time.and_then(parse_time).map_or(0, |time| time.as_second()), name, api_version, subresource)
}

fn encode_entry(manager: &Manager, owned: &Owned) -> Value {
    let mut entry = Map::new();
    if !manager.name.is_empty() {
        entry.insert("manager".to_owned(), json!(manager.name));
    }
    entry.insert("operation".to_owned(), json!(manager.operation.as_str()));
    entry.insert("apiVersion".to_owned(), json!(owned.api_version));
    if let Some(time) = &owned.time {
        entry.insert("time".to_owned(), json!(time));
    }
    entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
    entry.insert("fieldsV1".to_owned(), fields_v1::to_json(&owned.set));
    if !manager.subresource.is_empty() {
        entry.insert("subresource".to_owned(), json!(manager.subresource));
    }
    Value::Object(entry)
}

/// The maximum number of updating managers with their own entry.
pub(super) const MAX_UPDATE_MANAGERS: usize = 10;

/// Merges the oldest updaters into `ancient-changes` until the limit is met.
pub(super) fn cap_updaters(managers: &mut Managers) {
    let mut updaters: Vec<_> =
        managers.keys().filter(|manager| manager.operation == ManagedFieldsOperation::Update).cloned().collect();
    let mut count = updaters.len();
    if count <= MAX_UPDATE_MANAGERS {
        return;
    }
    let seconds =
        |manager: &Manager| managers[manager].time.as_deref().and_then(parse_time).map_or(0, |time| time.as_second());
    updaters.sort_by_key(|manager| (seconds(manager), manager.clone()));
    let mut first_of_version: BTreeMap<String, Manager> = BTreeMap::new();
    for updater in updaters {
        if count <= MAX_UPDATE_MANAGERS {
            break;
        }
        let version = managers[&updater].api_version.clone();
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, updater);
            continue;
        };
        let bucket = Manager::new("ancient-changes", ManagedFieldsOperation::Update, &version, "");
        if !managers.contains_key(&bucket)
            && let Some(owned) = managers.remove(first)
        {
            managers.insert(bucket.clone(), owned);
        }
        if updater != bucket
            && let Some(newer) = managers.remove(&updater)
            && let Some(merged) = managers.get_mut(&bucket)
        {
            merged.set = std::mem::take(&mut merged.set).union(&newer.set);
            merged.time = newer.time;
            count -= 1;
        }
    }
}
