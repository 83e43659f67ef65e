//! Updates `metadata.managedFields` in every write.
//!
//! In Kubernetes: the chain of managers in `apimachinery/pkg/util/managedfields/internal`; each function here is one
//! link.

use std::sync::LazyLock;

use coracle_meta::{Status, reason};
use serde_json::{Map, Value};

use super::compare::Comparison;
use super::conflict::Conflicts;
use super::last_applied;
use super::managers::{ManagedFieldsOperation, Manager, Managers, Owned, cap_updaters, decode, encode};
use super::path::values_equal;
use super::place::Place;
use super::set::Set;
use super::typed::{Duplicates, fits, validate};
use super::unmoved::{self, Writer};
use super::updater::{self, Applier, ObjectChange, Versions};

/// The manager of the fields that an object had before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The input for the managed fields of one write.
#[derive(Debug)]
pub struct Booking<'a, V> {
    /// The versions of the kind.
    pub versions: V,
    /// The version of the request, which the passed objects have.
    pub api_version: &'a str,
    /// The field manager's name.
    pub manager: &'a str,
    /// The subresource of the write; empty for the object itself.
    pub subresource: &'a str,
    /// The current time in the format of the API.
    pub time: String,
}

/// Why an apply failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own the fields that would change.
    #[error("{}", .0.message())]
    Conflicts(Conflicts),
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// The configuration does not match the kind, or the object's managed fields cannot be decoded.
    #[error("{0}")]
    Failed(String),
}

impl From<ApplyError> for Status {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Conflicts(conflicts) => conflicts.status(),
            ApplyError::BadRequest(message) => Status::failure(400, reason::BAD_REQUEST, message),
            ApplyError::Failed(message) => Status::failure(500, "", message),
        }
    }
}

/// The managed fields of a create, an update or a patch: returns `new` with its `metadata.managedFields`.
///
/// For a create, `live` is an object without fields. On failure, `new` gets the live object's entries.
pub fn update<V: Versions>(booking: &Booking<'_, V>, live: &Value, mut new: Value) -> Value {
    let keeps_entries = !booking.versions.schema_may_change() && keeps_live_entries(booking, live, &new);
    let managers = if keeps_entries { None } else { Some(starting_point(booking, entries(live), entries(&new))) };
    clear(&mut new);
    let is_create = live.pointer("/metadata/uid").and_then(Value::as_str).is_none_or(str::is_empty);
    if managers.as_ref().is_some_and(Managers::is_empty) && !is_create {
        return new;
    }
    let place = booking.versions.place(booking.api_version);
    if !place.is_some_and(|place| fits(place, live, None) && fits(place, &new, Some(live))) {
        if let Some(entries) = entries(live) {
            set_entries(&mut new, entries.clone());
        }
        return new;
    }
    let comparison = updater::compare_in(&booking.versions, live, &new, booking.api_version).unwrap_or_default();
    let managers = match managers {
        Some(managers) => managers,
        None => {
            if let Some(entries) = unmoved(booking, live, &comparison) {
                set_entries(&mut new, Value::Array(entries));
                return new;
            }
            decode(entries(live)).unwrap_or_default()
        }
    };
    if managers.is_empty() && !is_create {
        return new;
    }
    let managers = book_change(booking, booking.manager, ObjectChange { live, new: &new, comparison }, managers);
    store(&mut new, &managers);
    new
}

/// Whether a write starts with the entries of the live object: it has none, the same ones, or cannot replace them.
fn keeps_live_entries<V>(booking: &Booking<'_, V>, live: &Value, new: &Value) -> bool {
    let has_entries =
        entries(live).is_some_and(|own| own.as_array().is_some_and(|own| !own.is_empty()) && !is_reset(own));
    has_entries && (!booking.subresource.is_empty() || entries(new).is_none_or(|new| entries(live) == Some(new)))
}

/// The entries of the live object after an update that changes no owner.
fn unmoved<V>(booking: &Booking<'_, V>, live: &Value, comparison: &Comparison) -> Option<Vec<Value>> {
    let writer = Writer {
        name: if booking.manager.is_empty() { "unknown" } else { booking.manager },
        api_version: booking.api_version,
        subresource: booking.subresource,
        time: &booking.time,
    };
    unmoved::with_new_time(entries(live)?.as_array()?, &writer, comparison, &NEVER_OWNED)
}

/// The initial entries: the request's if they are valid and can be written here, otherwise the live object's.
fn starting_point<V>(booking: &Booking<'_, V>, live: Option<&Value>, new: Option<&Value>) -> Managers {
    if booking.subresource.is_empty() {
        if new.is_some_and(is_reset) {
            return Managers::new();
        }
        if let Ok(managers) = decode(new)
            && !managers.is_empty()
        {
            return managers;
        }
    }
    decode(live).unwrap_or_default()
}

/// Whether the entries request a reset: an empty list, or one empty entry.
fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([single]) => single.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

fn book_update<V: Versions>(
    booking: &Booking<'_, V>,
    name: &str,
    live: &Value,
    new: &Value,
    managers: Managers,
) -> Managers {
    let comparison = updater::compare_in(&booking.versions, live, new, booking.api_version).unwrap_or_default();
    book_change(booking, name, ObjectChange { live, new, comparison }, managers)
}

fn book_change<V: Versions>(
    booking: &Booking<'_, V>,
    name: &str,
    changed: ObjectChange<'_>,
    mut managers: Managers,
) -> Managers {
    let set = updater::update(&booking.versions, changed, booking.api_version, &mut managers);
    let set = set.difference(&NEVER_OWNED);
    if !set.is_empty() {
        let manager = Manager::new(name, ManagedFieldsOperation::Update, booking.api_version, booking.subresource);
        let previous = managers.remove(&manager).map(|owned| owned.set).unwrap_or_default();
        let time = Some(booking.time.clone());
        let owned = Owned { set: set.union(&previous), api_version: booking.api_version.to_owned(), time };
        managers.insert(manager, owned);
    }
    cap_updaters(&mut managers);
    managers
}

/// Merges an apply: returns the object with its `metadata.managedFields`, before defaulting.
///
/// For a create, `live` is an object without fields. The object equals `live` except for `metadata.managedFields` if
/// the configuration changes nothing.
///
/// # Errors
/// See [`ApplyError`]; it converts to the [`Status`] for the client.
pub fn apply<V: Versions>(
    booking: &Booking<'_, V>,
    live: &Value,
    config: &Value,
    force: bool,
) -> Result<Value, ApplyError> {
    let mut managers =
        decode(entries(live)).map_err(|why| ApplyError::Failed(format!("failed to decode managed fields: {why}")))?;
    let live = cleared(live);
    if managers.is_empty() {
        let nothing = Value::Object(Map::new());
        managers = book_update(booking, BEFORE_FIRST_APPLY, &nothing, &live, managers);
    }
    let result = book_apply(booking, &live, config, &managers, force);
    let (object, managers) = match result {
        Err(ApplyError::Conflicts(conflicts)) if booking.manager == last_applied::MANAGER => {
            take_over(booking, &live, config, &managers, conflicts)?
        }
        other => other?,
    };
    let mut object = object;
    last_applied::refresh(booking.manager, &mut object, config);
    store(&mut object, &managers);
    Ok(object)
}

/// Transfers the fields of an earlier `kubectl apply` to `kubectl apply --server-side`.
fn take_over<V: Versions>(
    booking: &Booking<'_, V>,
    live: &Value,
    config: &Value,
    managers: &Managers,
    conflicts: Conflicts,
) -> Result<(Value, Managers), ApplyError> {
    let place = booking.versions.place(booking.api_version);
    let Some(allowed) = place.and_then(|place| last_applied::owned_fields(place, booking.api_version, live)) else {
        return Err(ApplyError::Conflicts(conflicts));
    };
    match conflicts.without(&allowed) {
        Some(conflicts) => Err(ApplyError::Conflicts(conflicts)),
        None => book_apply(booking, live, config, managers, true),
    }
}

fn book_apply<V: Versions>(
    booking: &Booking<'_, V>,
    live: &Value,
    config: &Value,
    managers: &Managers,
    force: bool,
) -> Result<(Value, Managers), ApplyError> {
    let place = checked_place(booking, live, config)?;
    let mut managers = managers.clone();
    let manager =
        Manager::new(booking.manager, ManagedFieldsOperation::Apply, booking.api_version, booking.subresource);
    let applier = Applier { writer: &manager, version: booking.api_version, place };
    let merged = updater::apply(&booking.versions, live, config, &applier, &mut managers, force);
    let merged = merged.map_err(ApplyError::Conflicts)?;
    if let Some(mut owned) = managers.remove(&manager) {
        owned.set = owned.set.difference(&NEVER_OWNED);
        if merged.is_some() {
            owned.time = Some(booking.time.clone());
        }
        if !owned.set.is_empty() {
            managers.insert(manager, owned);
        }
    }
    Ok((merged.unwrap_or_else(|| live.clone()), managers))
}

/// The place for the merge, after validation of the configuration and the object.
fn checked_place<V: Versions>(booking: &Booking<'_, V>, live: &Value, config: &Value) -> Result<V::Place, ApplyError> {
    let version = config.get("apiVersion").and_then(Value::as_str).unwrap_or("");
    let kind = config.get("kind").and_then(Value::as_str).unwrap_or("");
    let is_another = live.get("kind").and_then(Value::as_str).is_some_and(|own| own != kind);
    if is_another || version.is_empty() || booking.versions.place(version).is_none() {
        let group_version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
        return Err(ApplyError::BadRequest(format!("invalid object type: {group_version}, Kind={kind}")));
    }
    if version != booking.api_version {
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {version}, expected: {}",
            booking.api_version
        )));
    }
    if entries(config).is_some() {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let failed = |what: &str, object: &Value, why: &str| {
        ApplyError::Failed(format!("failed to create typed {what} object ({}): {why}", object_text(object)))
    };
    let Some(place) = booking.versions.place(booking.api_version) else {
        return Err(failed("patch", config, "no corresponding type"));
    };
    validate(place, config, Duplicates::Refused).map_err(|why| failed("patch", config, &why))?;
    validate(place, live, Duplicates::Allowed).map_err(|why| failed("live", live, &why))?;
    Ok(place)
}

/// `namespace/name; group/version, Kind=kind`: an object in Kubernetes' messages.
pub fn object_text(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or("");
    let version = text("/apiVersion");
    let group_version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    format!("{}/{}; {group_version}, Kind={}", text("/metadata/namespace"), text("/metadata/name"), text("/kind"))
}

/// Fields without an owner: the identity of the object, and the fields that the API server maintains.
static NEVER_OWNED: LazyLock<Set> = LazyLock::new(|| {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Whether two versions of an object differ only in the times of their entries; such a write changes nothing.
/// In Kubernetes: `IgnoreManagedFieldsTimestampsTransformer`.
pub fn differ_in_times_only(old: &Value, new: &Value) -> bool {
    let same_entries = match (entries(old).and_then(Value::as_array), entries(new).and_then(Value::as_array)) {
        (None, None) => true,
        (Some(old), Some(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same_but_time(old, new))
        }
        _ => false,
    };
    same_entries && equal_without_entries(old, new)
}

/// Whether two objects are equal except for `metadata.managedFields`.
fn equal_without_entries(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return old == new };
    let same_metadata = match (old.get("metadata"), new.get("metadata")) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => equal_without(old, new, "managedFields"),
        (old, new) => old == new,
    };
    same_metadata && equal_without(old, new, "metadata")
}

fn equal_without(old: &Map<String, Value>, new: &Map<String, Value>, name: &str) -> bool {
    let others = |(own, _): &(&String, &Value)| *own != name;
    old.iter().filter(others).eq(new.iter().filter(others))
}

fn same_but_time(old: &Value, new: &Value) -> bool {
    const NAMES: [&str; 6] = ["manager", "operation", "apiVersion", "fieldsType", "fieldsV1", "subresource"];
    NAMES.iter().all(|name| match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) => values_equal(old, new),
        (old, new) => old == new,
    })
}

/// The part of the object that a manager owns by its last apply. In Kubernetes: `ExtractInto` of Go clients.
pub fn extract<P: Place>(place: P, object: &Value, manager: &str, subresource: &str) -> Option<Value> {
    let managers = decode(entries(object)).ok()?;
    let owned = managers.get(&Manager::new(manager, ManagedFieldsOperation::Apply, "", subresource))?;
    Some(super::remove::extract(place, &cleared(object), &owned.set.leaves()))
}

/// `metadata.managedFields`.
fn entries(object: &Value) -> Option<&Value> {
    object.get("metadata")?.get("managedFields").filter(|entries| !entries.is_null())
}

/// Removes `metadata.managedFields`. An object that is too large for the store is written again without them.
pub fn clear(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

fn cleared(object: &Value) -> Value {
    let mut object = object.clone();
    clear(&mut object);
    if object.is_null() { Value::Object(Map::new()) } else { object }
}

fn store(object: &mut Value, managers: &Managers) {
    if managers.is_empty() {
        clear(object);
    } else {
        set_entries(object, Value::Array(encode(managers)));
    }
}

fn set_entries(object: &mut Value, entries: Value) {
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert("managedFields".to_owned(), entries);
    }
}
