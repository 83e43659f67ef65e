use std::pin::pin;
use std::sync::Arc;

use coracle_ambient::{Ambient, PendingWork};
use coracle_client::Client;
use coracle_controllers::{Identities, TokenKey};
use coracle_csi_driver::CsiNodeService;
use coracle_journal::{Detail, Recorder, Stage};
use coracle_kubelet::Kubelet;
use coracle_kubelet_api::{DriversStore, StagedKinds};
use coracle_meta::GroupVersion;
use coracle_registry::{Registry, User};
use coracle_stages::{StageRunner, StageSet};
use coracle_store::Store;
use futures_util::FutureExt;
use futures_util::future::{OptionFuture, select};
use parking_lot::Mutex;

use crate::api_server::ApiServer;
use crate::builder::{Builder, Components, TransportLayer};
use crate::component::{Component, Running};
use crate::component_clients::{Accounts, CurrentInstance, KubeletClients, component_transport, layered};
use crate::kept_store::KeptStore;
use crate::metrics_server;
use crate::node_transport::NodeTransports;
use crate::restartable::Restartable;
use crate::running_components::{InThisProcess, RunningComponents};
use crate::signer::Signer;
use crate::store::OpenStore;
use crate::tasks::Tasks;
use crate::{ApiServerOptions, Error, Instance, Requester, Transport, bootstrap, clock};

/// A control plane in this process: store, API server, controllers, scheduler and simulated nodes.
///
/// Dropping it kills everything, as `kill -9` would; [`Cluster::shutdown`] stops everything in order.
///
/// On a runtime with a paused clock (`#[tokio::test(start_paused = true)]`) the cluster runs in virtual time: the clock
/// advances to the next timer whenever all tasks are idle, and the same seed gives the same sequence of events. On any
/// other runtime it runs in real time.
pub struct Cluster {
    api_server: ApiServer,
    store: OpenStore,
    ambient: Ambient,
    recorder: Recorder,
    layer: Option<TransportLayer>,
    config: Config,
    kubelet: Arc<Kubelet>,
    stages: Option<Arc<StageSet>>,
    tasks: Tasks,
    running: Arc<RunningComponents>,
    instances: Instances,
    /// What was started in addition to the components; stops with the cluster.
    beside: Mutex<Vec<Running>>,
}

/// The store in the event log.
const STORE: &str = "store";

/// The current start of each component.
#[derive(Default)]
struct Instances {
    controller_manager: CurrentInstance,
    scheduler: CurrentInstance,
    kubelet: CurrentInstance,
    csi_driver: CurrentInstance,
}

impl Instances {
    fn of(&self, component: Component) -> &CurrentInstance {
        match component {
            Component::ControllerManager => &self.controller_manager,
            Component::Scheduler => &self.scheduler,
            Component::Kubelet => &self.kubelet,
            Component::CsiDriver => &self.csi_driver,
        }
    }
}

/// What a restart of a component needs.
struct Config {
    controllers: coracle_controllers::Config,
    scheduler: coracle_scheduler::Config,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Builder {
    /// Starts the cluster; when this returns, the API answers and all components have been started.
    ///
    /// # Errors
    /// If the store does not open or an option is not valid.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(self) -> Result<Cluster, Error> {
        Cluster::start(self).await
    }
}

impl Cluster {
    /// The options of a cluster, to change and start.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) async fn start(mut builder: Builder) -> Result<Self, Error> {
        let ambient = builder.ambient.take().unwrap_or_else(clock::default_ambient);
        // Clusters that share a clock do not share work.
        let ambient = Ambient { work: PendingWork::default(), ..ambient };
        let recorder = builder.recorder.clone();
        let tasks = Tasks::new(ambient.panics.clone());
        let store = builder.store.open_restartable(&ambient, &recorder, &tasks, builder.kept_store.as_ref()).await?;
        let nodes = NodeTransports::new(&builder.api_server)?;
        if builder.metrics_server {
            metrics_server::answer_for(&mut builder.api_server, nodes.clone());
        }
        let running = Arc::new(RunningComponents::default());
        // In virtual time no other process is probed.
        if builder.components == Components::All || crate::clock::is_paused() {
            builder.api_server.running_components = Some(InThisProcess::of(&running));
        }
        let api_server = ApiServer::start_among(
            tasks.clone(),
            &builder.api_server,
            Arc::clone(&store.store),
            Arc::new(nodes.clone()),
            &ambient,
            &recorder,
        )
        .await?;
        metrics_server::settle(api_server.registry(), builder.metrics_server).await?;
        if store.is_shared() {
            api_server.follow();
        }
        api_server.advertise(&builder.api_server, store.is_shared()).await?;
        let instances = Instances::default();
        let kubelet = Arc::new(simulated_kubelet(&mut builder, &api_server, &ambient, &instances.kubelet));
        nodes.served_by(&kubelet);
        if builder.csi_driver {
            bootstrap::install(api_server.registry(), coracle_csi_driver::manifests()).await?;
        }
        let config = Config {
            controllers: controllers_config(builder.controllers, &builder.api_server, &api_server),
            scheduler: builder.scheduler,
        };
        let cluster = Self {
            api_server,
            store,
            ambient,
            recorder,
            layer: builder.layer,
            config,
            kubelet,
            stages: builder.stages,
            tasks,
            running,
            instances,
            beside: Mutex::default(),
        };
        if builder.components == Components::All {
            cluster.start_components(builder.csi_driver);
        }
        Ok(cluster)
    }

    fn start_components(&self, csi_driver: bool) {
        for component in [Component::ControllerManager, Component::Scheduler, Component::Kubelet] {
            self.start_component(component);
        }
        if csi_driver {
            self.start_component(Component::CsiDriver);
        }
    }

    /// The API server as a tower service, with the identity of an administrator (`system:masters`): for any release of
    /// kube, or any other client. It uses no socket and no port.
    pub fn service(&self) -> Transport {
        self.service_as(admin())
    }

    /// The API server as a tower service, with the identity of `user`; RBAC decides what is allowed.
    pub fn service_as(&self, user: User) -> Transport {
        let requester = Requester::user(&user.name);
        layered(self.api_server.transport(), &requester, self.layer.as_ref()).asking_as(Arc::new(user))
    }

    /// The API server as a tower service without an identity: each request authenticates itself. A layer gets the
    /// requests after their users are known.
    pub fn front_door(&self) -> Transport {
        match &self.layer {
            Some(layer) => self.api_server.transport_behind(|transport| layer(&Requester::connections(), transport)),
            None => self.api_server.transport(),
        }
    }

    /// A client of this project, with the identity of an administrator (`system:masters`).
    pub fn api_client(&self) -> Client {
        self.client_as(admin())
    }

    /// A client of this project, with the identity of `user`; RBAC decides what is allowed.
    pub fn client_as(&self, user: User) -> Client {
        let ambient = self.ambient.split(&user.name);
        Client::new(self.service_as(user), &ambient).with_recorder(self.recorder.clone())
    }

    /// The unsupported settings in the configuration, one sentence each.
    pub fn limits(&self) -> &[String] {
        self.api_server.limits()
    }

    /// The registry behind the API server.
    pub fn registry(&self) -> &Registry {
        self.api_server.registry()
    }

    /// The store below the API server.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store.store)
    }

    /// The clock and the randomness of the cluster. In virtual time both derive from the seed.
    pub fn ambient(&self) -> &Ambient {
        &self.ambient
    }

    /// The event log.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The simulated nodes.
    pub fn kubelet(&self) -> &Kubelet {
        &self.kubelet
    }

    /// Returns the plurals of served kinds, by `apiVersion` and `kind`. Kinds that are served later are included.
    pub fn plurals(&self) -> impl Fn(&str, &str) -> Option<String> + Send + Sync + use<> {
        let registry = self.registry().clone();
        move |api_version, kind| {
            let kinds = registry.kinds();
            Some(kinds.kind(&GroupVersion::parse(api_version)?.kind(kind))?.row().plural.clone())
        }
    }

    /// Starts a component that does not run; one that runs is left alone.
    pub fn start_component(&self, component: Component) {
        self.running.start(component, || {
            self.recorder.record(component.word(), Stage::ComponentStart, Detail::default);
            let instance = self.instances.of(component).begin_next();
            self.run(component, &instance).with_instance(instance)
        });
    }

    fn run(&self, component: Component, instance: &Instance) -> Running {
        let (tasks, name) = (&self.tasks, component.word());
        let ambient = self.ambient.split(component.word());
        let recorder = self.recorder.clone();
        let transport = component_transport(&self.api_server, component, instance, self.layer.as_ref());
        let client = Client::new(transport, &ambient).with_recorder(recorder.clone());
        let mut restarts = Restarts { name, recorder: recorder.clone(), began: false };
        match component {
            Component::ControllerManager => {
                let controllers = Arc::new(self.controllers(client, ambient, instance.clone()));
                Running::start(tasks, name, move |stop| {
                    restarts.note();
                    let controllers = Arc::clone(&controllers);
                    async move { controllers.run(stop.asked()).await }
                })
            }
            Component::Scheduler => {
                let config = self.config.scheduler.clone();
                Running::start(tasks, name, move |stop| {
                    restarts.note();
                    let (config, client, ambient) = (config.clone(), client.clone(), ambient.clone());
                    coracle_scheduler::run(config, client, ambient, recorder.clone(), stop.asked()).map(drop)
                })
            }
            Component::Kubelet => {
                let kubelet = Kubelet::clone(&self.kubelet);
                let stage_runner = self.stage_runner(&ambient, recorder, instance.clone()).map(Arc::new);
                Running::start(tasks, name, move |stop| {
                    restarts.note();
                    let (kubelet, stage_runner) = (kubelet.clone(), stage_runner.clone());
                    async move {
                        let run_stages = OptionFuture::from(stage_runner.as_deref().map(StageRunner::run)).map(drop);
                        let run_stages = run_stages.then(|()| std::future::pending::<()>());
                        select(pin!(kubelet.run(stop.asked())), pin!(run_stages)).await;
                    }
                })
            }
            Component::CsiDriver => Running::start(tasks, name, move |stop| {
                restarts.note();
                coracle_csi_driver::run(client.clone(), ambient.clone(), recorder.clone(), stop.asked())
            }),
        }
    }

    /// What plays the Stages by which nodes and pods live, if there are any: they may say anything of any object.
    fn stage_runner(&self, ambient: &Ambient, recorder: Recorder, instance: Instance) -> Option<StageRunner> {
        let stages = self.stages.clone()?;
        let user = User::new("system:coracle:stages", ["system:masters"]);
        let requester = Requester::component(Component::Kubelet.word(), instance);
        let front = layered(self.api_server.transport(), &requester, self.layer.as_ref()).asking_as(Arc::new(user));
        let client = Client::new(front, ambient);
        let kubelet = Kubelet::clone(&self.kubelet);
        let acts = move |node: &str| kubelet.acts(node);
        Some(StageRunner::new(stages, client, ambient.split("stages"), recorder, acts))
    }

    /// What runs all controllers, each with its own identity.
    fn controllers(&self, client: Client, ambient: Ambient, instance: Instance) -> Controllers {
        let accounts = Accounts {
            transport: self.api_server.transport(),
            layer: self.layer.clone(),
            ambient: ambient.split("accounts"),
            instance,
        };
        let (config, recorder) = (self.config.controllers.clone(), self.recorder.clone());
        Controllers { config, client, accounts, ambient, recorder }
    }

    /// Starts another controller-manager; with leader election, one of them acts. It runs as long as the cluster, and
    /// restarts when it loses its Lease.
    pub fn add_controller_manager(&self, name: &str) {
        let ambient = self.ambient.split(name);
        let component = Component::ControllerManager;
        let instance = self.instances.of(component).begin_next();
        let transport = component_transport(&self.api_server, component, &instance, self.layer.as_ref());
        let client = Client::new(transport, &ambient).with_recorder(self.recorder.clone());
        let controllers = self.controllers(client, ambient, instance);
        self.spawn(name, async move {
            loop {
                controllers.run(std::future::pending()).await;
            }
        });
    }

    /// Whether a component runs: it was neither stopped nor killed.
    pub fn runs(&self, component: Component) -> bool {
        self.running.contains(component)
    }

    /// Stops a component in order, and waits until it has stopped.
    pub async fn stop_component(&self, component: Component) {
        let running = self.running.remove(component);
        if let Some(running) = running {
            running.stop().await;
            self.recorder.record(component.word(), Stage::ComponentStop, || Detail::default().with("why", "asked"));
        }
    }

    /// Kills a component like `kill -9`; returns whether it ran.
    pub fn kill_component(&self, component: Component) -> bool {
        let running = self.running.remove(component);
        if running.is_some() {
            self.recorder.record(component.word(), Stage::ComponentStop, || Detail::default().with("why", "killed"));
        }
        running.is_some()
    }

    /// Kills the store like `kill -9`: requests fail as unavailable, its watches break. A dead store stays dead.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn kill_store(&self) -> Result<(), Error> {
        if self.restartable()?.kill() {
            self.recorder.record(STORE, Stage::ComponentStop, || Detail::default().with("why", "killed"));
        }
        Ok(())
    }

    /// Starts a killed store with all acknowledged writes. A running store is not affected.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn start_store(&self) -> Result<(), Error> {
        if self.restartable()?.start()? {
            self.recorder.record(STORE, Stage::ComponentStart, Detail::default);
        }
        Ok(())
    }

    /// The content of the store with its history, for the start of another cluster.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn keep_store(&self) -> Result<KeptStore, Error> {
        Ok(self.restartable()?.kept()?)
    }

    fn restartable(&self) -> Result<&Restartable, Error> {
        let only = || Error::Options("only a store in memory can be killed or kept by its cluster".to_owned());
        self.store.restartable().ok_or_else(only)
    }

    /// Runs a task of the caller as a task of the cluster: it is dropped with the cluster, and its panic ends the
    /// cluster unless panics are survived.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        let running = Running::of(&self.tasks, name, task);
        self.beside.lock().push(running);
    }

    /// Waits for `work`, unless the cluster ends before, because one of its tasks panicked and panics are not survived.
    ///
    /// # Errors
    /// [`Error::Panic`] with the task and its message. No task of the cluster runs afterwards, and no request is
    /// served.
    pub async fn unless_ended<R>(&self, work: impl Future<Output = R>) -> Result<R, Error> {
        self.tasks.unless_panicked(work).await
    }

    /// Stops everything in order: nodes, scheduler, controllers, the API server with its watches, the store.
    ///
    /// # Panics
    /// If a task of the cluster has panicked, with its name and its message.
    pub async fn shutdown(self) {
        if let Err(panic) = self.tasks.check() {
            panic!("{panic}");
        }
        let all = [Component::Kubelet, Component::CsiDriver, Component::Scheduler, Component::ControllerManager];
        for component in all {
            self.stop_component(component).await;
        }
        self.api_server.stop().await;
        self.store.close().await;
    }
}

/// The flags of the controllers, with the root certificate and the signing key of the API server as defaults.
fn controllers_config(
    mut config: coracle_controllers::Config,
    options: &ApiServerOptions,
    api_server: &ApiServer,
) -> coracle_controllers::Config {
    if let Some(root_ca) = options.root_ca.as_ref().filter(|_| config.root_ca.is_empty()) {
        config.root_ca.clone_from(root_ca);
    }
    let token_key = || TokenKey::new(Arc::new(Signer::of(api_server.issuer())));
    config.token_key = config.token_key.or_else(|| Some(token_key()));
    config
}

/// The simulated nodes of the builder. Each writes as `system:node:NAME`, and they share a client for reads.
fn simulated_kubelet(
    builder: &mut Builder,
    api_server: &ApiServer,
    ambient: &Ambient,
    instance: &CurrentInstance,
) -> Kubelet {
    let csi_drivers = DriversStore::default();
    let csi_drivers = if builder.csi_driver { csi_drivers.with(Arc::new(CsiNodeService)) } else { csi_drivers };
    let config = coracle_kubelet::Config {
        nodes: std::mem::take(&mut builder.nodes),
        delays: builder.delays.clone(),
        csi_drivers,
        stages: builder.stages.clone().map(|stages| stages as Arc<dyn StagedKinds>),
        ..coracle_kubelet::Config::default()
    };
    let kubelet_ambient = ambient.split(Component::Kubelet.word());
    let clients = KubeletClients {
        front: api_server.transport(),
        layer: builder.layer.clone(),
        recorder: builder.recorder.clone(),
        instance: instance.clone(),
    };
    let reader = {
        let (clients, ambient) = (clients.clone(), kubelet_ambient.clone());
        move || clients.reader(&ambient)
    };
    let node_client = {
        let ambient = ambient.clone();
        move |node: &str| clients.of_node(node, &ambient)
    };
    let kubelet = Kubelet::with_clients(config, reader, node_client, kubelet_ambient, builder.recorder.clone());
    if let Some(saved) = builder.saved_nodes.take() {
        kubelet.restore(saved);
    }
    kubelet
}

/// Records restarts of a component after panics in the event log.
struct Restarts {
    name: &'static str,
    recorder: Recorder,
    began: bool,
}

impl Restarts {
    /// Must be called at each start; the first one is recorded elsewhere.
    fn note(&mut self) {
        if std::mem::replace(&mut self.began, true) {
            self.recorder.record(self.name, Stage::ComponentStop, || Detail::default().with("why", "panicked"));
            self.recorder.record(self.name, Stage::ComponentStart, Detail::default);
        }
    }
}

/// The controller-manager, ready to run.
struct Controllers {
    config: coracle_controllers::Config,
    client: Client,
    accounts: Accounts,
    ambient: Ambient,
    recorder: Recorder,
}

impl Controllers {
    async fn run(&self, stop: impl Future<Output = ()> + Send) {
        let Self { config, client, accounts, ambient, recorder } = self;
        let identities: &dyn Identities = if config.own_identity_for_all { client } else { accounts };
        let (config, ambient, recorder) = (config.clone(), ambient.clone(), recorder.clone());
        coracle_controllers::run(config, client.clone(), identities, ambient, recorder, stop).map(drop).await;
    }
}

/// The administrator of `kubeadm`'s kubeconfig.
fn admin() -> User {
    User::new("kubernetes-admin", ["system:masters"])
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionResource;
    use coracle_registry::{Derived, Request, Verb};

    use super::*;

    fn config_maps() -> GroupVersionResource {
        GroupVersionResource::new("", "v1", "configmaps")
    }

    async fn ask(cluster: &Cluster) -> Result<u16, String> {
        let body = crate::boxed(http_body_util::Empty::new());
        let request = http::Request::get("/version").body(body).unwrap();
        cluster.service().send(request).await.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn a_derived_value_that_panics_ends_the_cluster_with_its_name_and_what_it_said() {
        let cluster = Cluster::builder().api_server_only().start().await.unwrap();
        let made_up = Derived::<()>::new(
            |_| vec![config_maps()],
            |lists, ()| assert!(lists.of(&config_maps()).all(|object| object.name() != "leak"), "the boat leaks"),
        );
        let registry = cluster.registry().clone();
        cluster.spawn(
            "made-up",
            async move { match made_up.follow(&registry, |_, _| std::future::ready(Ok(()))).await {} },
        );
        assert_eq!(ask(&cluster).await, Ok(200));
        let mut object = coracle_meta::Object::default();
        object.set("apiVersion", "v1");
        object.set("kind", "ConfigMap");
        object.set("metadata.name", "leak");
        let now = cluster.ambient().clock.now();
        let request = Request::new(Verb::Create, config_maps(), now).object("default", "");
        cluster.registry().create(&request, object).await.unwrap();
        let panic = cluster.unless_ended(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(panic.to_string(), "the task made-up panicked: the boat leaks");
        assert_eq!(ask(&cluster).await, Err(panic.to_string()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_runs_until_its_last_transport_is_dropped() {
        let cluster = Cluster::builder().start().await.unwrap();
        let store = Arc::downgrade(cluster.registry().storage().store());
        let kept = cluster.service();
        drop(cluster);
        let maps = "/api/v1/namespaces/default/configmaps";
        for _ in 0..2 {
            let body = crate::boxed(http_body_util::Empty::new());
            let transport = kept.clone().asking_as(Arc::new(User::system()));
            let answer = transport.send(http::Request::get(maps).body(body).unwrap()).await.unwrap();
            assert_eq!(answer.status(), 200);
        }
        drop(kept);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(store.upgrade().is_none(), "nobody is left who could ask");
    }
}
