//! The controllers inside the API server: they report what it makes of objects about itself.
//! In Kubernetes: post-start hooks of kube-apiserver and the aggregator.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Object, Status, WatchEvent};
use coracle_registry::{Flows, ListOptions, Registry, Request, Stored, Verb, Watch};

use crate::api_service::Availability;
use crate::flowcontrol::{Dangling, FlowTable};

/// How long a controller waits after an error.
const RETRY: Duration = Duration::from_secs(1);

/// A controller that makes statuses follow from what is stored, whatever happened before.
#[async_trait]
pub(crate) trait Controller: Send + Sync + 'static {
    /// The resources after whose changes there may be something to do, as things are.
    async fn reads(&self, registry: &Registry) -> Result<Vec<GroupVersionResource>, Status>;

    /// Brings everything up to date.
    async fn sync(&self, registry: &Registry) -> Result<(), Status>;
}

/// The controllers inside one API server.
pub struct ServerControllers {
    registry: Registry,
    flows: Arc<FlowTable>,
    all: [Box<dyn Controller>; 2],
}

impl std::fmt::Debug for ServerControllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerControllers")
    }
}

impl ServerControllers {
    /// Of the server over `registry`. Nothing happens before [`Self::sync`] or [`Self::run`].
    pub fn new(registry: &Registry) -> Self {
        let flows = Arc::new(FlowTable::default());
        let dangling = Dangling { flows: Arc::clone(&flows) };
        Self { registry: registry.clone(), flows, all: [Box::new(dangling), Box::new(Availability)] }
    }

    /// Sorts requests by the flow schemas that the controllers have seen.
    pub fn flows(&self) -> Arc<dyn Flows> {
        Arc::clone(&self.flows) as Arc<dyn Flows>
    }

    /// Brings everything up to date, once.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn sync(&self) -> Result<(), Status> {
        for controller in &self.all {
            controller.sync(&self.registry).await?;
        }
        Ok(())
    }

    /// Keeps everything up to date until dropped.
    pub async fn run(self) {
        futures_util::future::join_all(self.all.iter().map(|controller| run(&**controller, &self.registry))).await;
    }
}

async fn run(controller: &dyn Controller, registry: &Registry) {
    loop {
        if follow(controller, registry).await.is_err() {
            tokio::time::sleep(RETRY).await;
        }
    }
}

/// Syncs whenever something has changed, until it takes other watches to know.
async fn follow(controller: &dyn Controller, registry: &Registry) -> Result<(), Status> {
    let reads = controller.reads(registry).await?;
    let mut watches = Vec::new();
    for resource in &reads {
        watches.push(watch(registry, resource.clone()).await?);
    }
    loop {
        controller.sync(registry).await?;
        if controller.reads(registry).await? != reads {
            return Ok(());
        }
        let next = watches.iter_mut().map(|watch| Box::pin(watch.next()));
        let (event, ..) = futures_util::future::select_all(next).await;
        check(event)?;
        for watch in &mut watches {
            while let Some(event) = watch.try_next() {
                check(Some(event))?;
            }
        }
    }
}

/// An error if a watch has ended.
fn check(event: Option<WatchEvent<Stored>>) -> Result<(), Status> {
    match event {
        None => Err(Status::internal("the watch has ended")),
        Some(WatchEvent::Error(status)) => Err(status),
        Some(_) => Ok(()),
    }
}

/// A watch of what happens from now on.
async fn watch(registry: &Registry, resource: GroupVersionResource) -> Result<Watch, Status> {
    let request = Request::new(Verb::Watch, resource, registry.ambient().clock.now());
    let options = ListOptions {
        send_initial_events: Some(false),
        resource_version_match: "NotOlderThan".to_owned(),
        ..ListOptions::default()
    };
    registry.watch(&request, &options).await
}

/// All objects of a resource.
pub(crate) async fn list(registry: &Registry, resource: &GroupVersionResource) -> Result<Vec<Arc<Object>>, Status> {
    let request = Request::new(Verb::List, resource.clone(), registry.ambient().clock.now());
    let list = registry.list(&request, &ListOptions::default()).await?;
    Ok(list.items.iter().map(Stored::object).collect())
}
