use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_kubelet::{NodeSpec, SavedNodes};
use coracle_release::Release;
use coracle_stages::{Stage, StageSet};
use coracle_storage_backend::StoreContent;

use crate::kept_store::KeptStore;
use crate::{ApiServerOptions, Audit, RealTime, Requester, RequesterKind, ServiceRoutes, StoreSpec, Transport};

/// Wraps the transport between a requester and the API server, for example to add a latency or a fault.
///
/// The cluster calls it at least once for each start of a component, for each identity of the component, and for each
/// simulated node as `kubelet/NAME`. Nodes share the transport `kubelet` for reads, except nodes with informers of
/// their own. The requests have their `User` in the extensions, except those of other processes whose credentials are
/// not valid.
pub type TransportLayer = Arc<dyn Fn(&Requester, Transport) -> Transport + Send + Sync>;

/// The options of a [`Cluster`](crate::Cluster). Everything has a default.
#[derive(Clone)]
pub struct Builder {
    pub(crate) ambient: Option<Ambient>,
    pub(crate) recorder: Recorder,
    pub(crate) store: StoreSpec,
    pub(crate) api_server: ApiServerOptions,
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) delays: coracle_kubelet::Delays,
    pub(crate) images: coracle_kubelet::Images,
    pub(crate) stages: Option<Arc<StageSet>>,
    pub(crate) controllers: coracle_controllers::Config,
    /// Unset: that of `api_server`.
    pub(crate) kubernetes: Option<Release>,
    /// Unset: the default configuration of the release.
    pub(crate) scheduler: Option<coracle_scheduler::Config>,
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) components: Components,
    pub(crate) csi_driver: bool,
    pub(crate) metrics_server: bool,
    pub(crate) own_informers: BTreeSet<String>,
    pub(crate) saved_nodes: Option<SavedNodes>,
    pub(crate) kept_store: Option<KeptStore>,
}

/// The components that run in addition to the API server.
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
            images: coracle_kubelet::Images::default(),
            stages: None,
            controllers: coracle_controllers::Config::default(),
            kubernetes: None,
            scheduler: None,
            layer: None,
            components: Components::All,
            csi_driver: false,
            metrics_server: false,
            own_informers: BTreeSet::new(),
            saved_nodes: None,
            kept_store: None,
        }
    }
}

impl Builder {
    /// This number of simulated nodes, named `node-1` and so on.
    #[must_use]
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = (1..=count).map(|number| NodeSpec::new(format!("node-{number}"))).collect();
        self
    }

    /// These simulated nodes: with labels, capacities, static pods.
    #[must_use]
    pub fn node_specs(mut self, nodes: Vec<NodeSpec>) -> Self {
        self.nodes = nodes;
        self
    }

    /// The simulated nodes continue from this saved state. Save it together with the store, or later.
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

    /// Which images simulated nodes can pull, how long a pull takes, and what their programs do.
    #[must_use]
    pub fn images(mut self, images: coracle_kubelet::Images) -> Self {
        self.images = images;
        self
    }

    /// These Stages define the lifecycle of nodes, pods and objects of any other kind that a Stage names, as in KWOK.
    /// Stages that are objects of the API apply, too.
    #[must_use]
    pub fn stages(mut self, stages: Vec<Stage>) -> Self {
        self.stages = Some(Arc::new(StageSet::new(stages)));
        self
    }

    /// The seed of all randomness: names, uids and jitter. The clock starts at a fixed date.
    ///
    /// Without a seed, a cluster on a paused clock uses the seed 0. Any other cluster uses the clock and the
    /// randomness of the operating system.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.ambient(Ambient::seeded(seed))
    }

    /// The clock and the randomness.
    #[must_use]
    pub fn ambient(mut self, ambient: Ambient) -> Self {
        self.ambient = Some(ambient);
        self
    }

    /// The event log.
    #[must_use]
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.recorder = recorder;
        self
    }

    /// Whether the options include an event log.
    pub fn is_recorded(&self) -> bool {
        self.recorder.is_on()
    }

    /// The release that all components have, with switched feature gates.
    #[must_use]
    pub fn kubernetes(mut self, release: Release) -> Self {
        self.kubernetes = Some(release);
        self
    }

    pub(crate) fn release(&self) -> &Release {
        self.kubernetes.as_ref().unwrap_or(&self.api_server.release)
    }

    /// Where the objects are stored.
    #[must_use]
    pub fn store(mut self, store: StoreSpec) -> Self {
        self.store = store;
        self
    }

    /// The cluster starts with the content of this store, which [`Cluster::keep_store`](crate::Cluster::keep_store)
    /// returned. Controllers, scheduler and nodes start from the objects in it. Default objects that a client of the
    /// other cluster has deleted stay deleted, unlike after a restart of an API server, unless the options give other
    /// default objects.
    #[must_use]
    pub fn kept_store(mut self, kept: KeptStore) -> Self {
        self.kept_store = Some(kept);
        self
    }

    /// The content with which the store starts.
    pub(crate) fn kept_content(&self) -> Option<&StoreContent> {
        self.kept_store.as_ref().map(|kept| &kept.content)
    }

    /// Where calls to other processes run while the clock of the cluster is paused.
    #[must_use]
    pub fn real_time(mut self, real_time: RealTime) -> Self {
        self.api_server.real_time = Some(real_time);
        self
    }

    /// The options of the API server.
    #[must_use]
    pub fn api_server(mut self, options: ApiServerOptions) -> Self {
        self.api_server = options;
        self
    }

    /// The targets of the API server's calls to Services and URLs, for example to webhooks. In virtual time the API
    /// server calls no other targets.
    #[must_use]
    pub fn service_routes(mut self, routes: ServiceRoutes) -> Self {
        self.api_server.service_routes = routes;
        self
    }

    /// The audit policy and the audit log.
    #[must_use]
    pub fn audit(mut self, audit: Audit) -> Self {
        self.api_server.audit = Some(audit);
        self
    }

    /// The options of the controllers.
    #[must_use]
    pub fn controllers(mut self, config: coracle_controllers::Config) -> Self {
        self.controllers = config;
        self
    }

    /// The options of the scheduler, made for the release of the cluster; without them
    /// [`coracle_scheduler::Config::of`] that release.
    #[must_use]
    pub fn scheduler(mut self, config: coracle_scheduler::Config) -> Self {
        self.scheduler = Some(config);
        self
    }

    /// The scheduler's configuration, as the text of a `KubeSchedulerConfiguration` of
    /// kubescheduler.config.k8s.io/v1, read for the release that [`Builder::kubernetes`] has set. The scheduler uses
    /// leader election only if the text enables it.
    ///
    /// # Errors
    /// All errors in it, with lines and paths.
    pub fn scheduler_configuration(self, text: &str) -> Result<Self, coracle_scheduler::ConfigurationError> {
        let read = coracle_scheduler::Configuration::read_for(self.release(), "configuration", text)?;
        Ok(self.scheduler(read.config))
    }

    /// Wraps the transport between each component and the API server. Users and other processes have no wrapper.
    #[must_use]
    pub fn transport_layer(self, layer: TransportLayer) -> Self {
        self.transport_layer_for_all(Arc::new(move |requester, transport| match requester.kind {
            RequesterKind::Component => layer(requester, transport),
            RequesterKind::User | RequesterKind::Connections => transport,
        }))
    }

    /// Wraps the transports between the API server and all that send requests to it: components, users in this
    /// process, and the connections of other processes.
    #[must_use]
    pub fn transport_layer_for_all(mut self, layer: TransportLayer) -> Self {
        self.layer = Some(layer);
        self
    }

    /// Starts the simulated CSI driver and creates its StorageClass `standard`, the default, so that claims get
    /// volumes.
    #[must_use]
    pub fn csi_driver(mut self) -> Self {
        self.csi_driver = true;
        self
    }

    /// Whether the API server serves `metrics.k8s.io` with the usage of the nodes' pods, as metrics-server does. By
    /// default it does not.
    #[must_use]
    pub fn metrics_server(mut self, is_there: bool) -> Self {
        self.metrics_server = is_there;
        self
    }

    /// These controllers, such as `controller-manager/replicaset`, and nodes, such as `kubelet/node-1`, share no
    /// informers with others: each has watches of its own, as if it ran in a process of its own. So a watch that lags, a
    /// pause or a cut can act on it alone, and a controller loses its caches when it is killed.
    ///
    /// Unlike Kubernetes: there all controllers of one process share its informers, as they do here by default, and each
    /// kubelet has watches of its own, which the nodes here share by default.
    #[must_use]
    pub fn own_informers(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.own_informers.extend(names.into_iter().map(Into::into));
        self
    }

    /// Only the API server and its store, as with envtest: no controllers, no scheduler, no nodes.
    #[must_use]
    pub fn api_server_only(mut self) -> Self {
        self.components = Components::None;
        self
    }
}
