use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::{Ambient, gated};
use coracle_api::core_v1::Node;
use coracle_client::Client;
use coracle_controller_runtime::{Controller, EventRecorder, Process, key_of};
use coracle_informer::SharedInformer;
use coracle_journal::Recorder;
use coracle_meta::{GroupVersion, GroupVersionKind, GroupVersionResource};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::controller::object_cache::ObjectCache;
use crate::controller::objects::{StageObjects, UsageObjects};
use crate::controller::pools::Pools;
use crate::controller::rest_mapper::RestMapper;
use crate::controller::stage_controller::{StageContext, StageController};
use crate::stage::API_VERSION;
use crate::stage_set::StageSet;
use crate::usages::KINDS;

/// How soon a server that does not answer is called again.
const RETRY: Duration = Duration::from_millis(500);
/// How many objects of a kind are processed concurrently.
const WORKERS: usize = 16;

/// Applies a [`StageSet`] to the objects of the API: Nodes that are simulated here or annotated `kwok.x-k8s.io/node:
/// fake`, the pods on them, and all objects of any other kind that a Stage names.
///
/// In KWOK: `kwok-controller`.
pub struct StageRunner {
    stage_set: Arc<StageSet>,
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    acts: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl std::fmt::Debug for StageRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StageRunner").field("kinds", &self.stage_set.kinds()).finish_non_exhaustive()
    }
}

impl StageRunner {
    /// A runner that writes through `client`. `acts` returns false for a node that is stopped or partitioned.
    pub fn new(
        stage_set: Arc<StageSet>,
        client: Client,
        ambient: Ambient,
        recorder: Recorder,
        acts: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let client = client.with_user_agent(concat!("kwok/", env!("CARGO_PKG_VERSION")));
        Self { stage_set, client, ambient, recorder, acts: Arc::new(acts) }
    }

    /// Runs until the future is dropped.
    ///
    /// # Panics
    /// If a controller panics.
    pub async fn run(&self) {
        let process = Process::new("stages", &self.client, &self.ambient, &self.recorder);
        tokio::join!(biased; process.run(), self.follow(&process));
    }

    async fn follow(&self, process: &Process) {
        let nodes = process.informers.informer::<Node>();
        let context = Arc::new(StageContext {
            stage_set: self.stage_set.clone(),
            rest_mapper: RestMapper::default(),
            pools: Pools::new(nodes.lister()),
            nodes: nodes.lister(),
            ambient: self.ambient.clone(),
            events: EventRecorder::new(process, "stages"),
            started: self.ambient.clock.now().to_string(),
            acts: self.acts.clone(),
        });
        let served = Arc::new(Notify::new());
        let definitions = GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        process.informers.on_metadata(&definitions, &process.actor("definitions"), {
            let served = served.clone();
            move |_, _| served.notify_one()
        });
        nodes.synced().await;
        let mut controllers = StageControllers::new(process, context, nodes);
        loop {
            if let Err(error) = controllers.context.rest_mapper.read(&self.client).await {
                tracing::debug!(%error, "the player of stages cannot ask what is served");
                sleep(RETRY).await;
                continue;
            }
            controllers.open();
            let changed = {
                let ended = pin!(controllers.ended());
                let (changed, served) = (pin!(self.stage_set.changed.notified()), pin!(served.notified()));
                let news = pin!(select(changed, served));
                matches!(select(ended, news).await, Either::Right((Either::Left(_), _)))
            };
            if changed {
                controllers.wake();
            }
        }
    }
}

/// The running controllers.
struct StageControllers<'p> {
    process: &'p Process,
    context: Arc<StageContext>,
    nodes: SharedInformer<Node>,
    running: BTreeSet<GroupVersionKind>,
    tasks: JoinSet<()>,
    /// Each enqueues all objects of a kind.
    wakes: Vec<Box<dyn Fn() + Send + Sync>>,
}

impl<'p> StageControllers<'p> {
    fn new(process: &'p Process, context: Arc<StageContext>, nodes: SharedInformer<Node>) -> Self {
        Self { process, context, nodes, running: BTreeSet::new(), tasks: JoinSet::new(), wakes: Vec::new() }
    }

    /// Starts a controller for each kind of the stage set that is served and has none, and one for Stages themselves
    /// and for each kind of usage object.
    fn open(&mut self) {
        let stages = GroupVersion::parse(API_VERSION).map(|version| version.kind("Stage"));
        if let Some(kind) = stages.filter(|kind| !self.running.contains(kind))
            && let Some((resource, _)) = self.context.rest_mapper.known(&kind)
        {
            let stages = self.process.informers.dynamic(&resource);
            let reader = StageObjects {
                stages: stages.lister(),
                stage_set: self.context.stage_set.clone(),
                events: self.context.events.clone(),
            };
            let controller = Controller::new(self.process, "objects", reader).watches(&stages, key_of);
            self.tasks.spawn(gated(controller.run()));
            self.running.insert(kind);
        }
        for word in KINDS {
            let kind = GroupVersion::parse(API_VERSION).map(|version| version.kind(word));
            let Some(kind) = kind.filter(|kind| !self.running.contains(kind)) else { continue };
            let Some((resource, _)) = self.context.rest_mapper.known(&kind) else { continue };
            let usages = self.process.informers.dynamic(&resource);
            let reader = UsageObjects {
                kind: word,
                usages: usages.lister(),
                stage_set: self.context.stage_set.clone(),
                events: self.context.events.clone(),
            };
            let controller = Controller::new(self.process, word, reader).watches(&usages, key_of);
            self.tasks.spawn(gated(controller.run()));
            self.running.insert(kind);
        }
        for kind in self.context.stage_set.kinds() {
            let Some((resource, _)) = self.context.rest_mapper.known(&kind) else { continue };
            if self.running.insert(kind.clone()) {
                self.open_controller(kind, resource);
            }
        }
    }

    fn open_controller(&mut self, kind: GroupVersionKind, resource: GroupVersionResource) {
        let name = resource.resource.clone();
        let cache = Arc::new(ObjectCache::of(&self.process.informers, &resource));
        let controller = StageController {
            kind,
            resource,
            cache: cache.clone(),
            context: self.context.clone(),
            calls: Mutex::default(),
        };
        let controller = Controller::new(self.process, &name, controller).workers(WORKERS);
        let controller = cache.followed_by(controller, &self.nodes);
        let queue = controller.queue();
        self.wakes.push(Box::new(move || cache.keys().into_iter().for_each(|key| queue.add(key, &[]))));
        self.tasks.spawn(gated(controller.run()));
    }

    fn wake(&self) {
        self.wakes.iter().for_each(|wake| wake());
    }

    /// Waits forever, unless a controller panics.
    async fn ended(&mut self) {
        loop {
            match self.tasks.join_next().await {
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}
