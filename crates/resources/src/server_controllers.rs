//! The controllers inside the API server, which write the status of objects that configure it.
//! In Kubernetes: post-start hooks of kube-apiserver and the aggregator.

use std::sync::Arc;

use coracle_meta::Status;
use coracle_registry::{Derived, Flows, Registry};
use futures_util::future::BoxFuture;

use crate::aggregation::Aggregation;
use crate::authentication_trust::AuthenticationTrust;
use crate::flowcontrol::{self, ByFlowTable, FlowTable, flow_table};
use crate::legacy_token_tracking::LegacyTokenTracking;

/// The controllers inside one API server.
pub struct ServerControllers {
    registry: Registry,
    flows: Arc<Derived<FlowTable>>,
    all: Vec<Box<dyn Controller>>,
}

impl std::fmt::Debug for ServerControllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerControllers")
    }
}

impl ServerControllers {
    /// The controllers of the API server over `registry`, with its `trust`. They start with [`Self::sync`] or
    /// [`Self::tasks`].
    pub fn new(registry: &Registry, trust: AuthenticationTrust) -> Self {
        let flows = Arc::new(flow_table());
        let all: Vec<Box<dyn Controller>> = vec![
            acting("priority-and-fairness-config-consumer", Arc::clone(&flows), flowcontrol::write_conditions),
            Box::new(Aggregation::default()),
            Box::new(LegacyTokenTracking::default()),
            Box::new(trust),
            Box::new(CustomKindFinalizer),
        ];
        Self { registry: registry.clone(), flows, all }
    }

    /// Sorts requests by the flow schemas that the controllers have seen.
    pub fn flows(&self) -> Arc<dyn Flows> {
        Arc::new(ByFlowTable(Arc::clone(&self.flows)))
    }

    /// Runs each controller once. An error because of a stored object is ignored, so that no object prevents the start
    /// of the API server; the controllers retry while they run.
    ///
    /// # Errors
    /// If the store does not respond.
    pub async fn sync(&self) -> Result<(), Status> {
        for controller in &self.all {
            match controller.sync(&self.registry).await {
                Err(status) if matches!(status.code, 503 | 504) => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }

    /// For each controller its name and a function that starts it. A controller runs until its future is dropped, and
    /// can be started again afterwards.
    pub fn tasks(self) -> impl Iterator<Item = (&'static str, StartTask)> {
        let registry = self.registry;
        self.all.into_iter().map(move |controller| {
            let (registry, name) = (registry.clone(), controller.name());
            let controller: Arc<dyn Controller> = controller.into();
            let begin: StartTask = Box::new(move || Arc::clone(&controller).run(registry.clone()));
            (name, begin)
        })
    }
}

/// Starts a controller.
pub type StartTask = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The action after a change of a value.
type Act<T> = fn(Registry, Arc<T>) -> BoxFuture<'static, Result<(), Status>>;

/// A derived value and the action after each change of it. The action is level-triggered: it depends only on stored
/// objects.
struct Acting<T> {
    name: &'static str,
    value: Arc<Derived<T>>,
    act: Act<T>,
}

fn acting<T: Default + Send + Sync + 'static>(
    name: &'static str,
    value: Arc<Derived<T>>,
    act: Act<T>,
) -> Box<dyn Controller> {
    Box::new(Acting { name, value, act })
}

/// An [`Acting`] with an erased type.
trait Controller: Send + Sync {
    fn name(&self) -> &'static str;
    fn sync<'a>(&'a self, registry: &'a Registry) -> BoxFuture<'a, Result<(), Status>>;
    fn run(self: Arc<Self>, registry: Registry) -> BoxFuture<'static, ()>;
}

impl<T: Default + Send + Sync + 'static> Controller for Acting<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn sync<'a>(&'a self, registry: &'a Registry) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(self.value.sync(registry, self.act))
    }

    fn run(self: Arc<Self>, registry: Registry) -> BoxFuture<'static, ()> {
        Box::pin(async move { match self.value.follow(&registry, self.act).await {} })
    }
}

impl Controller for LegacyTokenTracking {
    fn name(&self) -> &'static str {
        "legacy-token-tracking-controller"
    }

    fn sync<'a>(&'a self, registry: &'a Registry) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move { LegacyTokenTracking::sync(self, registry).await.map(drop) })
    }

    fn run(self: Arc<Self>, registry: Registry) -> BoxFuture<'static, ()> {
        Box::pin(async move { match LegacyTokenTracking::run(&self, registry).await {} })
    }
}

impl Controller for Aggregation {
    fn name(&self) -> &'static str {
        "apiservice-status-available-controller"
    }

    fn sync<'a>(&'a self, registry: &'a Registry) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(Aggregation::sync(self, registry))
    }

    fn run(self: Arc<Self>, registry: Registry) -> BoxFuture<'static, ()> {
        Box::pin(async move { match Aggregation::run(&self, registry).await {} })
    }
}

impl Controller for AuthenticationTrust {
    fn name(&self) -> &'static str {
        "cluster_authentication_trust_controller"
    }

    fn sync<'a>(&'a self, registry: &'a Registry) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(AuthenticationTrust::sync(self, registry))
    }

    fn run(self: Arc<Self>, registry: Registry) -> BoxFuture<'static, ()> {
        Box::pin(async move { match AuthenticationTrust::run(&self, registry).await {} })
    }
}

/// Removes terminating CustomResourceDefinitions.
struct CustomKindFinalizer;

impl Controller for CustomKindFinalizer {
    fn name(&self) -> &'static str {
        "crd-finalizer"
    }

    fn sync<'a>(&'a self, _registry: &'a Registry) -> BoxFuture<'a, Result<(), Status>> {
        // A terminating definition waits for the deletion of its objects, for which the start must not wait.
        Box::pin(std::future::ready(Ok(())))
    }

    fn run(self: Arc<Self>, registry: Registry) -> BoxFuture<'static, ()> {
        Box::pin(async move { match registry.finish_custom_kinds().await {} })
    }
}
