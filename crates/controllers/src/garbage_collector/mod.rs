//! Deletes objects whose owners are gone, and lets owners wait for their dependents or orphan them.
//!
//! ```text
//! informers of every kind --metadata--> Graph (ownership) --Task--> queues --> Collector, which reads live
//! ```
//! [`graph`] is pure: observed changes lead to tasks. [`collector`] carries them out. Discovery runs at the start,
//! and whenever an object that defines kinds changes. In Kubernetes: `pkg/controller/garbagecollector`. Unlike
//! Kubernetes: discovery does not run every 30 s, because the objects that define kinds are watched like all others.

mod collector;
mod graph;
mod identity;
mod mapper;
mod node;
mod objects;

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_ambient::gated;
use coracle_client::ApiResource;
use coracle_controller_runtime::{Controller, EventRecorder, Process};
use coracle_meta::GroupVersionResource;
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use self::collector::{Collector, Deleting, Orphaning};
use self::mapper::Mapper;
use crate::Config;
use crate::served_kinds::ServedKinds;

const NAME: &str = "garbage-collector";

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let to_delete = process.queue(NAME, RateLimiter::default());
    let to_orphan = process.queue(&format!("{NAME}-orphans"), RateLimiter::default());
    let events = EventRecorder::new(process, "garbage-collector-controller");
    let collector = Arc::new(Collector::new(to_delete.clone(), to_orphan.clone(), events));
    let deleting = Controller::on_queue(process, NAME, to_delete, Deleting(collector.clone()));
    let orphaning = Controller::on_queue(process, NAME, to_orphan, Orphaning(collector.clone()));
    let deleting = deleting.client(config.client(process)).workers(20);
    let orphaning = orphaning.client(config.client(process)).workers(20);
    let monitors = Monitors {
        kinds: ServedKinds::new(process, NAME),
        process: process.clone(),
        collector,
        monitored: BTreeSet::new(),
    };
    Box::pin(async move {
        let mut monitors = monitors;
        monitors.update().await;
        // No object is judged before all caches are synced.
        monitors.process.informers.synced().await;
        let mut tasks = JoinSet::new();
        tasks.spawn(gated(deleting.run()));
        tasks.spawn(gated(orphaning.run()));
        tasks.spawn(gated(async move { monitors.run().await }));
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    })
}

/// One informer for each collectable kind.
struct Monitors {
    kinds: ServedKinds,
    process: Process,
    collector: Arc<Collector>,
    monitored: BTreeSet<GroupVersionResource>,
}

impl Monitors {
    async fn run(&mut self) {
        loop {
            self.kinds.changed().await;
            self.update().await;
        }
    }

    /// Monitors exactly the kinds that are served now.
    async fn update(&mut self) {
        let resources = self.kinds.now().await;
        self.collector.objects.served(Mapper::new(&resources));
        let collectable: Vec<_> = resources.iter().filter(|found| is_collectable(found)).collect();
        let wanted: BTreeSet<_> = collectable.iter().map(|found| found.resource.clone()).collect();
        for gone in self.monitored.difference(&wanted) {
            self.process.informers.forget(gone);
        }
        for found in collectable {
            if !self.monitored.contains(&found.resource) {
                self.monitor(found);
            }
        }
        self.monitored = wanted;
    }

    fn monitor(&self, found: &ApiResource) {
        let (collector, kind) = (self.collector.clone(), found.kind.clone());
        self.process.informers.on_metadata(&found.resource, &self.process.actor(NAME), move |notification, causes| {
            collector.notice(&kind, notification, causes);
        });
    }
}

/// In Kubernetes: `GetDeletableResources`, without the kinds ignored by default: events.
fn is_collectable(found: &ApiResource) -> bool {
    let is_event =
        found.resource.resource == "events" && ["", "events.k8s.io"].contains(&found.resource.group.as_str());
    found.preferred && !is_event && found.supports(&["delete", "list", "watch"])
}
