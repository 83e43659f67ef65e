use std::collections::{BTreeMap, BTreeSet};

use coracle_client::{Api, Client, Error, Patch, WatchParams};
use coracle_meta::{GroupVersion, GroupVersionResource, Object, ObjectKey, WatchEvent};
use serde_json::{Value, json};

use crate::documents::Document;
use crate::kinds::KnownKinds;
use crate::plan::{ExistingObjects, Item, plan, recognize, references, uid_of};
use crate::prepare::prepared;
use crate::report::{ImportOutcome, ImportReport, Imported};

/// How to import.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// Only report what would be created.
    pub dry_run: bool,
    /// Create objects without those owners that are neither in the file nor in the cluster, instead of refusing them.
    pub drop_unknown_owners: bool,
}

/// Why nothing was created.
#[derive(Debug, thiserror::Error)]
pub enum NotImported {
    /// The errors of the objects, a line each, with the place.
    #[error("{}", .0.join("\n"))]
    Wrong(Vec<String>),
    /// The cluster could not be read.
    #[error("the cluster cannot be asked what it has")]
    Unreachable(#[from] Error),
}

/// Creates objects of another cluster in this one. It checks everything it can before it creates the first object.
///
/// # Errors
/// If nothing was created. The report contains what the cluster refuses later.
pub async fn import(
    client: &Client,
    documents: &[Document],
    options: ImportOptions,
) -> Result<ImportReport, NotImported> {
    let kinds = KnownKinds::new(client.discover().await?, documents);
    let items = recognize(documents, &kinds).map_err(NotImported::Wrong)?;
    let found = look(client, &items, &kinds).await?;
    let known = known_uids(&items, &found);
    let items = plan(items, &found, options.drop_unknown_owners).map_err(NotImported::Wrong)?;
    let mut making = Making { client, uids: known, report: ImportReport::default() };
    for item in &items {
        let fate = match (&item.skip, options.dry_run) {
            (Some(why), _) => ImportOutcome::Skipped(why.clone()),
            (None, true) => ImportOutcome::WouldBeMade,
            (None, false) => making.make(item).await.unwrap_or_else(ImportOutcome::Refused),
        };
        let Item { place, what, notes, .. } = item.clone();
        let notes = if item.skip.is_some() { Vec::new() } else { [notes, prepared(&item.object).notes].concat() };
        making.report.objects.push(Imported { place, what, fate, notes });
    }
    for (at, item) in items.iter().enumerate() {
        if making.report.objects[at].fate == ImportOutcome::Made
            && let Err(error) = making.link(item).await
        {
            making.report.objects[at].notes.push(format!("its owners could not be said: {error}"));
        }
    }
    Ok(making.report)
}

/// The uids here of objects and owners of the file that exist already, by the uids in the file.
fn known_uids(items: &[Item], found: &ExistingObjects) -> BTreeMap<String, String> {
    let existing = found.existing.iter().map(|(at, uid)| (items[*at].object.uid().to_owned(), uid.clone()));
    existing.chain(found.owners.iter().map(|uid| (uid.clone(), uid.clone()))).collect()
}

/// Reads from the cluster what the file mentions.
async fn look(client: &Client, items: &[Item], kinds: &KnownKinds) -> Result<ExistingObjects, Error> {
    let mut found = ExistingObjects::default();
    let of_file: BTreeSet<&str> = items.iter().map(|item| item.object.uid()).collect();
    for (at, item) in items.iter().enumerate() {
        let is_served = kinds.is_served(&item.gvk) && item.kind.creatable;
        if is_served && let Some(there) = api(client, item).find(&item.object.key()).await? {
            found.existing.insert(at, there.uid().to_owned());
        }
        let unknown = references(&item.object);
        for reference in unknown.iter().filter(|reference| !of_file.contains(uid_of(reference))) {
            let text = |name: &str| reference[name].as_str().unwrap_or_default();
            let kind = GroupVersion::parse(text("apiVersion")).map(|version| version.kind(text("kind")));
            let Some(kind) = kind.and_then(|gvk| kinds.of(&gvk)) else { continue };
            let namespace = if kind.namespaced { item.object.namespace() } else { "" };
            let owners = Api::<Object>::dynamic(client, kind.resource.clone());
            let owner = owners.find(&ObjectKey::new(namespace, text("name"))).await;
            if owner.is_ok_and(|owner| owner.is_some_and(|owner| owner.uid() == uid_of(reference))) {
                found.owners.insert(uid_of(reference).to_owned());
            }
        }
    }
    let namespaces = Api::<Object>::dynamic(client, GroupVersionResource::new("", "v1", "namespaces"));
    let all = namespaces.list_all(&Default::default()).await?;
    found.namespaces = all.items.iter().map(|namespace| namespace.name().to_owned()).collect();
    Ok(found)
}

fn api(client: &Client, item: &Item) -> Api<Object> {
    Api::dynamic(client, item.kind.resource.clone())
}

struct Making<'c> {
    client: &'c Client,
    /// The uids of the file, each with the uid here.
    uids: BTreeMap<String, String>,
    report: ImportReport,
}

impl Making<'_> {
    /// References with the uids that the owners have here, without owners that were not created.
    fn here(&self, references: &[Value]) -> Vec<Value> {
        let here = references.iter().filter_map(|reference| {
            let mut reference = reference.clone();
            reference["uid"] = self.uids.get(uid_of(&reference))?.as_str().into();
            Some(reference)
        });
        here.collect()
    }

    async fn make(&mut self, item: &Item) -> Result<ImportOutcome, String> {
        let api = api(self.client, item);
        let key = item.object.key();
        let mut prepared = prepared(&item.object);
        let owners = self.here(&item.owners);
        if !owners.is_empty() {
            prepared.object.set("metadata.ownerReferences", owners);
        }
        let old_uid = item.object.uid().to_owned();
        match api.create(&prepared.object).await {
            Ok(made) => drop(self.uids.insert(old_uid, made.uid().to_owned())),
            // Controllers create some themselves: the account of a namespace, the endpoints of a service.
            Err(error) if error.is_already_exists() => {
                let there = api.find(&key).await.ok().flatten();
                self.uids.extend(there.map(|there| (old_uid, there.uid().to_owned())));
                return Ok(ImportOutcome::Skipped("it is there already, made by the cluster itself".to_owned()));
            }
            Err(error) => return Err(with_causes(&error)),
        }
        if item.gvk.kind == "CustomResourceDefinition" {
            return established(&api, &key).await.map(|()| ImportOutcome::Made);
        }
        if let Some(status) = item.object.field("status").filter(|_| item.kind.has_status) {
            let patch = Patch::Merge(json!({"status": status}));
            api.patch_status(&key, &patch)
                .await
                .map_err(|error| format!("made, but without its status: {}", with_causes(&error)))?;
        }
        if let Some(afterwards) = prepared.afterwards {
            let patched = api.patch(&key, &Patch::Merge(afterwards)).await;
            patched.map_err(|error| format!("made, but left suspended: {}", with_causes(&error)))?;
        }
        Ok(ImportOutcome::Made)
    }

    /// Adds the reference to the controller of an object after both were created, and the uids in its labels.
    async fn link(&self, item: &Item) -> Result<(), String> {
        let controllers = self.here(&item.controllers);
        if controllers.is_empty() {
            return Ok(());
        }
        let owners = [self.here(&item.owners), controllers].concat();
        let labels = item.object.labels().into_iter();
        let labels: BTreeMap<String, &String> =
            labels.filter_map(|(name, value)| Some((name, self.uids.get(&value)?))).collect();
        let patch = Patch::Merge(json!({"metadata": {"ownerReferences": owners, "labels": labels}}));
        let patched = api(self.client, item).patch(&item.object.key(), &patch).await;
        patched.map(drop).map_err(|error| with_causes(&error))
    }
}

/// Waits until the cluster serves the kinds of a definition.
async fn established(api: &Api<Object>, key: &ObjectKey) -> Result<(), String> {
    const MOST_SECONDS: u32 = 30;
    let is_established = |object: &Object| {
        let conditions = object.field("status.conditions").and_then(Value::as_array);
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
    };
    let fields = format!("metadata.name={}", key.name);
    let params = WatchParams { fields, timeout_seconds: MOST_SECONDS, ..WatchParams::default() };
    let mut watch = api.watch(&params).await.map_err(|error| with_causes(&error))?;
    while let Some(event) = watch.next().await.map_err(|error| with_causes(&error))? {
        if matches!(&event, WatchEvent::Added(object) | WatchEvent::Modified(object) if is_established(object)) {
            return Ok(());
        }
    }
    Err(format!("made, but its kinds are not served after {MOST_SECONDS} s"))
}

/// An error with its causes.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
