use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::{GroupVersion, GroupVersionKind, Object};
use coracle_schema::Table;
use coracle_schema::decode::decode_value;
use serde_json::Value;

use super::Document;
use super::kinds::{KnownKind, KnownKinds};
use super::order::{order, rank};
use super::prepare::{is_finished, unwanted};

/// An object of the file, recognized.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) place: String,
    pub(super) what: String,
    /// As the file has it, with the namespace in which it will be.
    pub(super) object: Object,
    pub(super) gvk: GroupVersionKind,
    pub(super) kind: KnownKind,
    /// Why it is left out.
    pub(super) skip: Option<String>,
    /// Owners that are made before it, and said when it is made.
    pub(super) owners: Vec<Value>,
    /// Its controller, which is made after it and finds it; said when both are there.
    pub(super) controllers: Vec<Value>,
    pub(super) notes: Vec<String>,
}

/// What the cluster has of what the file speaks of.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The uids of objects that are there already, by the number of their item.
    pub(super) existing: BTreeMap<usize, String>,
    pub(super) namespaces: BTreeSet<String>,
    /// Owners that the file does not have, and which are there with the very uid.
    pub(super) owners: BTreeSet<String>,
}

/// Identifies the kinds of the objects.
///
/// # Errors
/// Every error in the documents, with its place.
pub(super) fn recognize(documents: &[Document], kinds: &KnownKinds) -> Result<Vec<Item>, Vec<String>> {
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
    if let Some(schema) = Table::v1_35().kind(&gvk) {
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

/// The references of an object to its owners, as the file has them.
pub(super) fn references(object: &Object) -> Vec<Value> {
    object.field("metadata.ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default()
}

pub(super) fn uid_of(reference: &Value) -> &str {
    reference["uid"].as_str().unwrap_or_default()
}

/// Sorts the objects into the order of their creation, and resolves their owner references.
///
/// # Errors
/// Unknown owners, unless they must be dropped; missing namespaces; cyclic owners.
pub(super) fn plan(mut items: Vec<Item>, found: &Found, drop_unknown_owners: bool) -> Result<Vec<Item>, Vec<String>> {
    let mut wrong = Vec::new();
    skip_existing(&mut items, found);
    skip_pods_of_running_jobs(&mut items);
    let mut needs = resolve_owners(&mut items, found, drop_unknown_owners, &mut wrong);
    needs.extend(homes(&items));
    check_namespaces(&items, found, &mut wrong);
    let ranks: Vec<u8> = items.iter().map(|item| rank(&item.object, item.kind.namespaced)).collect();
    let ordered = order(&ranks, &needs).unwrap_or_else(|circle| {
        let members: Vec<&str> = circle.iter().map(|at| items[*at].what.as_str()).collect();
        wrong.push(format!("{}: owners in a circle: {}", items[circle[0]].place, members.join(", ")));
        Vec::new()
    });
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut items: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    Ok(ordered.into_iter().filter_map(|at| items[at].take()).collect())
}

fn skip_existing(items: &mut [Item], found: &Found) {
    for (at, item) in items.iter_mut().enumerate() {
        if found.existing.contains_key(&at) && item.skip.is_none() {
            item.skip = Some("it is there already".to_owned());
        }
    }
}

/// Sorts the owner references of each item into owners, controllers and notes. Returns pairs of items: the first is made
/// after the second.
fn resolve_owners(
    items: &mut [Item],
    found: &Found,
    drop_unknown_owners: bool,
    wrong: &mut Vec<String>,
) -> Vec<(usize, usize)> {
    let by_uid: BTreeMap<String, usize> = items
        .iter()
        .enumerate()
        .map(|(at, item)| (item.object.uid().to_owned(), at))
        .filter(|(uid, _)| !uid.is_empty())
        .collect();
    let mut needs = Vec::new();
    for at in 0..items.len() {
        if items[at].skip.is_some() {
            continue;
        }
        for reference in references(&items[at].object) {
            let who =
                format!("{} {}", reference["kind"].as_str().unwrap_or(""), reference["name"].as_str().unwrap_or(""));
            match by_uid.get(uid_of(&reference)) {
                Some(owner) if items[*owner].skip.is_some() && !found.existing.contains_key(owner) => {
                    items[at].notes.push(format!("without its owner {who}, which is left out"));
                }
                Some(owner) if reference["controller"] == true => {
                    needs.push((*owner, at));
                    items[at].controllers.push(reference);
                }
                Some(owner) => {
                    needs.push((at, *owner));
                    items[at].owners.push(reference);
                }
                None if found.owners.contains(uid_of(&reference)) => items[at].owners.push(reference),
                None if drop_unknown_owners => {
                    items[at].notes.push(format!("owner {who} not found; reference dropped"))
                }
                None => wrong.push(format!(
                    "{}: {}: its owner {who} (uid {}) is neither in the file nor in the cluster",
                    items[at].place,
                    items[at].what,
                    uid_of(&reference)
                )),
            }
        }
    }
    needs
}

/// The namespace of each object must exist or be among the items.
fn check_namespaces(items: &[Item], found: &Found, wrong: &mut Vec<String>) {
    for item in items.iter().filter(|item| item.skip.is_none() && item.kind.namespaced) {
        let namespace = item.object.namespace();
        let is_made =
            |other: &Item| other.gvk.kind == "Namespace" && other.skip.is_none() && other.object.name() == namespace;
        if !found.namespaces.contains(namespace) && !items.iter().any(is_made) {
            wrong.push(format!(
                "{}: {}: its namespace is neither in the file nor in the cluster",
                item.place, item.what
            ));
        }
    }
}

/// Skips the pods of unfinished Jobs, because the Job controller creates new ones.
fn skip_pods_of_running_jobs(items: &mut [Item]) {
    let running = items.iter().filter(|item| item.gvk.kind == "Job" && !is_finished(&item.object));
    let running: BTreeSet<String> = running.map(|job| job.object.uid().to_owned()).collect();
    for pod in items.iter_mut().filter(|item| item.gvk.kind == "Pod" && item.skip.is_none()) {
        if references(&pod.object).iter().any(|reference| running.contains(uid_of(reference))) {
            pod.skip = Some("its Job has not ended and runs it again".to_owned());
        }
    }
}

/// What objects are in or of: their namespaces and definitions.
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
