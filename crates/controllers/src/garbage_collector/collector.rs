use std::sync::Arc;

use coracle_api::core_v1::ObjectReference;
use coracle_client::Propagation;
use coracle_controller_runtime::{Action, EntryId, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Notification;
use coracle_meta::{AnyObject, GroupVersionKind, OwnerReference, PartialObject, Scope};
use coracle_workqueue::WorkQueue;
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::graph::{FOREGROUND, Graph, NodeSnapshot, ORPHAN, Task};
use super::identity::Identity;
use super::objects::{LookupFailure, Objects};

/// How many dependents are processed at a time, for owners that may have very many.
const TOGETHER: usize = 500;

/// What the two kinds of workers share: the graph, and the queues of objects to examine.
#[derive(Debug)]
pub(crate) struct Collector {
    graph: Mutex<Graph>,
    pub(crate) objects: Objects,
    to_delete: WorkQueue<Identity>,
    to_orphan: WorkQueue<Identity>,
    events: EventRecorder,
}

/// Decides whether an object must be deleted. In Kubernetes: `attemptToDeleteWorker`.
#[derive(Clone, Debug)]
pub(crate) struct Deleting(pub(crate) Arc<Collector>);

/// Orphans the dependents of an object. In Kubernetes: `attemptToOrphanWorker`.
#[derive(Clone, Debug)]
pub(crate) struct Orphaning(pub(crate) Arc<Collector>);

/// The classified owner references of an object.
#[derive(Debug, Default, PartialEq)]
struct Owners {
    /// Owners that exist.
    solid: usize,
    /// References to owners that do not exist.
    dangling: Vec<String>,
    /// Owners that wait until this object is gone.
    waiting: Vec<String>,
}

impl Collector {
    pub(crate) fn new(to_delete: WorkQueue<Identity>, to_orphan: WorkQueue<Identity>, events: EventRecorder) -> Self {
        Self { graph: Mutex::default(), objects: Objects::new(), to_delete, to_orphan, events }
    }

    /// Enters a change of an object into the graph, and queues the resulting tasks.
    pub(crate) fn notice(
        &self,
        kind: &GroupVersionKind,
        notification: &Notification<dyn AnyObject>,
        causes: &[EntryId],
    ) {
        let meta = notification.object().object_meta();
        let old = notification.old().map(|old| old.object_meta());
        let tasks = match notification {
            Notification::Deleted { .. } => self.graph.lock().observe_deletion(kind, &meta),
            Notification::Added { .. } | Notification::Updated { .. } => {
                self.graph.lock().observe(kind, old.as_deref(), &meta)
            }
        };
        self.queue(tasks, causes);
    }

    fn queue(&self, tasks: Vec<Task>, causes: &[EntryId]) {
        for task in tasks {
            match task {
                Task::Delete(item) => self.to_delete.add(item, causes),
                Task::DeleteLater(item) => self.to_delete.add_rate_limited(item, causes),
                Task::Orphan(item) => self.to_orphan.add(item, causes),
                Task::Report(item, owner) => self.report(&item, &owner),
            }
        }
    }

    fn report(&self, item: &Identity, owner: &Identity) {
        let Identity { api_version, kind, name, uid, .. } = owner;
        let namespace = &item.namespace;
        let message = format!(
            "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}] does not exist in \
             namespace {namespace:?}"
        );
        let reference = ObjectReference {
            api_version: item.api_version.to_string(),
            kind: item.kind.to_string(),
            namespace: namespace.to_string(),
            name: item.name.to_string(),
            uid: item.uid.to_string(),
            ..ObjectReference::default()
        };
        self.events.event_on(reference, EventType::Warning, "OwnerRefInvalidNamespace", message);
    }

    async fn attempt(&self, pass: &Pass, view: &NodeSnapshot) -> Result<(), LookupFailure> {
        let (client, item) = (pass.client(), &view.identity);
        if view.being_deleted && !view.deleting_dependents {
            pass.decided(|| "it is being deleted already: nothing to do");
            return Ok(());
        }
        let Some(latest) = self.objects.get(client, item).await? else {
            pass.decided(|| "it is not there: forget it");
            let tasks = self.graph.lock().observe_absence(item);
            self.queue(tasks, pass.cause().as_slice());
            return Ok(());
        };
        if view.deleting_dependents {
            return self.finish_foreground(pass, view).await;
        }
        let owners = self.classify(pass, item, &latest.metadata.owner_references).await?;
        if owners.solid > 0 {
            let gone: Vec<_> = owners.dangling.into_iter().chain(owners.waiting).collect();
            pass.decided(|| match gone.len() {
                0 => "an owner is there: keep it".to_owned(),
                gone => format!("{} owners are there, {gone} are gone: remove those", owners.solid),
            });
            if gone.is_empty() {
                return Ok(());
            }
            return self.objects.remove_owners(client, item, &gone).await;
        }
        if latest.metadata.owner_references.is_empty() {
            pass.decided(|| "it names no owner: nothing to do");
            return Ok(());
        }
        if !owners.waiting.is_empty() && self.graph.lock().has_dependents(&item.uid) {
            pass.decided(|| "an owner waits until it is gone: delete it, what it owns first");
            let in_circle = self.graph.lock().has_waiting_dependents(&item.uid);
            if in_circle {
                // A cycle of objects that wait for each other would never end.
                self.objects.unblock_owners(client, item, &latest.metadata.owner_references).await?;
            }
            return self.objects.delete(client, item, &latest, Propagation::Foreground).await;
        }
        pass.decided(|| format!("none of its {} owners is there: delete it", latest.metadata.owner_references.len()));
        self.objects.delete(client, item, &latest, own_policy(&latest)).await
    }

    /// Removes the finalizer of an owner whose blocking dependents are gone; otherwise queues the dependents. In
    /// Kubernetes: `processDeletingDependentsItem`.
    async fn finish_foreground(&self, pass: &Pass, view: &NodeSnapshot) -> Result<(), LookupFailure> {
        let uid = &view.identity.uid;
        if !self.graph.lock().is_blocked(uid) {
            pass.decided(|| "nothing that it waits for is left: let it go");
            return self.objects.remove_finalizer(pass.client(), &view.identity, FOREGROUND).await;
        }
        // All dependents were queued when the owner began to wait, and each deletion of one queues the owner again.
        let blocking = self.graph.lock().blocking(uid, TOGETHER);
        pass.decided(|| format!("it waits for {} that it owns", blocking.len()));
        for dependent in blocking {
            self.to_delete.add(dependent, pass.cause().as_slice());
        }
        Ok(())
    }

    /// Looks up each owner, live. In Kubernetes: `classifyReferences`.
    async fn classify(
        &self,
        pass: &Pass,
        item: &Identity,
        references: &[OwnerReference],
    ) -> Result<Owners, LookupFailure> {
        let mut owners = Owners::default();
        for reference in references {
            match self.owner(pass, item, reference).await? {
                None => owners.dangling.push(reference.uid.clone()),
                Some(owner) if waits_for_dependents(&owner) => owners.waiting.push(reference.uid.clone()),
                Some(_) => owners.solid += 1,
            }
        }
        Ok(owners)
    }

    /// The owner that a reference names; `None` if it does not exist. In Kubernetes: `isDangling`.
    async fn owner(
        &self,
        pass: &Pass,
        item: &Identity,
        reference: &OwnerReference,
    ) -> Result<Option<PartialObject>, LookupFailure> {
        let in_cluster = Identity::referred(reference, "");
        let in_namespace = Identity::referred(reference, &item.namespace);
        {
            let graph = self.graph.lock();
            if graph.is_absent(&in_cluster) || graph.is_absent(&in_namespace) {
                return Ok(None);
            }
        }
        let (_, _, scope) = self.objects.find(pass.client(), &in_namespace)?;
        let owner = if scope == Scope::Namespaced { in_namespace } else { in_cluster };
        let found = self.objects.get(pass.client(), &owner).await?;
        if found.is_none() {
            self.graph.lock().remember_absent(owner);
        }
        Ok(found)
    }

    async fn orphan_dependents(&self, pass: &Pass, view: &NodeSnapshot) -> Result<(), LookupFailure> {
        let owner = [view.identity.uid.to_string()];
        let mut after = None;
        loop {
            let dependents = self.graph.lock().dependents_after(&view.identity.uid, after.as_deref(), TOGETHER);
            let Some(last) = dependents.last() else { break };
            after = Some(last.uid.clone());
            let release = |item| self.objects.remove_owners(pass.client(), item, &owner);
            for result in join_all(dependents.iter().map(release)).await {
                match result {
                    Err(LookupFailure::Again(ReconcileError::Call(error))) if error.is_not_found() => {}
                    result => result?,
                }
            }
        }
        pass.decided(|| "nothing names it as its owner any more: let it go");
        self.objects.remove_finalizer(pass.client(), &view.identity, ORPHAN).await
    }
}

impl Reconciler<Identity> for Deleting {
    async fn reconcile(&self, pass: &Pass, item: &Identity) -> Result<Action, ReconcileError> {
        let Some(view) = self.0.graph.lock().view(&item.uid) else { return pass.gone() };
        match self.0.attempt(pass, &view).await {
            Err(LookupFailure::NoNamespace) => Ok(Action::Done),
            Err(LookupFailure::Again(error)) => Err(error),
            // An existing virtual owner will be seen soon by an informer; until then the object is requeued.
            Ok(()) if self.0.graph.lock().is_virtual(&item.uid) => Ok(Action::Requeue),
            Ok(()) => Ok(Action::Done),
        }
    }
}

impl Reconciler<Identity> for Orphaning {
    async fn reconcile(&self, pass: &Pass, item: &Identity) -> Result<Action, ReconcileError> {
        let Some(view) = self.0.graph.lock().view(&item.uid) else { return pass.gone() };
        match self.0.orphan_dependents(pass, &view).await {
            Err(LookupFailure::Again(error)) => Err(error),
            Ok(()) | Err(LookupFailure::NoNamespace) => Ok(Action::Done),
        }
    }
}

/// The propagation policy for an object without owners: by its own finalizers.
fn own_policy(object: &PartialObject) -> Propagation {
    let has = |finalizer: &str| object.metadata.finalizers.iter().any(|own| own == finalizer);
    if has(ORPHAN) {
        Propagation::Orphan
    } else if has(FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

fn waits_for_dependents(owner: &PartialObject) -> bool {
    owner.metadata.is_terminating() && owner.metadata.finalizers.iter().any(|finalizer| finalizer == FOREGROUND)
}
