use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Ambient;
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

use super::objects::{StageObjects, UsageObjects};
use super::pools::Pools;
use super::programme::Programme;
use super::repertoire::Repertoire;
use super::show::{Show, Stagehand};
use super::shown::Shown;
use super::stage::API_VERSION;
use super::usages::KINDS;

/// How long until a server that does not answer is asked again.
const RETRY: Duration = Duration::from_millis(500);
/// How many objects of a kind are worked on at once.
const WORKERS: usize = 16;

/// Plays a [`Programme`] for the objects of the API: Nodes that are simulated here or annotated `kwok.x-k8s.io/node:
/// fake`, the pods on them, and all objects of any other kind that a Stage names.
///
/// In KWOK: `kwok-controller`.
pub struct Player {
    programme: Arc<Programme>,
    client: Client,
    ambient: Ambient,
    recorder: Recorder,
    acts: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl std::fmt::Debug for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Player").field("kinds", &self.programme.kinds()).finish_non_exhaustive()
    }
}

impl Player {
    /// Plays for whoever `client` may write to. `acts` says no for a node on which nothing happens at present.
    pub fn new(
        programme: Arc<Programme>,
        client: Client,
        ambient: Ambient,
        recorder: Recorder,
        acts: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let client = client.with_user_agent(concat!("kwok/", env!("CARGO_PKG_VERSION")));
        Self { programme, client, ambient, recorder, acts: Arc::new(acts) }
    }

    /// Plays until it is dropped.
    ///
    /// # Panics
    /// If a show does.
    pub async fn run(&self) {
        let process = Process::new("stages", &self.client, &self.ambient, &self.recorder);
        tokio::join!(biased; process.run(), self.follow(&process));
    }

    async fn follow(&self, process: &Process) {
        let nodes = process.informers.informer::<Node>();
        let hand = Arc::new(Stagehand {
            programme: self.programme.clone(),
            repertoire: Repertoire::default(),
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
        let mut shows = Shows::new(process, hand, nodes);
        loop {
            if let Err(error) = shows.hand.repertoire.read(&self.client).await {
                tracing::debug!(%error, "the player of stages cannot ask what is served");
                sleep(RETRY).await;
                continue;
            }
            shows.open();
            let changed = {
                let ended = pin!(shows.ended());
                let (changed, served) = (pin!(self.programme.changed.notified()), pin!(served.notified()));
                let news = pin!(select(changed, served));
                matches!(select(ended, news).await, Either::Right((Either::Left(_), _)))
            };
            if changed {
                shows.wake();
            }
        }
    }
}

/// The shows that run.
struct Shows<'p> {
    process: &'p Process,
    hand: Arc<Stagehand>,
    nodes: SharedInformer<Node>,
    running: BTreeSet<GroupVersionKind>,
    tasks: JoinSet<()>,
    /// Queue all objects of a kind each.
    wakes: Vec<Box<dyn Fn() + Send + Sync>>,
}

impl<'p> Shows<'p> {
    fn new(process: &'p Process, hand: Arc<Stagehand>, nodes: SharedInformer<Node>) -> Self {
        Self { process, hand, nodes, running: BTreeSet::new(), tasks: JoinSet::new(), wakes: Vec::new() }
    }

    /// Opens a show for each kind of the programme that is served and has none, and one for
    /// Stages themselves and each kind that says what pods use.
    fn open(&mut self) {
        let stages = GroupVersion::parse(API_VERSION).map(|version| version.kind("Stage"));
        if let Some(kind) = stages.filter(|kind| !self.running.contains(kind))
            && let Some((resource, _)) = self.hand.repertoire.known(&kind)
        {
            let stages = self.process.informers.dynamic(&resource);
            let reader = StageObjects {
                stages: stages.lister(),
                programme: self.hand.programme.clone(),
                events: self.hand.events.clone(),
            };
            let controller = Controller::new(self.process, "objects", reader).watches(&stages, key_of);
            self.tasks.spawn(controller.run());
            self.running.insert(kind);
        }
        for word in KINDS {
            let kind = GroupVersion::parse(API_VERSION).map(|version| version.kind(word));
            let Some(kind) = kind.filter(|kind| !self.running.contains(kind)) else { continue };
            let Some((resource, _)) = self.hand.repertoire.known(&kind) else { continue };
            let usages = self.process.informers.dynamic(&resource);
            let reader = UsageObjects {
                kind: word,
                usages: usages.lister(),
                programme: self.hand.programme.clone(),
                events: self.hand.events.clone(),
            };
            let controller = Controller::new(self.process, word, reader).watches(&usages, key_of);
            self.tasks.spawn(controller.run());
            self.running.insert(kind);
        }
        for kind in self.hand.programme.kinds() {
            let Some((resource, _)) = self.hand.repertoire.known(&kind) else { continue };
            if self.running.insert(kind.clone()) {
                self.open_show(kind, resource);
            }
        }
    }

    fn open_show(&mut self, kind: GroupVersionKind, resource: GroupVersionResource) {
        let name = resource.resource.clone();
        let shown = Arc::new(Shown::of(&self.process.informers, &resource));
        let show = Show { kind, resource, shown: shown.clone(), hand: self.hand.clone(), calls: Mutex::default() };
        let controller = Controller::new(self.process, &name, show).workers(WORKERS);
        let controller = shown.followed_by(controller, &self.nodes);
        let queue = controller.queue();
        self.wakes.push(Box::new(move || shown.keys().into_iter().for_each(|key| queue.add(key, &[]))));
        self.tasks.spawn(controller.run());
    }

    fn wake(&self) {
        self.wakes.iter().for_each(|wake| wake());
    }

    /// Waits for ever, unless a show panics.
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
