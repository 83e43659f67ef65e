use std::borrow::Cow;
use std::sync::Arc;

use coracle_meta::{Object, ObjectKey, Status, json, reason};
use coracle_storage::{Attempt, Draft, Freshness, Stored, Write};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::intent::{AdmissionScope, IntendedObject, Intent, OwnKind};
use super::plan::Plan;
use crate::{Kind, Operation, Registry, Request, Reservation, object_meta};

/// The result of a write.
pub(super) struct Committed {
    /// The current object, or the last state of a deleted one, in the stored version.
    pub(super) stored: Stored,
    pub(super) fate: CommitOutcome,
    /// The previous object.
    pub(super) before: Option<Arc<Object>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitOutcome {
    Created,
    Changed,
    Gone,
    Kept,
}

/// The result of one attempt.
enum Outcome<T> {
    Done(T),
    /// Another write was first; this is the current object.
    Stale(Option<Stored>),
}

/// The effect of a plan.
struct Effect {
    stored: Stored,
    fate: CommitOutcome,
    /// Whether the store has changed: the write was not a dry run, and the object differs from the stored one.
    is_real: bool,
}

/// A write in progress: what is the same in all attempts.
struct Commit<'a> {
    registry: &'a Registry,
    request: &'a Request,
    kind: &'a Kind,
    key: ObjectKey,
}

impl Registry {
    /// Writes, and retries on conflict with another write. In Kubernetes: `GuaranteedUpdate` below the verbs of
    /// `Store`.
    pub(super) fn commit<'a>(
        &'a self,
        request: &'a Request,
        kind: &'a Kind,
        intent: &'a mut dyn Intent,
    ) -> BoxFuture<'a, Result<Committed, Status>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(async move {
            let commit = Commit { registry: self, request, kind, key: kind.key(request) };
            let mut current = if intent.is_creation() { None } else { commit.read(&commit.key).await? };
            loop {
                match commit.attempt(intent, current.as_ref()).await {
                    Ok(Outcome::Done(committed)) => return Ok(committed),
                    Ok(Outcome::Stale(now)) => current = now,
                    Err(status) => {
                        if let Some(stored) = current.as_ref().filter(|_| status.is_conflict()) {
                            request.audit.stored(&stored.revision().to_string());
                        }
                        return Err(status);
                    }
                }
            }
        })
    }

    /// The requested object after mutating plug-ins, in the version of the request.
    pub(super) async fn mutated(
        &self,
        request: &Request,
        kind: &Kind,
        wanted: Object,
        live: Option<&Object>,
    ) -> Result<Object, Status> {
        let (mut wanted, has_changed) = self.mutate(request, kind, operation(live), wanted, live).await?;
        object_meta::deduplicate_owners(&mut wanted, request, true);
        if has_changed {
            kind.strategy().set_defaults(&mut wanted);
        }
        Ok(wanted)
    }
}

impl Commit<'_> {
    async fn read(&self, key: &ObjectKey) -> Result<Option<Stored>, Status> {
        self.registry.inner.storage.get(&self.kind.store, key, Freshness::Newest).await
    }

    async fn attempt(&self, intent: &mut dyn Intent, current: Option<&Stored>) -> Result<Outcome<Committed>, Status> {
        let mut request = Cow::Borrowed(self.request);
        let existing = current.map(Stored::object);
        let live = || existing.as_ref().map(|object| self.kind.served(object)).transpose();
        let live = self.registry.planned(&request, self.kind, live).await?;
        let wanted = || intent.wanted(self.registry, live.as_deref());
        let mut wanted = match self.registry.planned(&request, self.kind, wanted).await? {
            IntendedObject::Nothing => None,
            IntendedObject::ToMutate(wanted) => {
                Some(self.mutate(&mut request, wanted, live.as_deref(), intent.part()).await?)
            }
            IntendedObject::Mutated(wanted) => Some(wanted),
        };
        let mut reservation = None;
        if let Some(wanted) = &mut wanted {
            name(&mut request, wanted);
            intent.complete(self.registry, wanted, existing.as_deref())?;
            if intent.reserves() {
                reservation = self.reserve(&request, wanted, existing.as_deref()).await?;
            }
        }
        let plan = || intent.plan(wanted.as_mut().map(|wanted| self.kind.for_run(wanted)), existing.as_ref());
        let planned = self.registry.planned(&request, self.kind, plan).await;
        let outcome = match planned {
            Ok(plan) => {
                let (asked, part) = (intent.admission(), intent.part());
                self.carry_out(asked, part, &mut request, plan, current, live.as_deref()).await
            }
            Err(status) => Err(status),
        };
        settle(reservation, &outcome).await;
        let Effect { stored, fate, is_real } = match outcome? {
            Outcome::Done(effect) => effect,
            Outcome::Stale(now) => return Ok(Outcome::Stale(now)),
        };
        if is_real {
            let now = (fate != CommitOutcome::Gone).then(|| stored.object());
            let hooks = &self.kind.hub().spec().hooks;
            hooks.after(self.registry, &request, now.as_deref(), existing.as_deref()).await?;
        }
        Ok(Outcome::Done(Committed { stored, fate, before: existing }))
    }

    /// The requested object after mutating plug-ins, in the stored version.
    async fn mutate(
        &self,
        request: &mut Cow<'_, Request>,
        wanted: Object,
        live: Option<&Object>,
        part: Option<&dyn OwnKind>,
    ) -> Result<Object, Status> {
        name(request, &wanted);
        let mut wanted = match (part, live) {
            (Some(part), Some(live)) => {
                let before = part.with_owners(live)?;
                let mutated = self.registry.mutate(request, self.kind, Operation::Update, wanted, Some(&before));
                part.put_into(live, mutated.await?.0)?
            }
            _ => self.registry.mutated(request, self.kind, wanted, live).await?,
        };
        if live.is_none() {
            self.registry.authorize_create(request).await?;
        }
        let ruled = || self.kind.to_ruled(self.kind.for_run(&mut wanted));
        self.registry.planned(request, self.kind, ruled).await
    }

    async fn reserve(
        &self,
        request: &Request,
        wanted: &mut Object,
        existing: Option<&Object>,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        let hooks = &self.kind.hub().spec().hooks;
        match existing {
            None => hooks.begin_create(self.registry, request, wanted).await,
            Some(existing) => hooks.begin_update(self.registry, request, wanted, existing).await,
        }
    }

    /// Applies the plan, if the plug-ins admit it.
    async fn carry_out(
        &self,
        asked: AdmissionScope<'_>,
        part: Option<&dyn OwnKind>,
        request: &mut Cow<'_, Request>,
        plan: Plan,
        current: Option<&Stored>,
        live: Option<&Object>,
    ) -> Result<Outcome<Effect>, Status> {
        self.admit(asked, part, request, &plan, live).await?;
        self.act(asked, plan, current).await
    }

    /// Lets the plug-ins refuse the plan.
    async fn admit(
        &self,
        asked: AdmissionScope<'_>,
        part: Option<&dyn OwnKind>,
        request: &mut Cow<'_, Request>,
        plan: &Plan,
        live: Option<&Object>,
    ) -> Result<(), Status> {
        match (plan, asked, live) {
            (Plan::Put { .. } | Plan::Delete { .. }, AdmissionScope::OfDeletions(options), Some(live)) => {
                self.registry.admit_delete(request, self.kind, options, live).await
            }
            (Plan::Put { object, .. } | Plan::Delete { shown: Some(object) }, AdmissionScope::OfWrites, live) => {
                name(request, object);
                let (Some(part), Some(live)) = (part, live) else {
                    return self.registry.admit_stored(request, self.kind, operation(live), object, live).await;
                };
                let served = self.registry.planned(request, self.kind, || self.kind.served(object)).await?;
                let (new, old) = (part.of(&served)?, part.of(live)?);
                self.registry.admit(request, self.kind, Operation::Update, &new, Some(&old)).await
            }
            _ => Ok(()),
        }
    }

    /// Applies the plan.
    async fn act(
        &self,
        asked: AdmissionScope<'_>,
        plan: Plan,
        current: Option<&Stored>,
    ) -> Result<Outcome<Effect>, Status> {
        match (plan, current) {
            (Plan::Put { object, then_delete: false }, current) => self.put(asked, object, current).await,
            (Plan::Put { object, then_delete: true }, current) => match self.put(asked, object, current).await? {
                Outcome::Done(Effect { stored, .. }) => self.delete(&stored, None).await,
                stale => Ok(stale),
            },
            (Plan::Delete { shown }, Some(current)) => self.delete(current, shown).await,
            (Plan::Keep, Some(current)) => Ok(Outcome::unchanged(current, CommitOutcome::Kept)),
            (Plan::Delete { .. } | Plan::Keep, None) => Err(self.request.not_found()),
        }
    }

    async fn put(
        &self,
        asked: AdmissionScope<'_>,
        object: Arc<Object>,
        current: Option<&Stored>,
    ) -> Result<Outcome<Effect>, Status> {
        let (fate, key) = match current {
            None => (CommitOutcome::Created, object.key()),
            Some(_) => (CommitOutcome::Changed, self.key.clone()),
        };
        check_depth(&object)?;
        let mut draft = Draft::new(object);
        if let Some(current) = current.filter(|current| current.value() == draft.value()) {
            return Ok(Outcome::unchanged(current, fate));
        }
        // An object that waits for finalizers is not deleted automatically.
        let is_deletion = matches!(asked, AdmissionScope::OfDeletions(_));
        let ttl_seconds = self.kind.hub().spec().time_to_live.filter(|_| !is_deletion);
        let mut outcome = self.store(&key, current, Write::Put { draft: &draft, ttl_seconds }, fate).await;
        if let Some(smaller) = outcome.as_ref().err().and_then(|status| without_owners(status, &draft)) {
            draft = smaller;
            outcome = self.store(&key, current, Write::Put { draft: &draft, ttl_seconds }, fate).await;
        }
        if let Ok(Outcome::Done(Effect { stored, is_real: true, .. })) = &outcome {
            self.registry.inner.storage.remember(stored, draft);
        }
        outcome
    }

    async fn delete(&self, current: &Stored, shown: Option<Arc<Object>>) -> Result<Outcome<Effect>, Status> {
        let outcome = self.store(&self.key, Some(current), Write::Delete, CommitOutcome::Gone).await?;
        Ok(match (outcome, shown) {
            (Outcome::Done(effect), Some(shown)) => {
                Outcome::Done(Effect { stored: Stored::from_object(&shown, current.revision()), ..effect })
            }
            // If several clients remove the last finalizer, one request deletes, and all succeed.
            (Outcome::Stale(None), Some(shown)) => {
                let stored = Stored::from_object(&shown, current.revision());
                Outcome::Done(Effect { stored, fate: CommitOutcome::Gone, is_real: true })
            }
            (outcome, _) => outcome,
        })
    }

    /// Writes to the store, or for a dry run returns what would have been written.
    async fn store(
        &self,
        key: &ObjectKey,
        current: Option<&Stored>,
        write: Write<'_>,
        fate: CommitOutcome,
    ) -> Result<Outcome<Effect>, Status> {
        let is_real = !self.request.dry_run;
        let attempt = if is_real {
            let storage = &self.registry.inner.storage;
            storage.write(&self.kind.store, key, current, write, self.request.cause).await?
        } else {
            self.pretend(key, current, write).await?
        };
        Ok(match attempt {
            Attempt::Done(stored) => Outcome::Done(Effect { stored, fate, is_real }),
            Attempt::Stale(now) => Outcome::Stale(now),
        })
    }

    async fn pretend(&self, key: &ObjectKey, current: Option<&Stored>, write: Write<'_>) -> Result<Attempt, Status> {
        Ok(match (write, current) {
            (Write::Put { draft, .. }, Some(current)) => Attempt::Done(draft.as_of(current.revision())),
            (Write::Put { draft, .. }, None) => match self.read(key).await? {
                // A dry run gets no new version, so the object keeps the one that the client sent.
                None => Attempt::Done(draft.as_of(draft.object().resource_version().parse().unwrap_or(0))),
                taken => Attempt::Stale(taken),
            },
            (Write::Delete, Some(current)) => Attempt::Done(current.clone()),
            (Write::Delete, None) => Attempt::Stale(None),
        })
    }
}

impl Outcome<Effect> {
    fn unchanged(current: &Stored, fate: CommitOutcome) -> Self {
        Self::Done(Effect { stored: current.clone(), fate, is_real: false })
    }
}

async fn settle(reservation: Option<Box<dyn Reservation>>, outcome: &Result<Outcome<Effect>, Status>) {
    match (reservation, outcome) {
        (None, _) => {}
        (Some(reservation), Ok(Outcome::Done(Effect { is_real: true, .. }))) => reservation.commit().await,
        (Some(reservation), _) => reservation.release().await,
    }
}

fn operation(live: Option<&Object>) -> Operation {
    if live.is_some() { Operation::Update } else { Operation::Create }
}

/// Passes the name of a created object to plug-ins as soon as it is known.
fn name(request: &mut Cow<'_, Request>, object: &Object) {
    if request.at.name.is_empty() && !object.name().is_empty() {
        object.name().clone_into(&mut Arc::make_mut(&mut request.to_mut().at).name);
    }
}

/// Refuses an object that exceeds the maximum depth of written objects. The fields of `managedFields` are as deep as
/// the object, and a few levels more.
fn check_depth(object: &Object) -> Result<(), Status> {
    let metadata = object.field("metadata").and_then(Value::as_object);
    let depths = object.tree().iter().filter(|(name, _)| *name != "metadata").map(|(_, value)| json::depth(value) + 1);
    let of_metadata = metadata.into_iter().flatten().filter(|(name, _)| *name != "managedFields");
    let deepest = depths.chain(of_metadata.map(|(_, value)| json::depth(value) + 2)).max().unwrap_or(0);
    if deepest <= json::DEEPEST_WRITTEN {
        return Ok(());
    }
    let message = format!("Request entity too large: {}", json::too_deep(json::DEEPEST_WRITTEN));
    Err(Status::failure(413, reason::REQUEST_ENTITY_TOO_LARGE, message))
}

/// The next attempt after the store has refused an object for its size: the same object without managed fields.
fn without_owners(refusal: &Status, draft: &Draft) -> Option<Draft> {
    let is_too_large = refusal.reason == reason::REQUEST_ENTITY_TOO_LARGE;
    if !is_too_large || draft.object().field("metadata.managedFields").is_none() {
        return None;
    }
    let mut smaller = Object::clone(draft.object());
    smaller.remove("metadata.managedFields");
    Some(Draft::new(smaller))
}
