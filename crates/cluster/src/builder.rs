use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_kubelet::{NodeSpec, SavedNodes};
use coracle_stages::{Stage, StageSet};

use crate::kept_store::KeptStore;
use crate::{ApiServerOptions, Audit, ServiceRoutes, StoreSpec, Transport};

/// A layer between a component and the API server: a latency, a fault. Called once for each start of a component, and
/// for each simulated node as `kubelet/NAME`. Nodes share one reader as `kubelet`, except nodes with their own
/// informers.
pub type TransportLayer = Arc<dyn Fn(&str, Transport) -> Transport + Send + Sync>;

/// The configuration of a cluster. Everything has a default.
#[derive(Clone)]
pub struct Builder {
    pub(crate) ambient: Option<Ambient>,
    pub(crate) recorder: Recorder,
    pub(crate) store: StoreSpec,
    pub(crate) api_server: ApiServerOptions,
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) delays: coracle_kubelet::Delays,
    pub(crate) stages: Option<Arc<StageSet>>,
    pub(crate) controllers: coracle_controllers::Config,
    pub(crate) scheduler: coracle_scheduler::Config,
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) components: Components,
    pub(crate) csi_driver: bool,
    pub(crate) metrics_server: bool,
    pub(crate) saved_nodes: Option<SavedNodes>,
    pub(crate) kept_store: Option<KeptStore>,
}

/// Which components run in addition to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Components {
    All,
    None,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("store", &self.store).field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            ambient: None,
            recorder: Recorder::off(),
            store: StoreSpec::Memory,
            api_server: ApiServerOptions::default(),
            nodes: Vec::new(),
            delays: coracle_kubelet::Delays::default(),
            stages: None,
            controllers: coracle_controllers::Config::default(),
            scheduler: coracle_scheduler::Config::default(),
            layer: None,
            components: Components::All,
            csi_driver: false,
            metrics_server: false,
            saved_nodes: None,
            kept_store: None,
        }
    }
}

impl Builder {
    /// Sets the number of simulated nodes, with the names `node-1` and so on.
    #[must_use]
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = (1..=count).map(|number| NodeSpec::new(format!("node-{number}"))).collect();
        self
    }

    /// Sets the simulated nodes.
    #[must_use]
    pub fn node_specs(mut self, nodes: Vec<NodeSpec>) -> Self {
        self.nodes = nodes;
        self
    }

    /// The simulated nodes continue from this state, which was saved with the store or after it.
    #[must_use]
    pub fn saved_nodes(mut self, saved: SavedNodes) -> Self {
        self.saved_nodes = Some(saved);
        self
    }

    /// How long pods take to start, become ready and stop on simulated nodes.
    #[must_use]
    pub fn pod_delays(mut self, delays: coracle_kubelet::Delays) -> Self {
        self.delays = delays;
        self
    }

    /// Drives nodes and pods by these Stages, and by the Stage objects of the API. Stages can also drive objects of
    /// other kinds.
    #[must_use]
    pub fn stages(mut self, stages: Vec<Stage>) -> Self {
        self.stages = Some(Arc::new(StageSet::new(stages)));
        self
    }

    /// Sets the seed of all randomness, and a clock that starts at a fixed date.
    ///
    /// Without a seed, a cluster on a paused clock has the seed 0, and any other the system's clock and randomness.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.ambient(Ambient::seeded(seed))
    }

    /// Sets the clock and the randomness.
    #[must_use]
    pub fn ambient(mut self, ambient: Ambient) -> Self {
        self.ambient = Some(ambient);
        self
    }

    /// Sets the event log.
    #[must_use]
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = recorder;
        self
    }

    /// Sets the store.
    #[must_use]
    pub fn store(mut self, store: StoreSpec) -> Self {
        self.store = store;
        self
    }

    /// Starts with the content of this store. Controllers, scheduler and nodes start without state of their own, and
    /// continue from the objects in the store.
    #[must_use]
    pub fn kept_store(mut self, kept: KeptStore) -> Self {
        self.kept_store = Some(kept);
        self
    }

    /// Sets the configuration of the API server.
    #[must_use]
    pub fn api_server(mut self, options: ApiServerOptions) -> Self {
        self.api_server = options;
        self
    }

    /// Sets the programs that serve the API server's calls to Services and URLs.
    #[must_use]
    pub fn service_routes(mut self, routes: ServiceRoutes) -> Self {
        self.api_server.service_routes = routes;
        self
    }

    /// Sets the audit policy and log.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.api_server.audit = Some(audit);
        self
    }

    /// Sets the configuration of the controllers.
    #[must_use]
    pub fn controllers(mut self, config: coracle_controllers::Config) -> Self {
        self.controllers = config;
        self
    }

    /// Sets the configuration of the scheduler; `scheduler::Configuration::read` reads it from a
    /// `KubeSchedulerConfiguration`.
    #[must_use]
    pub fn scheduler(mut self, config: coracle_scheduler::Config) -> Self {
        self.scheduler = config;
        self
    }

    /// Sets a layer between each component and the API server.
    #[must_use]
    pub fn transport_layer(mut self, layer: TransportLayer) -> Self {
        self.layer = Some(layer);
        self
    }

    /// Adds the simulated CSI driver and its default StorageClass `standard`, so that claims get volumes.
    #[must_use]
    pub fn csi_driver(mut self) -> Self {
        self.csi_driver = true;
        self
    }

    /// Sets whether the resource usage of pods is served as `metrics.k8s.io`, as by metrics-server; off by default.
    #[must_use]
    pub fn metrics_server(mut self, is_there: bool) -> Self {
        self.metrics_server = is_there;
        self
    }

    /// Starts only the API server and its store: no controllers, no scheduler, no nodes.
    #[must_use]
    pub fn api_server_only(mut self) -> Self {
        self.components = Components::None;
        self
    }
}
