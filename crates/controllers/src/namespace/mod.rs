//! Deletes the content of a namespace that is being deleted, and then its finalizer.
//!
//! A round runs discovery, and deletes the pods and, once they are gone, everything else. [`conditions`] reports what
//! is left, and a later round continues. An empty namespace loses its finalizer through `/finalize`. In Kubernetes:
//! `pkg/controller/namespace`.

mod conditions;

use std::time::Duration;

use coracle_ambient::Clock;
use coracle_api::core_v1::{Namespace, Pod};
use coracle_client::{Api, ApiResource, DeleteParams, Error, List, ListParams, Propagation};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_meta::{ObjectKey, PartialObject, Resource, Scope, format_time, parse_time};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use self::conditions::Findings;
use crate::Config;

/// Deletion of the content starts this long after the namespace's deletion, so that concurrent creations have
/// completed.
///
/// In Kubernetes: `namespaceDeletionGracePeriod`.
const GRACE: Duration = Duration::from_secs(5);
/// The estimated time for objects with finalizers. In Kubernetes: `finalizerEstimateSeconds`.
const FINALIZER_ESTIMATE: u64 = 15;
/// The finalizer that this controller removes.
const FINALIZER: &str = "kubernetes";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let namespaces = process.informers.informer::<Namespace>();
    let limits = RateLimiter::exponential(Duration::from_millis(5), Duration::from_secs(60));
    let emptying = Emptying { clock: process.ambient.clock.clone() };
    let queue = process.queue("namespace", limits);
    let controller = Controller::on_queue(process, "namespace", queue.clone(), emptying)
        .client(config.client(process))
        .reads(&namespaces)
        .workers(10);
    namespaces.add_handler(controller.actor(), move |notification, causes| {
        let namespace = notification.object();
        if namespace.metadata.is_terminating() {
            queue.add_after(namespace.key(), GRACE, causes);
        }
    });
    Box::pin(controller.run())
}

struct Emptying {
    clock: Clock,
}

impl Reconciler for Emptying {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let namespaces: Api<Namespace> = pass.api();
        let Some(mut namespace) = namespaces.find(key).await? else { return pass.gone() };
        if !namespace.metadata.is_terminating() {
            return pass.done(|| "it is to stay: nothing to do");
        }
        if namespace.status.phase != "Terminating" {
            pass.decided(|| "it is being deleted: say so");
            "Terminating".clone_into(&mut namespace.status.phase);
            namespace = namespaces.update_status(&namespace).await?;
        }
        if namespace.spec.finalizers.is_empty() {
            return pass.done(|| "nothing holds it: nothing to do");
        }
        let findings = Round::new(pass, &namespace.metadata, &self.clock).run().await;
        let now = format_time(self.clock.now());
        if conditions::update(&mut namespace.status.conditions, &findings, &now) {
            match namespaces.update_status(&namespace).await {
                Ok(updated) => namespace = updated,
                Err(error) => tracing::debug!(%error, %key, "the conditions of a namespace were not written"),
            }
        }
        pass.decided(|| findings.sentence());
        if let Some(error) = findings.error() {
            return Err(ReconcileError::Object(error));
        }
        if findings.estimate > 0 {
            return Ok(Action::RequeueAfter(Duration::from_secs((findings.estimate / 2).saturating_add(1))));
        }
        namespace.spec.finalizers.retain(|finalizer| finalizer != FINALIZER);
        let version = namespace.metadata.resource_version.clone().unwrap_or_default();
        match namespaces.update_subresource::<Namespace>(key, "finalize", &namespace, &version).await {
            Ok(_) => Ok(Action::Done),
            Err(error) if error.is_not_found() => Ok(Action::Done),
            Err(error) => Err(error.into()),
        }
    }
}

/// One round over everything in a namespace.
struct Round<'a> {
    pass: &'a Pass,
    namespace: &'a str,
    /// For how long the namespace has been terminating.
    deleting_for: Duration,
    findings: Findings,
}

impl<'a> Round<'a> {
    fn new(pass: &'a Pass, namespace: &'a coracle_meta::ObjectMeta, clock: &Clock) -> Self {
        let deleted_at = namespace.deletion_timestamp.as_deref().and_then(parse_time);
        let deleting_for = deleted_at.map(|at| clock.now().duration_since(at));
        Self {
            pass,
            namespace: namespace.name.as_deref().unwrap_or_default(),
            deleting_for: deleting_for.and_then(|time| Duration::try_from(time).ok()).unwrap_or_default(),
            findings: Findings::default(),
        }
    }

    async fn run(mut self) -> Findings {
        self.delete_everything().await;
        self.findings
    }

    /// Pods first; while some are left nothing else is deleted. In Kubernetes: `deleteAllContent`.
    async fn delete_everything(&mut self) {
        let resources = match self.pass.client().discover_current().await {
            Ok((resources, stale)) => {
                // The content of other groups is deleted all the same; the namespace stays while these groups may
                // hold more.
                self.findings.discovery_failure = conditions::stale_groups(&stale);
                let is_current = |found: &ApiResource| !stale.contains(&found.resource.group_version());
                resources.into_iter().filter(is_current).collect::<Vec<_>>()
            }
            Err(error) => {
                self.findings.discovery_failure = Some(error.to_string());
                return;
            }
        };
        let mut resources: Vec<_> = resources
            .into_iter()
            .filter(|found| found.preferred && found.scope == Scope::Namespaced && found.supports(&["delete"]))
            .collect();
        resources.sort_by(|one, other| one.resource.cmp(&other.resource));
        let (pods, others): (Vec<_>, Vec<_>) =
            resources.into_iter().partition(|found| found.resource == Pod::resource());
        for resource in pods {
            if self.delete_all_of(&resource).await {
                // While pods are left the conditions report no counts.
                self.findings.remaining.clear();
                self.findings.finalizers.clear();
                return;
            }
        }
        for resource in others {
            self.delete_all_of(&resource).await;
        }
    }

    /// Deletes all objects of a kind; returns whether any are left.
    async fn delete_all_of(&mut self, resource: &ApiResource) -> bool {
        let api = Api::metadata(self.pass.client(), resource.resource.clone()).within(self.namespace);
        let grace = if resource.resource == Pod::resource() { self.grace_of_pods().await } else { Ok(0) };
        let left = match grace {
            Ok(grace) => {
                self.findings.estimate = self.findings.estimate.max(grace);
                delete_and_list(&api, resource).await.map(|left| (left, grace))
            }
            Err(error) => Err(error),
        };
        match left {
            Err(error) => {
                self.findings.failures.push(error.to_string());
                false
            }
            Ok((left, _)) if left.is_empty() => false,
            Ok((left, grace)) => {
                self.count(resource, &left, grace);
                true
            }
        }
    }

    fn count(&mut self, resource: &ApiResource, left: &[PartialObject], grace: u64) {
        self.findings.remaining.insert(resource.resource.clone(), left.len());
        let finalizers: Vec<_> = left.iter().flat_map(|object| object.metadata.finalizers.iter()).collect();
        for finalizer in &finalizers {
            *self.findings.finalizers.entry((*finalizer).clone()).or_default() += 1;
        }
        if grace > 0 {
            return;
        }
        if finalizers.is_empty() {
            let (group, version) = (&resource.resource.group, &resource.resource.version);
            let name = format!("{group}/{version}, Resource={}", resource.resource.resource);
            let namespace = self.namespace;
            let failure = format!("unexpected items still remain in namespace: {namespace} for gvr: {name}");
            self.findings.failures.push(failure);
        } else {
            self.findings.estimate = self.findings.estimate.max(FINALIZER_ESTIMATE);
        }
    }

    /// The longest remaining grace period of a pod. In Kubernetes: `estimateGracefulTermination`.
    async fn grace_of_pods(&self) -> Result<u64, Error> {
        let pods: List<Pod> = self.pass.api::<Pod>().within(self.namespace).list(&ListParams::default()).await?;
        let grace = pods.items.iter().filter(|pod| !pod.is_finished());
        let grace = grace.filter_map(|pod| pod.spec.termination_grace_period_seconds).max().unwrap_or(0);
        let grace = u64::try_from(grace).unwrap_or(0);
        Ok(if self.deleting_for >= Duration::from_secs(grace) { 0 } else { grace })
    }
}

/// Deletes all objects of a kind in the namespace of `api`, and returns those that are left.
async fn delete_and_list(api: &Api<PartialObject>, resource: &ApiResource) -> Result<Vec<PartialObject>, Error> {
    let params = DeleteParams::propagating(Propagation::Background);
    if resource.supports(&["deletecollection"]) {
        api.delete_collection(&params, &ListParams::default()).await?;
    } else if resource.supports(&["list"]) {
        for object in api.list(&ListParams::default()).await?.items {
            let key = coracle_meta::ApiObject::object_key(&object);
            match api.delete(&key, &params).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
    }
    if resource.supports(&["list"]) { Ok(api.list(&ListParams::default()).await?.items) } else { Ok(Vec::new()) }
}
