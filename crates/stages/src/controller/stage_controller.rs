//! Runs the stages of one kind. In KWOK: `StageController`, `PodController`, `NodeController`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Ambient, SignedDuration};
use coracle_api::core_v1::{Node, ObjectReference};
use coracle_client::{Api, Client, DeleteParams, Patch, WriteParams};
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_kubelet_api::is_simulated;
use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, ObjectKey, PartialObject, Scope};
use parking_lot::Mutex;
use serde_json::Value as Json;
use tokio::time::Instant;

use crate::controller::object_cache::ObjectCache;
use crate::controller::pools::Pools;
use crate::controller::rest_mapper::RestMapper;
use crate::effect::{Effect, PatchType, StageEvent, StagePatch, effects};
use crate::expressions::functions::Functions;
use crate::stage::Stage;
use crate::stage_set::StageSet;

/// The field manager of applied objects.
const MANAGER: &str = "kwok";
/// How many stages of an object may follow each other before the object is read again.
const MOST_AT_ONCE: usize = 32;

/// What the controllers of all kinds share.
pub(crate) struct StageContext {
    pub(crate) stage_set: Arc<StageSet>,
    pub(crate) rest_mapper: RestMapper,
    pub(crate) nodes: Lister<Node>,
    pub(crate) pools: Pools,
    pub(crate) ambient: Ambient,
    pub(crate) events: EventRecorder,
    /// When the stage runner started.
    pub(crate) started: String,
    /// Whether a node of this name acts.
    pub(crate) acts: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Runs the stages of the objects of one kind.
pub(crate) struct StageController {
    pub(crate) kind: GroupVersionKind,
    pub(crate) resource: GroupVersionResource,
    pub(crate) cache: Arc<ObjectCache>,
    pub(crate) context: Arc<StageContext>,
    pub(crate) calls: Mutex<BTreeMap<ObjectKey, StageJob>>,
}

/// The stage of an object that is scheduled or was run.
#[derive(Clone)]
pub(crate) struct StageJob {
    /// The version of the object, and below the edition of the stage set.
    version: String,
    edition: u64,
    /// None if the stage was run, or no stage matches.
    stage: Option<Arc<Stage>>,
    due: Instant,
    /// How many of its effects were applied already.
    done: usize,
}

impl Reconciler for StageController {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some((version, node)) = self.cache.version(key) else {
            self.calls.lock().remove(key);
            if let ObjectCache::Pods(_) = *self.cache {
                self.context.pools.forget(key);
            }
            return pass.gone();
        };
        if node.is_some_and(|node| !self.context.is_ours(&node)) {
            return pass.done(|| "it is of another program's node: nothing to do");
        }
        if let Some(pod) = self.cache.pod(key) {
            self.context.pools.note(key, &pod);
        }
        let edition = self.context.stage_set.of_kind(&self.kind).0;
        let known =
            self.calls.lock().get(key).filter(|call| call.version == version && call.edition == edition).cloned();
        if let Some(call) = &known {
            if call.stage.is_none() {
                return pass.done(|| "its last stage is played: nothing to do");
            }
            let left = call.due.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                pass.decided(|| format!("not yet, in {left:?}"));
                return Ok(Action::RequeueAfter(left));
            }
        }
        let Some(object) = self.cache.json(key) else { return pass.gone() };
        self.play(pass, key, object, known).await
    }
}

impl StageController {
    async fn play(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        mut object: Json,
        mut known: Option<StageJob>,
    ) -> Result<Action, ReconcileError> {
        for _ in 0..MOST_AT_ONCE {
            let call = known.take().unwrap_or_else(|| self.choose(key, &object));
            let left = call.due.saturating_duration_since(Instant::now());
            let stage = call.stage.clone();
            self.calls.lock().insert(key.clone(), call.clone());
            let Some(stage) = stage else { return pass.done(|| "no stage is for it as it is: nothing to do") };
            if !left.is_zero() {
                pass.decided(|| format!("{} in {left:?}", stage.name()));
                return Ok(Action::RequeueAfter(left));
            }
            pass.decided(|| format!("play {}", stage.name()));
            let changed = self.perform(pass, key, &object, &call, &stage).await?;
            self.calls.lock().insert(key.clone(), StageJob { stage: None, ..call });
            match changed.filter(|_| stage.is_immediate) {
                Some(changed) => object = changed,
                None => return Ok(Action::Done),
            }
        }
        Ok(Action::Requeue)
    }

    fn choose(&self, key: &ObjectKey, object: &Json) -> StageJob {
        let (edition, lifecycle) = self.context.stage_set.of_kind(&self.kind);
        let Ambient { clock, random, .. } = &self.context.ambient;
        let now = clock.now();
        let keyed = |purpose| {
            let GroupVersionKind { group, kind, .. } = &self.kind;
            move || random.keyed(&[purpose, group, kind, &key.namespace, &key.name])
        };
        let chosen = lifecycle.choose(object, keyed("stage")).and_then(|stage| {
            let delay = stage.as_ref().and_then(|stage| stage.delay.as_ref());
            let delay = delay.map_or(Ok(SignedDuration::ZERO), |delay| delay.draw(object, now, keyed("delay")))?;
            Ok((stage, Duration::try_from(delay).unwrap_or_default()))
        });
        let (stage, delay) = chosen.unwrap_or_else(|why| {
            self.complain(key, object, &format!("no stage can be chosen: {why}"));
            (None, Duration::ZERO)
        });
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        let due = Instant::now().checked_add(delay).unwrap_or_else(Instant::now);
        StageJob { version, edition, stage, due, done: 0 }
    }

    /// Applies the effects of a stage; returns the object as the last patch left it.
    async fn perform(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        object: &Json,
        call: &StageJob,
        stage: &Stage,
    ) -> Result<Option<Json>, ReconcileError> {
        let effects = match self.effects(key, object, stage) {
            Ok(effects) => effects,
            Err(why) => {
                self.complain(key, object, &format!("stage {}: {why}", stage.name()));
                return Ok(None);
            }
        };
        let mut changed = None;
        for (at, effect) in effects.iter().enumerate().skip(call.done) {
            let result = match effect {
                Effect::Event(event) => {
                    self.say(pass, key, object, event);
                    Ok(None)
                }
                Effect::Delete => self.delete(pass.client(), key, object).await.map(|()| None),
                Effect::Patch(change) => self.patch(pass.client(), key, change, stage.is_immediate).await,
                Effect::Apply(change) => self.apply(pass.client(), key, change).await.map(|()| None),
            };
            match result {
                Ok(None) => {}
                Ok(Some(object)) => changed = Some(object),
                // Another client was faster: the next stage depends on the object as it is now.
                Err(Failure::Call(error)) if error.is_not_found() || error.is_conflict() => return Ok(None),
                Err(Failure::Call(error))
                    if error.status().is_none_or(|status| status.code >= 500 || status.code == 429) =>
                {
                    self.calls.lock().insert(key.clone(), StageJob { done: at, ..call.clone() });
                    return Err(error.into());
                }
                Err(failure) => {
                    self.complain(key, object, &format!("stage {}: {failure}", stage.name()));
                    return Ok(None);
                }
            }
        }
        Ok(changed)
    }

    fn effects(&self, key: &ObjectKey, object: &Json, stage: &Stage) -> Result<Vec<Effect>, String> {
        let functions = Functions {
            key,
            now: self.context.ambient.clock.now().to_string(),
            started: &self.context.started,
            addresses: &self.context.pools,
        };
        let otherwise = match *self.cache {
            ObjectCache::Pods(_) | ObjectCache::Nodes(_) => PatchType::Strategic,
            ObjectCache::Others(_) => PatchType::Merge,
        };
        effects(&stage.steps, object, otherwise, &functions)
    }

    async fn delete(&self, client: &Client, key: &ObjectKey, object: &Json) -> Result<(), Failure> {
        let params = DeleteParams::now().with_uid(object["metadata"]["uid"].as_str().unwrap_or_default());
        let api = Api::<PartialObject>::metadata(client, self.resource.clone());
        api.delete(key, &params).await.map(drop).map_err(Failure::Call)
    }

    async fn patch(
        &self,
        client: &Client,
        key: &ObjectKey,
        change: &StagePatch,
        is_read: bool,
    ) -> Result<Option<Json>, Failure> {
        let client = speaking(client, change);
        if !is_read && matches!(change.subresource.as_str(), "" | "status") {
            let api = Api::<PartialObject>::metadata(&client, self.resource.clone());
            let patched = match change.subresource.as_str() {
                "" => api.patch(key, &change.patch).await,
                _ => api.patch_status(key, &change.patch).await,
            };
            return patched.map(|_| None).map_err(Failure::Call);
        }
        let api = Api::<Object>::dynamic(&client, self.resource.clone());
        let patched = match change.subresource.as_str() {
            "" => api.patch(key, &change.patch).await.map(Object::into_value),
            "status" => api.patch_status(key, &change.patch).await.map(Object::into_value),
            other => api.patch_subresource::<Json>(key, other, &change.patch).await,
        };
        patched.map(Some).map_err(Failure::Call)
    }

    /// Creates or patches the object that a template describes. In KWOK: `lifecycle.ApplyResource`.
    async fn apply(&self, client: &Client, key: &ObjectKey, change: &StagePatch) -> Result<(), Failure> {
        let body = change.patch.body().clone();
        let mut object = Object::from_value(body).map_err(|error| Failure::Body(error.to_string()))?;
        let kind = object.group_version_kind().filter(|kind| !kind.kind.is_empty());
        let kind = kind.ok_or_else(|| Failure::Body("the template gives no apiVersion and kind".to_owned()))?;
        let (resource, scope) =
            self.context.rest_mapper.find(client, &kind).await.map_err(Failure::Call)?.ok_or_else(|| {
                Failure::Body(format!("the server serves no {} of {}", kind.kind, kind.api_version()))
            })?;
        if scope == Scope::Namespaced && object.namespace().is_empty() {
            object.set("metadata.namespace", key.namespace.as_str());
        }
        let target = object.key();
        if target.name.is_empty() {
            return Err(Failure::Body("the template gives no name".to_owned()));
        }
        let patch = match &change.patch {
            Patch::Apply { .. } => Patch::Apply { object: object.to_value(), force: true },
            Patch::Strategic(_) => Patch::Strategic(object.to_value()),
            _ => Patch::Merge(object.to_value()),
        };
        let client = speaking(client, change);
        let api = Api::<Object>::dynamic(&client, resource);
        let api = match patch {
            Patch::Apply { .. } => {
                api.writing(WriteParams { field_manager: MANAGER.to_owned(), ..WriteParams::default() })
            }
            _ => api,
        };
        match change.subresource.as_str() {
            "" => match api.create(&object).await {
                Err(error) if error.is_already_exists() => api.patch(&target, &patch).await.map(drop),
                created => created.map(drop),
            },
            "status" => api.patch_status(&target, &patch).await.map(drop),
            other => api.patch_subresource::<Json>(&target, other, &patch).await.map(drop),
        }
        .map_err(Failure::Call)
    }

    fn say(&self, pass: &Pass, key: &ObjectKey, object: &Json, event: &StageEvent) {
        let event_type = if event.event_type == "Warning" { EventType::Warning } else { EventType::Normal };
        let events = self.context.events.in_pass(pass);
        events.event_on(self.reference(key, object), event_type, &event.reason, event.message.as_str());
    }

    /// Records an event on the object for a stage that failed.
    fn complain(&self, key: &ObjectKey, object: &Json, why: &str) {
        self.context.events.event_on(self.reference(key, object), EventType::Warning, "StageFailed", why);
    }

    fn reference(&self, key: &ObjectKey, object: &Json) -> ObjectReference {
        ObjectReference {
            api_version: self.kind.api_version(),
            kind: self.kind.kind.clone(),
            name: key.name.clone(),
            namespace: key.namespace.clone(),
            uid: object["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
            ..ObjectReference::default()
        }
    }
}

impl StageContext {
    /// Whether stages apply to this node and its pods.
    fn is_ours(&self, node: &str) -> bool {
        let found = self.nodes.get(&ObjectKey::cluster(node));
        found.is_some_and(|found| is_simulated(&found)) && (self.acts)(node)
    }
}

/// Why an effect failed.
enum Failure {
    /// The request failed.
    Call(coracle_client::Error),
    /// The template is not a valid object.
    Body(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => error.fmt(f),
            Self::Body(why) => f.write_str(why),
        }
    }
}

fn speaking(client: &Client, change: &StagePatch) -> Client {
    match &change.user {
        Some(user) => client.impersonating(user),
        None => client.clone(),
    }
}
