use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coracle_client::{Api, Client, DeleteParams, Error, Patch, Propagation, WriteParams};
use coracle_cluster::{Cluster, User};
use coracle_meta::{GroupVersion, GroupVersionResource, LabelSelector, Object, ObjectKey};
use coracle_sim::{InvariantAnswer, NotInTime, World, patch_map};
use coracle_yaml::Spanned;
use serde_json::{Value, json};

use crate::file::{self, Apply, Create, Delete, Get, Reference, Scale, Update};
use crate::object_file::{read_objects, take_apart};

/// The user of steps without one.
const SCENARIO: &str = "scenario";
/// How long a write may take to become visible to the world. It is immediate unless the store was restarted.
pub(crate) const CATCH_UP: Duration = Duration::from_secs(10);

/// The operations of a scenario on the API, as one user.
pub(crate) struct Objects {
    client: Client,
    /// The field manager of writes; empty for the default, which is derived from the user agent.
    manager: String,
    namespace: String,
    plural: PluralOf,
}

/// The plural of a kind, by `apiVersion` and `kind`, and whether it is namespaced.
type PluralOf = Box<dyn Fn(&str, &str) -> Option<(String, bool)> + Send + Sync>;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    message: String,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match &error {
            Error::Transport { source, .. } => Self::new(format!("{error}: {source}")),
            _ => Self::new(error.to_string()),
        }
    }
}

impl Objects {
    /// The operations as this user, or as `scenario`.
    pub(crate) fn new(cluster: &Cluster, namespace: &str, user: Option<&str>) -> Self {
        let named = User::new(user.unwrap_or(SCENARIO), ["system:masters"]);
        let client = cluster.client_as(named).with_user_agent("coracle-scenario");
        let registry = cluster.registry().clone();
        let plural = move |api_version: &str, kind: &str| {
            let kinds = registry.kinds();
            let found = kinds.kind(&GroupVersion::parse(api_version)?.kind(kind))?;
            Some((found.row().plural.clone(), found.row().scope == coracle_meta::Scope::Namespaced))
        };
        let manager = user.unwrap_or_default().to_owned();
        Self { client, manager, namespace: namespace.to_owned(), plural: Box::new(plural) }
    }

    /// The operations on the core group, for any cluster.
    pub(crate) fn of_core(client: &Client) -> Self {
        let (client, manager) = (client.clone(), String::new());
        Self { client, manager, namespace: "default".to_owned(), plural: Box::new(|_, _| None) }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The namespace of resources without one.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The objects of an operation, in the scenario or in a file next to it.
    pub(crate) fn read(&self, create: &Create, folder: &Path) -> Result<Vec<Object>, Refusal> {
        self.read_either(create.resource.as_ref(), create.file.as_ref(), folder)
    }

    fn read_either(
        &self,
        resource: Option<&Spanned<Value>>,
        file: Option<&Spanned<String>>,
        folder: &Path,
    ) -> Result<Vec<Object>, Refusal> {
        let values = match (resource, file) {
            (Some(value), _) => take_apart(value.value.clone()),
            (None, Some(file)) => read_objects(&folder.join(&file.value)).map_err(Refusal::new)?,
            (None, None) => Vec::new(),
        };
        values.into_iter().map(|value| self.object(value)).collect()
    }

    fn object(&self, value: Value) -> Result<Object, Refusal> {
        let mut object = Object::from_value(value).map_err(|error| Refusal::new(error.to_string()))?;
        let (_, namespaced) = self.resource(object.api_version(), object.kind())?;
        if namespaced && object.namespace().is_empty() {
            object.set("metadata.namespace", self.namespace.as_str());
        }
        Ok(object)
    }

    fn resource(&self, api_version: &str, kind: &str) -> Result<(GroupVersionResource, bool), Refusal> {
        let unknown = || Refusal::new(format!("the cluster serves no kind `{kind}` in `{api_version}`"));
        let (plural, namespaced) = (self.plural)(api_version, kind).ok_or_else(unknown)?;
        let GroupVersion { group, version } = GroupVersion::parse(api_version).ok_or_else(unknown)?;
        Ok((GroupVersionResource::new(group, version, plural), namespaced))
    }

    fn api(&self, object: &Object) -> Result<Api<Object>, Refusal> {
        self.api_of(object.api_version(), object.kind(), object.namespace())
    }

    pub(crate) fn api_of(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Api<Object>, Refusal> {
        let (resource, namespaced) = self.resource(api_version, kind)?;
        let api = Api::dynamic(&self.client, resource).writing(self.writing(&self.manager));
        Ok(if namespaced { api.within(namespace) } else { api })
    }

    pub(crate) async fn create(&self, object: Object) -> Result<(), Refusal> {
        self.api(&object)?.create(&object).await?;
        Ok(())
    }

    pub(crate) async fn apply(&self, apply: &Apply, folder: &Path) -> Result<(), Refusal> {
        let own = if self.manager.is_empty() { SCENARIO } else { &self.manager };
        let manager = apply.field_manager.as_deref().unwrap_or(own);
        for object in self.read_either(apply.resource.as_ref(), apply.file.as_ref(), folder)? {
            let api = self.api(&object)?.writing(self.writing(manager));
            let patch = Patch::Apply { object: object.to_value(), force: apply.force };
            let what = format!("the apply of {} {}", object.kind(), object.name());
            as_expected(api.patch(&object.key(), &patch).await, apply.refused, &what)?;
        }
        Ok(())
    }

    /// Reads the named object.
    pub(crate) async fn get(&self, get: &Get) -> Result<Arc<Object>, Refusal> {
        let Reference { api_version, kind, name, namespace, .. } = &get.reference;
        let namespace = namespace.as_deref().unwrap_or(&self.namespace);
        let api = self.api_of(&api_version.value, &kind.value, namespace)?;
        Ok(Arc::new(api.get(&ObjectKey::new(namespace, name.clone().unwrap_or_default())).await?))
    }

    /// Writes an object that was read before, with a change, at the version at which it was read.
    pub(crate) async fn update(&self, update: &Update, read: &Object) -> Result<(), Refusal> {
        let mut value = read.to_value();
        if let (Some(whole), Some(change)) = (value.as_object_mut(), &update.resource) {
            patch_map(whole, &change.value);
        }
        let object = Object::from_value(value).map_err(|error| Refusal::new(error.to_string()))?;
        let (api, what) = (self.api(&object)?, format!("the update of {} {}", object.kind(), object.name()));
        let answer = match update.subresource.as_deref() {
            Some(subresource) => {
                api.update_subresource(&object.key(), subresource, &object.to_value(), object.resource_version()).await
            }
            None => api.update(&object).await,
        };
        as_expected(answer, update.refused, &what)
    }

    fn writing(&self, manager: &str) -> WriteParams {
        let field_manager = manager.to_owned();
        // An unknown field is a mistake in the file and must not be dropped.
        WriteParams { field_manager, field_validation: "Strict".to_owned(), ..WriteParams::default() }
    }

    /// Patches the named object, or those chosen by label; returns the first as it was before.
    pub(crate) async fn patch(&self, patch: &file::Patch, world: &World) -> Result<Option<Arc<Object>>, Refusal> {
        let part = self.object(patch.resource.value.clone())?;
        see_all(world).await?;
        let chosen = match &patch.selector {
            Some(selector) => {
                let selector =
                    LabelSelector::parse(&selector.value).map_err(|error| Refusal::new(error.to_string()))?;
                choose(world, part.api_version(), part.kind(), part.namespace(), patch.pick, &selector)?
            }
            None => one(world, &part)?,
        };
        let api = self.api(&part)?;
        for object in &chosen {
            let body = Patch::Merge(part.to_value());
            match patch.subresource.as_deref() {
                Some(subresource) => {
                    let _: Object = api.patch_subresource(&object.key(), subresource, &body).await?;
                }
                None => {
                    api.patch(&object.key(), &body).await?;
                }
            }
        }
        Ok(chosen.into_iter().next())
    }

    pub(crate) async fn scale(&self, scale: &Scale) -> Result<(), Refusal> {
        let Reference { api_version, kind, name, namespace, .. } = &scale.reference;
        let namespace = namespace.as_deref().unwrap_or(&self.namespace);
        let api = self.api_of(&api_version.value, &kind.value, namespace)?;
        let key = ObjectKey::new(namespace, name.clone().unwrap_or_default());
        api.patch_scale(&key, i32::try_from(scale.replicas).unwrap_or(i32::MAX)).await?;
        Ok(())
    }

    /// Deletes the named object, or those chosen by label; returns the first as it was before.
    pub(crate) async fn delete(&self, delete: &Delete, world: &World) -> Result<Option<Arc<Object>>, Refusal> {
        let chosen = choose_referred(world, &delete.reference, delete.pick, &self.namespace).await?;
        let Reference { api_version, kind, namespace, .. } = &delete.reference;
        let namespace = namespace.as_deref().unwrap_or(&self.namespace);
        let api = self.api_of(&api_version.value, &kind.value, namespace)?;
        let params = DeleteParams {
            grace_period_seconds: delete.grace_period_seconds,
            propagation_policy: delete
                .deletion_propagation_policy
                .as_ref()
                .and_then(|policy| propagation(&policy.value)),
            ..DeleteParams::default()
        };
        for object in &chosen {
            api.delete(&object.key(), &params).await?;
        }
        Ok(chosen.into_iter().next())
    }
}

/// An object with an additional owner.
pub(crate) fn owned(mut object: Object, owner: &Object) -> Object {
    let mut owners = object.field("metadata.ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default();
    let (api_version, kind) = (owner.api_version(), owner.kind());
    owners.push(json!({"apiVersion": api_version, "kind": kind, "name": owner.name(), "uid": owner.uid()}));
    object.set("metadata.ownerReferences", Value::Array(owners));
    object
}

/// Checks that a write succeeded, or was refused because of a conflict, as the scenario expects.
fn as_expected(answer: Result<Object, Error>, refused: bool, what: &str) -> Result<(), Refusal> {
    match answer {
        Err(error) if refused && error.is_conflict() => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) if refused => Err(Refusal::new(format!("{what} was taken, and no conflict refused it"))),
        Ok(_) => Ok(()),
    }
}

fn propagation(word: &str) -> Option<Propagation> {
    match word {
        "Background" => Some(Propagation::Background),
        "Foreground" => Some(Propagation::Foreground),
        "Orphan" => Some(Propagation::Orphan),
        _ => None,
    }
}

fn one(world: &World, part: &Object) -> Result<Vec<Arc<Object>>, Refusal> {
    let found = world
        .look(|cluster| cluster.object(part.api_version(), part.kind(), part.namespace(), part.name()).cloned())
        .ok_or_else(|| Refusal::new(format!("there is no {} {}", part.kind(), part.name())))?;
    Ok(vec![found])
}

/// Waits until the world shows all writes so far: objects are chosen from its state.
async fn see_all(world: &World) -> Result<(), Refusal> {
    let behind = |late: NotInTime| match late.answer {
        InvariantAnswer::Unanswerable(why) => Refusal::new(why),
        other => Refusal::new(format!("{other:?}")),
    };
    world.caught_up(CATCH_UP).await.map(drop).map_err(behind)
}

/// The object that a reference names, or those with its labels.
pub(crate) async fn choose_referred(
    world: &World,
    reference: &Reference,
    pick: Option<usize>,
    namespace: &str,
) -> Result<Vec<Arc<Object>>, Refusal> {
    let Reference { api_version, kind, name, namespace: own, labels } = reference;
    let namespace = own.as_deref().unwrap_or(namespace);
    see_all(world).await?;
    match name {
        Some(name) => {
            let found = world.look(|cluster| cluster.object(&api_version.value, &kind.value, namespace, name).cloned());
            Ok(vec![found.ok_or_else(|| Refusal::new(format!("there is no {} {name}", kind.value)))?])
        }
        None => {
            let selector = LabelSelector::of_labels(labels);
            choose(world, &api_version.value, &kind.value, namespace, pick, &selector)
        }
    }
}

/// The objects that a selector matches and that are not being deleted, in the order of their names.
fn choose(
    world: &World,
    api_version: &str,
    kind: &str,
    namespace: &str,
    pick: Option<usize>,
    selector: &LabelSelector,
) -> Result<Vec<Arc<Object>>, Refusal> {
    let chosen: Vec<_> = world.look(|cluster| {
        cluster
            .of_kind(api_version, kind)
            .filter(|object| object.namespace().is_empty() || object.namespace() == namespace)
            .filter(|object| !object.is_terminating() && selector.matches(&object.labels()))
            .take(pick.unwrap_or(usize::MAX))
            .cloned()
            .collect()
    });
    if chosen.is_empty() || pick.is_some_and(|pick| chosen.len() < pick) {
        let wanted = pick.map_or("one".to_owned(), |pick| pick.to_string());
        return Err(Refusal::new(format!("`{selector}` chooses {} {kind} objects, wanted {wanted}", chosen.len())));
    }
    Ok(chosen)
}
