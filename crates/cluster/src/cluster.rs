use std::sync::Arc;

use coracle_ambient::{Ambient, PendingWork, Random, SignedDuration};
use coracle_client::Client;
use coracle_controllers::{CertificateKey, TokenKey};
use coracle_csi_driver::CsiNodeService;
use coracle_journal::Recorder;
use coracle_kubelet::Kubelet;
use coracle_kubelet_api::{DriversStore, StagedKinds};
use coracle_pki::AuthorityOnDemand;
use coracle_registry::{Registry, User};
use coracle_storage_backend::OpenStore;
use coracle_store::Store;
use coracle_supervisor::{Running, Tasks};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::api_server::{ApiServer, Kept};
use crate::bootstrap::Bootstrapped;
use crate::builder::{Builder, Components, TransportLayer};
use crate::cluster_handle::ClusterHandle;
use crate::component::Component;
use crate::component_clients::{Instances, KubeletClients, layered};
use crate::component_name::ComponentName;
use crate::component_panics::{ComponentPanic, Unseen};
use crate::kept_store::KeptStore;
use crate::metrics_server;
use crate::node_transport::NodeTransports;
use crate::own_component::OwnComponent;
use crate::own_informers::OwnInformers;
use crate::parts::Parts;
use crate::processes::Processes;
use crate::running_components::{InThisProcess, RunningComponents};
use crate::skews::Skews;
use crate::{ApiServerOptions, Error, Requester, Transport, bootstrap, clock};

/// A control plane in this process: store, API server, controllers, scheduler and simulated nodes.
///
/// Dropping it kills everything, as `kill -9` would; [`Cluster::shutdown`] stops everything in order.
///
/// On a runtime with a paused clock (`#[tokio::test(start_paused = true)]`) the cluster runs in virtual time: the clock
/// advances to the next timer whenever all tasks are idle, and the same seed gives the same sequence of events. On any
/// other runtime it runs in real time.
pub struct Cluster {
    parts: Arc<Parts>,
    store: OpenStore,
    bootstrapped: Bootstrapped,
    /// Dropped last.
    unseen: Unseen,
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

    pub(crate) fn start(builder: Builder) -> BoxFuture<'static, Result<Self, Error>> {
        // Boxed, so that its code is compiled once, and not in each crate that awaits it.
        Box::pin(Self::started(builder))
    }

    async fn started(mut builder: Builder) -> Result<Self, Error> {
        builder.api_server.release = builder.release().clone();
        let ambient = builder.ambient.take().unwrap_or_else(clock::default_ambient);
        // Clusters that share a clock do not share work.
        let ambient = Ambient { work: PendingWork::default(), ..ambient };
        let recorder = builder.recorder.clone();
        let tasks = Tasks::new(ambient.panics.clone());
        let own_informers = OwnInformers::of(&builder.own_informers)?;
        let store = builder.store.open_restartable(&ambient, &recorder, &tasks, builder.kept_content()).await?;
        let nodes = NodeTransports::new(&builder.api_server)?;
        if builder.metrics_server {
            metrics_server::answer_for(&mut builder.api_server, nodes.clone());
        }
        let running = Arc::new(RunningComponents::default());
        // In virtual time no other process is probed.
        if builder.components == Components::All || crate::clock::is_paused() {
            builder.api_server.running_components = Some(InThisProcess::of(&running));
        }
        let (kept, revision, decoded) = KeptStore::parts(builder.kept_store.take(), &builder.api_server.release);
        let api_server = ApiServer::start_among(
            tasks.clone(),
            &builder.api_server,
            Arc::clone(&store.store),
            Kept { objects: kept.as_ref().map(|kept| &kept.objects), revision, decoded },
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
        let (instances, skews) = (Instances::default(), Skews::default());
        let kubelet = simulated_kubelet(&mut builder, &api_server, &ambient, &instances, &own_informers, &skews);
        nodes.served_by(&kubelet);
        let bootstrapped = install(&builder, &api_server, &*store.store, kept).await?;
        let random = ambient.random.split("certificate authority");
        let processes = Processes {
            front: api_server.transport(),
            layer: builder.layer,
            ambient,
            recorder,
            controllers: controllers_config(builder.controllers, &builder.api_server, &api_server, &random),
            scheduler: builder.scheduler.unwrap_or_else(|| coracle_scheduler::Config::of(&builder.api_server.release)),
            kubelet,
            stages: builder.stages,
            own_informers,
            instances,
            skews,
            set: Mutex::default(),
        };
        let parts = Arc::new(Parts::new(api_server, &store, processes, tasks, running));
        let cluster = Self { unseen: Unseen(parts.panics.clone()), parts, store, bootstrapped };
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
        layered(self.parts.api_server.transport(), &requester, self.layer()).asking_as(Arc::new(user))
    }

    /// The API server as a tower service without an identity: each request authenticates itself. A layer learns their
    /// users with [`Requester::identify`].
    pub fn front_door(&self) -> Transport {
        let api_server = &self.parts.api_server;
        self.layer().map_or_else(|| api_server.transport(), |layer| api_server.transport_behind(layer))
    }

    /// A client of this project, with the identity of an administrator (`system:masters`).
    pub fn api_client(&self) -> Client {
        self.client_as(admin())
    }

    /// A client of this project, with the identity of `user`; RBAC decides what is allowed.
    pub fn client_as(&self, user: User) -> Client {
        let ambient = self.ambient().split(&user.name);
        Client::new(self.service_as(user), &ambient).with_recorder(self.recorder().clone())
    }

    fn layer(&self) -> Option<&TransportLayer> {
        self.parts.processes.layer.as_ref()
    }

    /// The unsupported settings in the configuration, one sentence each.
    pub fn limits(&self) -> &[String] {
        self.parts.api_server.limits()
    }

    /// The API server.
    pub fn api_server(&self) -> &ApiServer {
        &self.parts.api_server
    }

    /// The registry behind the API server.
    pub fn registry(&self) -> &Registry {
        self.parts.api_server.registry()
    }

    /// The store below the API server.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store.store)
    }

    /// The clock and the randomness of the cluster. In virtual time both derive from the seed.
    pub fn ambient(&self) -> &Ambient {
        &self.parts.processes.ambient
    }

    /// The clock and the randomness of a component of the caller, for [`Self::add_component`]. Its wall clock can be
    /// [shifted](ClusterHandle::shift_clock).
    pub fn ambient_of(&self, name: &str) -> Ambient {
        let Processes { ambient, skews, .. } = &self.parts.processes;
        skews.ambient_of(name, &ambient.split(name))
    }

    /// The event log.
    pub fn recorder(&self) -> &Recorder {
        &self.parts.processes.recorder
    }

    /// The simulated nodes.
    pub fn kubelet(&self) -> &Kubelet {
        &self.parts.processes.kubelet
    }

    /// Returns the plurals of served kinds, by `apiVersion` and `kind`. Kinds that are served later are included.
    pub fn plurals(&self) -> impl Fn(&str, &str) -> Option<String> + Send + Sync + use<> {
        self.parts.api_server.plurals()
    }

    /// Starts, stops and kills components, nodes and the store by name, as long as the cluster runs.
    pub fn handle(&self) -> ClusterHandle {
        ClusterHandle::of(&self.parts)
    }

    /// Adds a component of the caller, and starts it. It is started, stopped, killed and doubled by its name, which is
    /// also the name of its requests on the wire. `run` is called for each start, with a transport of `user`. A stop and
    /// a kill drop its future. If it panics or returns, the event log has an entry, and it is started again after a
    /// pause.
    ///
    /// # Errors
    /// If there is a component of this name.
    pub fn add_component<F>(
        &self,
        name: &str,
        user: User,
        run: impl Fn(Transport) -> F + Send + Sync + 'static,
    ) -> Result<(), Error>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        {
            let mut own = self.parts.own.lock();
            if ComponentName::of(name).is_taken() || own.contains_key(name) {
                return Err(Error::Options(format!("there is a component of the name `{name}` already")));
            }
            own.insert(name.to_owned(), OwnComponent::new(user, run));
        }
        self.parts.added.notify_waiters();
        self.parts.start(name, None);
        Ok(())
    }

    /// Starts a component that does not run; one that runs is left alone. Returns whether it was started.
    ///
    /// A component is a [`Component`], or a name: of a controller, such as `controller-manager/replicaset`, of the
    /// kubelet of a simulated node, such as `kubelet/node-1`, or of a component that was [added](Self::add_component).
    pub fn start_component(&self, component: impl AsRef<str>) -> bool {
        self.parts.start(component.as_ref(), None)
    }

    /// Whether a component runs: it was neither stopped nor killed.
    pub fn runs(&self, component: impl AsRef<str>) -> bool {
        self.parts.runs(component.as_ref())
    }

    /// Stops a component in order, and waits until it has stopped. A controller, and the kubelet of a node, just ends.
    pub async fn stop_component(&self, component: impl AsRef<str>) {
        self.parts.stop(component.as_ref()).await;
    }

    /// Kills a component like `kill -9`; returns whether it ran. What it keeps only in memory is lost: a controller
    /// loses its queues, and its informers if it has [informers of its own](Builder::own_informers).
    pub fn kill_component(&self, component: impl AsRef<str>) -> bool {
        self.parts.kill(component.as_ref(), None)
    }

    /// Stops a component, as by SIGSTOP; see [`ClusterHandle::pause_component`].
    pub fn pause_component(&self, component: impl AsRef<str>) -> bool {
        self.parts.pause(component.as_ref())
    }

    /// Sets the wall clock of a component forward, or back; see [`ClusterHandle::shift_clock`].
    pub fn shift_clock(&self, component: impl AsRef<str>, duration: SignedDuration) -> bool {
        self.parts.shift_clock(component.as_ref(), duration)
    }

    /// Continues a component that was paused; false if it was not.
    pub fn resume_component(&self, component: impl AsRef<str>) -> bool {
        self.parts.resume(component.as_ref())
    }

    /// The panics of components since the last call, if panics are not survived. The components were started again. The
    /// cluster panics when it is shut down or dropped, unless they were taken.
    pub fn take_component_panics(&self) -> Vec<ComponentPanic> {
        self.parts.panics.take()
    }

    /// Kills the store like `kill -9`: requests fail as unavailable, its watches break. A dead store stays dead.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn kill_store(&self) -> Result<(), Error> {
        self.parts.store.kill(None).map(drop).ok_or_else(only_in_memory)
    }

    /// Starts a killed store with all acknowledged writes. A running store is not affected.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn start_store(&self) -> Result<(), Error> {
        self.parts.store.start(None).ok_or_else(only_in_memory)??;
        Ok(())
    }

    /// The content of the store with its history, for the start of another cluster. That cluster does not create the
    /// default objects again if it has the same ones.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn keep_store(&self) -> Result<KeptStore, Error> {
        let content = self.store.content().ok_or_else(only_in_memory)??;
        let decoded = (self.registry().release().clone(), self.registry().storage().decoded_objects());
        Ok(KeptStore { content, bootstrapped: Some(self.bootstrapped.clone()), revision: None, decoded })
    }

    /// Runs a task of the caller as a task of the cluster: it is dropped with the cluster, and its panic ends the
    /// cluster unless panics are survived.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(&self, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        let running = Running::of(&self.parts.tasks, name, task);
        self.parts.additional.lock().push(running);
    }

    /// Waits for `work`, unless the cluster ends before, because one of its tasks panicked and panics are not survived.
    /// A panic of a component does not end it.
    ///
    /// # Errors
    /// [`Error::Panic`] with the task and its message. No task of the cluster runs afterwards, and no request is
    /// served.
    pub async fn unless_ended<R>(&self, work: impl Future<Output = R>) -> Result<R, Error> {
        Ok(self.parts.tasks.unless_panicked(work).await?)
    }

    /// Stops everything in order: nodes, scheduler, controllers, the API server with its watches, the store.
    ///
    /// # Panics
    /// If a task or a component of the cluster has panicked, with its name and its message, unless the caller has taken
    /// the panics of the components.
    pub async fn shutdown(self) {
        if let Err(panic) = self.parts.tasks.check() {
            panic!("{panic}");
        }
        let own: Vec<String> = self.parts.own.lock().keys().cloned().collect();
        for name in own {
            self.parts.stop(&name).await;
        }
        let all = [Component::Kubelet, Component::CsiDriver, Component::Scheduler, Component::ControllerManager];
        for component in all {
            self.stop_component(component).await;
        }
        self.parts.api_server.stop().await;
        let Self { parts, store, unseen, .. } = self;
        drop(parts);
        store.close().await;
        drop(unseen);
    }
}

fn only_in_memory() -> Error {
    Error::Options("only a store in memory can be killed or kept by its cluster".to_owned())
}

/// Installs what the builder asks for, unless it is in the kept store, and returns what the store has then.
async fn install(
    builder: &Builder,
    api_server: &ApiServer,
    store: &dyn Store,
    kept: Option<Bootstrapped>,
) -> Result<Bootstrapped, Error> {
    let csi_driver = builder.csi_driver;
    if csi_driver && !kept.is_some_and(|kept| kept.csi_driver) {
        bootstrap::install(api_server.registry(), coracle_csi_driver::manifests()).await?;
    }
    Ok(Bootstrapped { objects: api_server.default_objects(), csi_driver, at: store.status().await?.revision })
}

/// The flags of the controllers, with the root certificate and the signing key of the API server as defaults. Without an
/// authority for certificates, pod certificates get one of their own, which is made when the first is signed.
fn controllers_config(
    mut config: coracle_controllers::Config,
    options: &ApiServerOptions,
    api_server: &ApiServer,
    random: &Random,
) -> coracle_controllers::Config {
    config.release = options.release.clone();
    if let Some(root_ca) = options.root_ca.as_ref().filter(|_| config.root_ca.is_empty()) {
        config.root_ca.clone_from(root_ca);
    }
    let authority = config.certificate_keys.kube_apiserver_client.clone();
    let made = || CertificateKey::new(Arc::new(AuthorityOnDemand::new(random.clone())));
    config.pod_certificate_key.get_or_insert_with(|| authority.unwrap_or_else(made));
    config.token_key.get_or_insert_with(|| {
        let issuer = api_server.issuer().clone();
        TokenKey::new(move |claims| issuer.sign(claims).map_err(|error| error.to_string()))
    });
    config
}

/// The simulated nodes of the builder. Each writes as `system:node:NAME`, and they share a client for reads.
fn simulated_kubelet(
    builder: &mut Builder,
    api_server: &ApiServer,
    ambient: &Ambient,
    instances: &Instances,
    own_informers: &OwnInformers,
    skews: &Skews,
) -> Arc<Kubelet> {
    let csi_drivers = DriversStore::default();
    let csi_drivers = if builder.csi_driver { csi_drivers.with(Arc::new(CsiNodeService)) } else { csi_drivers };
    let config = coracle_kubelet::Config {
        release: builder.api_server.release.clone(),
        nodes: std::mem::take(&mut builder.nodes),
        delays: builder.delays.clone(),
        images: builder.images.clone(),
        csi_drivers,
        stages: builder.stages.clone().map(|stages| stages as Arc<dyn StagedKinds>),
        own_informers: own_informers.nodes.clone(),
        ..coracle_kubelet::Config::default()
    };
    let name = Component::Kubelet.word();
    let kubelet_ambient = skews.ambient_of(name, &ambient.split(name));
    let clients = KubeletClients {
        front: api_server.transport(),
        layer: builder.layer.clone(),
        recorder: builder.recorder.clone(),
        instance: instances.of(Component::Kubelet.word()),
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
    Arc::new(kubelet)
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
