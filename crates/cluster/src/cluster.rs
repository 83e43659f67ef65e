use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_journal::{Detail, Recorder, Stage};
use coracle_kubelet::Kubelet;
use coracle_meta::GroupVersion;
use coracle_registry::{Registry, User};
use coracle_store::Store;
use futures_util::FutureExt;
use parking_lot::Mutex;

use crate::builder::{Builder, Components, TransportLayer};
use crate::component::{Component, Running};
use crate::control_plane::ControlPlane;
use crate::node_transport::LocalNodes;
use crate::restartable::Restartable;
use crate::store::OpenStore;
use crate::{Error, Transport, clock};

/// A control plane in this process: store, API server, controllers, scheduler and simulated nodes.
///
/// Dropping it stops everything where it stands; [`Cluster::shutdown`] stops it in order.
pub struct Cluster {
    control_plane: ControlPlane,
    store: OpenStore,
    ambient: Ambient,
    recorder: Recorder,
    layer: Option<TransportLayer>,
    config: Config,
    kubelet: Kubelet,
    running: Mutex<BTreeMap<Component, Running>>,
}

/// The store in the event log.
const STORE: &str = "store";

/// What a component needs to be started once more.
struct Config {
    controllers: coracle_controllers::Config,
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
    /// What a cluster is made of, to be changed and started.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) async fn start(builder: Builder) -> Result<Self, Error> {
        let ambient = builder.ambient.unwrap_or_else(clock::default_ambient);
        let recorder = builder.recorder;
        let mut store = builder.store.open_restartable(&ambient, &recorder).await?;
        let nodes = LocalNodes::default();
        let control_plane = ControlPlane::start(
            &builder.api_server,
            Arc::clone(&store.store),
            Arc::new(nodes.clone()),
            &ambient,
            &recorder,
        )
        .await?;
        if store.is_shared() {
            store.spawn(control_plane.follow());
        }
        let mut controllers = builder.controllers;
        if let Some(root_ca) = &builder.api_server.root_ca {
            controllers.root_ca.clone_from(root_ca);
        }
        let kubelet_ambient = ambient.split(Component::Kubelet.word());
        let kubelet_config = coracle_kubelet::Config {
            nodes: builder.nodes,
            delays: builder.delays,
            ..coracle_kubelet::Config::default()
        };
        let node_client = {
            let (front, ambient, recorder) = (control_plane.transport(), ambient.clone(), recorder.clone());
            let layer = builder.layer.clone();
            move |node: &str| {
                let user = User::new(format!("system:node:{node}"), ["system:nodes"]);
                let transport = layered(front.clone().asking_as(Arc::new(user)), Component::Kubelet, layer.as_ref());
                Client::new(transport, &ambient.split(node)).with_recorder(recorder.clone())
            }
        };
        let kubelet = Kubelet::with_clients(kubelet_config, node_client, kubelet_ambient, recorder.clone());
        nodes.served_by(kubelet.clone());
        let cluster = Self {
            control_plane,
            store,
            ambient,
            recorder,
            layer: builder.layer,
            config: Config { controllers },
            kubelet,
            running: Mutex::default(),
        };
        if builder.components == Components::All {
            for component in [Component::ControllerManager, Component::Scheduler, Component::Kubelet] {
                cluster.start_component(component);
            }
        }
        Ok(cluster)
    }

    /// The API server as a tower service, asking as an administrator (`system:masters`). No socket, no port.
    pub fn service(&self) -> Transport {
        self.service_as(User::new("kubernetes-admin", ["system:masters"]))
    }

    /// The API server as a tower service, asking as `user`.
    pub fn service_as(&self, user: User) -> Transport {
        self.control_plane.transport().asking_as(Arc::new(user))
    }

    /// The API server as it is reached from outside: each request shows its own credentials.
    pub fn front_door(&self) -> Transport {
        self.control_plane.transport()
    }

    /// A client of our own, asking as `user`.
    pub fn client_as(&self, user: User) -> Client {
        let ambient = self.ambient.split(&user.name);
        Client::new(self.service_as(user), &ambient).with_recorder(self.recorder.clone())
    }

    /// What this cluster does not do though its configuration asks for it, a sentence each.
    pub fn limits(&self) -> &[String] {
        self.control_plane.limits()
    }

    /// The registry behind the API server.
    pub fn registry(&self) -> &Registry {
        self.control_plane.registry()
    }

    /// The store, seen from beneath the API.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store.store)
    }

    /// The clock and the randomness.
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

    /// The plural of a kind that is served.
    pub fn plural(&self, api_version: &str, kind: &str) -> Option<String> {
        let kinds = self.registry().kinds();
        let found = kinds.kind(&GroupVersion::parse(api_version)?.kind(kind))?;
        Some(found.row().plural.clone())
    }

    /// Starts a component that does not run; one that runs is left alone.
    pub fn start_component(&self, component: Component) {
        let mut running = self.running.lock();
        if running.contains_key(&component) {
            return;
        }
        self.recorder.record(component.word(), Stage::ComponentStart, Detail::default);
        running.insert(component, self.run(component));
    }

    fn run(&self, component: Component) -> Running {
        let ambient = self.ambient.split(component.word());
        let recorder = self.recorder.clone();
        let transport = component_transport(&self.control_plane, component, self.layer.as_ref());
        let client = Client::new(transport, &ambient).with_recorder(recorder.clone());
        match component {
            Component::ControllerManager => {
                let config = self.config.controllers.clone();
                Running::start(|stop| {
                    coracle_controllers::run(config, client, ambient, recorder, stop.asked()).map(drop)
                })
            }
            Component::Scheduler => {
                let config = coracle_scheduler::Config::default();
                Running::start(|stop| coracle_scheduler::run(config, client, ambient, recorder, stop.asked()).map(drop))
            }
            Component::Kubelet => {
                let kubelet = self.kubelet.clone();
                Running::start(|stop| async move { kubelet.run(stop.asked()).await })
            }
        }
    }

    /// Stops a component in order, and waits until it has stopped.
    pub async fn stop_component(&self, component: Component) {
        let running = self.running.lock().remove(&component);
        if let Some(running) = running {
            running.stop().await;
            self.recorder.record(component.word(), Stage::ComponentStop, || Detail::default().with("why", "asked"));
        }
    }

    /// Kills a component where it stands, as `kill -9` would.
    pub fn kill_component(&self, component: Component) {
        let running = self.running.lock().remove(&component);
        if running.is_some() {
            self.recorder.record(component.word(), Stage::ComponentStop, || Detail::default().with("why", "killed"));
        }
    }

    /// Kills the store, as `kill -9` would: requests fail as unavailable, its watches break. One that is dead is left so.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn kill_store(&self) -> Result<(), Error> {
        if self.restartable()?.kill() {
            self.recorder.record(STORE, Stage::ComponentStop, || Detail::default().with("why", "killed"));
        }
        Ok(())
    }

    /// Starts a store that was killed: all that it has acknowledged is there. One that lives is left alone.
    ///
    /// # Errors
    /// If it is not in the memory of this process.
    pub fn start_store(&self) -> Result<(), Error> {
        if self.restartable()?.start()? {
            self.recorder.record(STORE, Stage::ComponentStart, Detail::default);
        }
        Ok(())
    }

    fn restartable(&self) -> Result<&Restartable, Error> {
        let only = || Error::Options("only a store in memory can be killed by its cluster".to_owned());
        self.store.restartable().ok_or_else(only)
    }

    /// Stops everything in order: nodes, scheduler, controllers, the API server with its watches, the store.
    pub async fn shutdown(self) {
        for component in [Component::Kubelet, Component::Scheduler, Component::ControllerManager] {
            self.stop_component(component).await;
        }
        self.control_plane.stop();
        self.store.close().await;
    }
}

/// The way of a component to the API server, with the identity that it has in a real cluster.
fn component_transport(
    control_plane: &ControlPlane,
    component: Component,
    layer: Option<&TransportLayer>,
) -> Transport {
    let name = format!("system:kube-{}", component.word());
    let user = User::new(name, std::iter::empty::<String>());
    layered(control_plane.transport().asking_as(Arc::new(user)), component, layer)
}

fn layered(transport: Transport, component: Component, layer: Option<&TransportLayer>) -> Transport {
    match layer {
        Some(layer) => layer(component.word(), transport),
        None => transport,
    }
}
