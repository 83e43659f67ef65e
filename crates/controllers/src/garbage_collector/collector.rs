use std::sync::Arc;

use coracle_api::core_v1::ObjectReference;
use coracle_client::Propagation;
use coracle_controller_runtime::{Action, EntryId, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Notification;
use coracle_meta::{GroupVersionKind, ObjectMeta, OwnerReference, PartialObject, Scope};
use coracle_workqueue::WorkQueue;
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::graph::{FOREGROUND, Graph, Identity, ORPHAN, Task, View};
use super::objects::{Failure, Objects};

/// What the two kinds of workers share: the graph, and the queues of what is to be looked into.
#[derive(Debug)]
pub(crate) struct Collector {
    graph: Mutex<Graph>,
    pub(crate) objects: Objects,
    to_delete: WorkQueue<Identity>,
    to_orphan: WorkQueue<Identity>,
    events: EventRecorder,
}

/// Decides whether an object is to be deleted. In Kubernetes: `attemptToDeleteWorker`.
#[derive(Clone, Debug)]
pub(crate) struct Deleting(pub(crate) Arc<Collector>);

/// Lets the dependents of an object go. In Kubernetes: `attemptToOrphanWorker`.
#[derive(Clone, Debug)]
pub(crate) struct Orphaning(pub(crate) Arc<Collector>);

/// What an object's owner references amount to.
#[derive(Debug, Default, PartialEq)]
struct Owners {
    /// Owners that exist.
    solid: usize,
    /// References to owners that do not.
    dangling: Vec<String>,
    /// Owners that wait until this object is gone.
    waiting: Vec<String>,
}

impl Collector {
    pub(crate) fn new(to_delete: WorkQueue<Identity>, to_orphan: WorkQueue<Identity>, events: EventRecorder) -> Self {
        Self { graph: Mutex::default(), objects: Objects::new(), to_delete, to_orphan, events }
    }

    /// Enters a change of an object into the graph, and queues what it leads to.
    pub(crate) fn notice(&self, kind: &GroupVersionKind, notification: &Notification<ObjectMeta>, causes: &[EntryId]) {
        let tasks = match notification {
            Notification::Added { object, .. } => self.graph.lock().observe(kind, None, object),
            Notification::Updated { old, new } => self.graph.lock().observe(kind, Some(old), new),
            Notification::Deleted { object, .. } => self.graph.lock().observe_deletion(kind, object),
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

    fn report(&self, item: &Identity, owner: &OwnerReference) {
        let OwnerReference { api_version, kind, name, uid, .. } = owner;
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

    async fn attempt(&self, pass: &Pass, view: &View) -> Result<(), Failure> {
        let (client, item) = (pass.client(), &view.identity);
        if view.being_deleted && !view.deleting_dependents {
            return Ok(());
        }
        let Some(latest) = self.objects.get(client, item).await? else {
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
            if gone.is_empty() {
                return Ok(());
            }
            return self.objects.remove_owners(client, item, &gone).await;
        }
        if latest.metadata.owner_references.is_empty() {
            return Ok(());
        }
        if !owners.waiting.is_empty() && !view.dependents.is_empty() {
            if view.dependents.iter().any(|dependent| dependent.deleting_dependents) {
                // A cycle of objects that wait for each other would wait for ever.
                self.objects.unblock_owners(client, item, &view.owners).await?;
            }
            return self.objects.delete(client, item, &latest, Propagation::Foreground).await;
        }
        self.objects.delete(client, item, &latest, own_policy(&latest)).await
    }

    /// An owner whose blocking dependents are gone may go; before that they are brought up. In Kubernetes:
    /// `processDeletingDependentsItem`.
    async fn finish_foreground(&self, pass: &Pass, view: &View) -> Result<(), Failure> {
        if !view.dependents.iter().any(|dependent| dependent.blocks) {
            return self.objects.remove_finalizer(pass.client(), &view.identity, FOREGROUND).await;
        }
        for dependent in &view.dependents {
            if dependent.blocks && !dependent.deleting_dependents {
                self.to_delete.add(dependent.identity.clone(), pass.cause().as_slice());
            }
        }
        Ok(())
    }

    /// Looks at each owner, live. In Kubernetes: `classifyReferences`.
    async fn classify(&self, pass: &Pass, item: &Identity, references: &[OwnerReference]) -> Result<Owners, Failure> {
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

    /// The owner that a reference means; `None` if there is none. In Kubernetes: `isDangling`.
    async fn owner(
        &self,
        pass: &Pass,
        item: &Identity,
        reference: &OwnerReference,
    ) -> Result<Option<PartialObject>, Failure> {
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

    async fn orphan_dependents(&self, pass: &Pass, view: &View) -> Result<(), Failure> {
        let owner = [view.identity.uid.to_string()];
        let release = |item| self.objects.remove_owners(pass.client(), item, &owner);
        let released = join_all(view.dependents.iter().map(|dependent| release(&dependent.identity))).await;
        for result in released {
            match result {
                Err(Failure::Again(ReconcileError::Call(error))) if error.is_not_found() => {}
                result => result?,
            }
        }
        self.objects.remove_finalizer(pass.client(), &view.identity, ORPHAN).await
    }
}

impl Reconciler<Identity> for Deleting {
    async fn reconcile(&self, pass: &Pass, item: &Identity) -> Result<Action, ReconcileError> {
        let Some(view) = self.0.graph.lock().view(&item.uid) else { return Ok(Action::Done) };
        match self.0.attempt(pass, &view).await {
            Err(Failure::NoNamespace) => Ok(Action::Done),
            Err(Failure::Again(error)) => Err(error),
            // What exists and was only heard of so far will be seen soon; until then somebody has to look again.
            Ok(()) if self.0.graph.lock().view(&item.uid).is_some_and(|view| view.is_virtual) => Ok(Action::Requeue),
            Ok(()) => Ok(Action::Done),
        }
    }
}

impl Reconciler<Identity> for Orphaning {
    async fn reconcile(&self, pass: &Pass, item: &Identity) -> Result<Action, ReconcileError> {
        let Some(view) = self.0.graph.lock().view(&item.uid) else { return Ok(Action::Done) };
        match self.0.orphan_dependents(pass, &view).await {
            Err(Failure::Again(error)) => Err(error),
            Ok(()) | Err(Failure::NoNamespace) => Ok(Action::Done),
        }
    }
}

/// How an object is deleted that nobody owns any more: as its own finalizers say.
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
