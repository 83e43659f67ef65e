use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::{GroupVersion, GroupVersionKind, Object};
use coracle_schema::Table;
use coracle_schema::decode::decode_value;
use serde_json::Value;

use crate::documents::Document;
use crate::kinds::{KnownKind, KnownKinds};
use crate::order::{order, rank};
use crate::prepare::{is_finished, unwanted};

/// An object of the file with its kind.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) place: String,
    pub(crate) what: String,
    /// As in the file, with its namespace.
    pub(crate) object: Object,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) kind: KnownKind,
    /// Why it is skipped.
    pub(crate) skip: Option<String>,
    /// References to owners that are created before it.
    pub(crate) owners: Vec<Value>,
    /// References to its controller, which is created after it. They are added when both exist.
    pub(crate) controllers: Vec<Value>,
    pub(crate) notes: Vec<String>,
}

/// What the cluster has of what the file mentions.
#[derive(Debug, Default)]
pub(crate) struct ExistingObjects {
    /// The uids of objects that exist already, by the position of their item.
    pub(crate) existing: BTreeMap<usize, String>,
    pub(crate) namespaces: BTreeSet<String>,
    /// The uids of owners that the file lacks and the cluster has.
    pub(crate) owners: BTreeSet<String>,
}

/// Recognizes the objects of the file.
///
/// # Errors
/// The errors of all objects, with their places.
pub(crate) fn recognize(documents: &[Document], kinds: &KnownKinds) -> Result<Vec<Item>, Vec<String>> {
    let (mut items, mut wrong) = (Vec::<Item>::new(), Vec::new());
    let mut seen: BTreeMap<(String, String, String, String), String> = BTreeMap::new();
    for document in documents {
        match item(document, kinds) {
            Ok(item) => {
                let (namespace, name) = (item.object.namespace().to_owned(), item.object.name().to_owned());
                let identity = (item.gvk.group.clone(), item.gvk.kind.clone(), namespace, name);
                if let Some(first) = seen.insert(identity, item.place.clone()) {
                    wrong.push(format!("{}: {} is there twice, first at {first}", item.place, item.what));
                }
                items.push(item);
            }
            Err(why) => wrong.push(format!("{}: {why}", document.place)),
        }
    }
    if wrong.is_empty() { Ok(items) } else { Err(wrong) }
}

fn item(document: &Document, kinds: &KnownKinds) -> Result<Item, String> {
    let mut object = Object::from_value(document.value.clone()).map_err(|error| error.to_string())?;
    let version = GroupVersion::parse(object.api_version()).filter(|_| !object.api_version().is_empty());
    let version = version.filter(|_| !object.kind().is_empty()).ok_or("it says no apiVersion and kind")?;
    let gvk = version.kind(object.kind());
    let kind = kinds.of(&gvk).ok_or_else(|| {
        format!("the cluster serves no {} of {}, and the file defines none", gvk.kind, gvk.api_version())
    })?;
    if object.name().is_empty() {
        return Err(format!("this {} has no metadata.name", gvk.kind));
    }
    if kind.namespaced && object.namespace().is_empty() {
        object.set("metadata.namespace", "default");
    }
    let key = object.key();
    let name = if kind.namespaced { format!("{}/{}", key.namespace, key.name) } else { key.name.clone() };
    let what = format!("{} {name}", gvk.kind);
    if let Some(schema) = Table::newest().kind(&gvk) {
        let decoded = decode_value(document.value.clone(), &schema).map_err(|why| format!("{what}: {why}"))?;
        if let Some(unknown) = decoded.strict.first() {
            return Err(format!("{what}: {unknown}"));
        }
    }
    let skip =
        if kind.creatable { unwanted(&object).map(str::to_owned) } else { Some("none can be created".to_owned()) };
    Ok(Item {
        place: document.place.clone(),
        what,
        gvk,
        kind: kind.clone(),
        object,
        skip,
        owners: Vec::new(),
        controllers: Vec::new(),
        notes: Vec::new(),
    })
}

/// The owner references of an object, as in the file.
pub(crate) fn references(object: &Object) -> Vec<Value> {
    object.field("metadata.ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default()
}

pub(crate) fn uid_of(reference: &Value) -> &str {
    reference["uid"].as_str().unwrap_or_default()
}

/// Decides which objects are created, in which order, and with which owners.
///
/// # Errors
/// Owners that are not found, unless `drop_unknown_owners`; missing namespaces; owners in a circle.
pub(crate) fn plan(
    mut items: Vec<Item>,
    found: &ExistingObjects,
    drop_unknown_owners: bool,
) -> Result<Vec<Item>, Vec<String>> {
    skip_existing(&mut items, found);
    skip_pods_of_running_jobs(&mut items);
    let mut errors = Vec::new();
    let mut needs = Vec::new();
    let by_uid = positions_by_uid(&items);
    for at in 0..items.len() {
        if items[at].skip.is_some() {
            continue;
        }
        for reference in references(&items[at].object) {
            match owner_of(&items, &by_uid, found, &reference) {
                Owner::Skipped => {
                    let note = format!("without its owner {}, which is left out", name_of(&reference));
                    items[at].notes.push(note);
                }
                Owner::Controller(owner) => {
                    needs.push((owner, at));
                    items[at].controllers.push(reference);
                }
                Owner::InFile(owner) => {
                    needs.push((at, owner));
                    items[at].owners.push(reference);
                }
                Owner::InCluster => items[at].owners.push(reference),
                Owner::Unknown if drop_unknown_owners => {
                    items[at].notes.push(format!("owner {} not found; reference dropped", name_of(&reference)));
                }
                Owner::Unknown => errors.push(unknown_owner(&items[at], &reference)),
            }
        }
    }
    needs.extend(homes(&items));
    errors.extend(missing_namespaces(&items, found));
    let ranks: Vec<u8> = items.iter().map(|item| rank(&item.object, item.kind.namespaced)).collect();
    let ordered = order(&ranks, &needs).unwrap_or_else(|circle| {
        let members: Vec<&str> = circle.iter().map(|at| items[*at].what.as_str()).collect();
        errors.push(format!("{}: owners in a circle: {}", items[circle[0]].place, members.join(", ")));
        Vec::new()
    });
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    Ok(ordered.into_iter().filter_map(|at| items[at].take()).collect())
}

/// Where the owner of an object is. `InFile` and `Controller` hold the position of its item.
enum Owner {
    /// In the file, but it is not created.
    Skipped,
    Controller(usize),
    InFile(usize),
    InCluster,
    Unknown,
}

fn owner_of(items: &[Item], by_uid: &BTreeMap<String, usize>, found: &ExistingObjects, reference: &Value) -> Owner {
    match by_uid.get(uid_of(reference)) {
        Some(owner) if items[*owner].skip.is_some() && !found.existing.contains_key(owner) => Owner::Skipped,
        Some(owner) if reference["controller"] == true => Owner::Controller(*owner),
        Some(owner) => Owner::InFile(*owner),
        None if found.owners.contains(uid_of(reference)) => Owner::InCluster,
        None => Owner::Unknown,
    }
}

/// Kind and name of an owner.
fn name_of(reference: &Value) -> String {
    let text = |field: &str| reference[field].as_str().unwrap_or("");
    format!("{} {}", text("kind"), text("name"))
}

fn unknown_owner(item: &Item, reference: &Value) -> String {
    format!(
        "{}: {}: its owner {} (uid {}) is neither in the file nor in the cluster",
        item.place,
        item.what,
        name_of(reference),
        uid_of(reference)
    )
}

fn positions_by_uid(items: &[Item]) -> BTreeMap<String, usize> {
    let uids = items.iter().enumerate().map(|(at, item)| (item.object.uid().to_owned(), at));
    uids.filter(|(uid, _)| !uid.is_empty()).collect()
}

fn skip_existing(items: &mut [Item], found: &ExistingObjects) {
    for (at, item) in items.iter_mut().enumerate() {
        if found.existing.contains_key(&at) && item.skip.is_none() {
            item.skip = Some("it is there already".to_owned());
        }
    }
}

/// The errors of objects whose namespace is neither in the file nor in the cluster.
fn missing_namespaces(items: &[Item], found: &ExistingObjects) -> Vec<String> {
    let created = |item: &&Item| item.skip.is_none();
    let is_created = |namespace: &str| {
        items.iter().filter(created).any(|item| item.gvk.kind == "Namespace" && item.object.name() == namespace)
    };
    let missing = items.iter().filter(created).filter(|item| {
        let namespace = item.object.namespace();
        item.kind.namespaced && !found.namespaces.contains(namespace) && !is_created(namespace)
    });
    let error =
        |item: &Item| format!("{}: {}: its namespace is neither in the file nor in the cluster", item.place, item.what);
    missing.map(error).collect()
}

/// The controller of a Job that has not ended creates its pods again, whatever pods exist.
fn skip_pods_of_running_jobs(items: &mut [Item]) {
    let running = items.iter().filter(|item| item.gvk.kind == "Job" && !is_finished(&item.object));
    let running: BTreeSet<String> = running.map(|job| job.object.uid().to_owned()).collect();
    for pod in items.iter_mut().filter(|item| item.gvk.kind == "Pod" && item.skip.is_none()) {
        if references(&pod.object).iter().any(|reference| running.contains(uid_of(reference))) {
            pod.skip = Some("its Job has not ended and runs it again".to_owned());
        }
    }
}

/// Pairs of an object and its namespace or definition, by position.
fn homes(items: &[Item]) -> Vec<(usize, usize)> {
    let find = |is: &dyn Fn(&Item) -> bool| items.iter().position(is);
    let mut needs = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let namespace = item.object.namespace();
        let definition = format!("{}.{}", item.kind.resource.resource, item.kind.resource.group);
        needs.extend(
            find(&|home| item.kind.namespaced && home.gvk.kind == "Namespace" && home.object.name() == namespace)
                .map(|home| (at, home)),
        );
        needs.extend(
            find(&|home| home.gvk.kind == "CustomResourceDefinition" && home.object.name() == definition)
                .map(|home| (at, home)),
        );
    }
    needs
}
