use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::{Ambient, Gate};
use coracle_client::Client;
use coracle_controllers::{Identities, Identity, Lifetime};
use coracle_csi_driver as csi;
use coracle_journal::Recorder;
use coracle_registry::User;
use futures_util::FutureExt;
use http::Request;
use parking_lot::Mutex;
use tower::service_fn;

use crate::builder::TransportLayer;
use crate::component::Component;
use crate::{Body, Instance, Requester, RequesterKind, Transport};

/// The transport of a component to the API server, with the identity that it has in a real cluster.
pub(crate) fn component_transport(
    front: &Transport,
    component: Component,
    instance: &Instance,
    layer: Option<&TransportLayer>,
) -> Transport {
    let requester = Requester::component(component.word(), instance.clone());
    layered(front.clone(), &requester, layer).asking_as(Arc::new(program(component)))
}

/// The user of a component.
fn program(component: Component) -> User {
    match component {
        Component::CsiDriver => service_account(csi::NAMESPACE, csi::ACCOUNT),
        _ => User::new(format!("system:kube-{}", component.word()), std::iter::empty::<String>()),
    }
}

/// The transport behind the layer, if there is one. The user is set in front of it, so that the layer sees the user.
pub(crate) fn layered(transport: Transport, requester: &Requester, layer: Option<&TransportLayer>) -> Transport {
    let transport = match layer {
        Some(layer) => layer(requester, transport),
        None => transport,
    };
    match requester.kind {
        RequesterKind::Component => pausable(transport, &requester.instance),
        RequesterKind::User | RequesterKind::Connections => transport,
    }
}

/// The transport of an instance of a component, which can be paused. Tasks that a component has spawned outside its own
/// ones run on, and their requests wait until the instance is resumed.
fn pausable(transport: Transport, instance: &Instance) -> Transport {
    let instance = instance.clone();
    Transport::to(service_fn(move |request: Request<Body>| {
        let (instance, transport) = (instance.clone(), transport.clone());
        async move {
            instance.gate().opened().await;
            let answer = instance.in_flight().send(transport.send(request).boxed()).await;
            instance.gate().opened().await;
            answer
        }
    }))
}

/// Creates the clients of the simulated nodes.
#[derive(Clone)]
pub(crate) struct KubeletClients {
    pub(crate) front: Transport,
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) recorder: Recorder,
    /// The current start of the kubelet.
    pub(crate) instance: CurrentInstance,
}

/// The instance of a component that starts now, or started last.
#[derive(Clone, Default)]
pub(crate) struct CurrentInstance(Arc<Mutex<Instance>>);

impl CurrentInstance {
    /// The current one.
    pub(crate) fn get(&self) -> Instance {
        self.0.lock().clone()
    }

    /// Begins the next one.
    pub(crate) fn begin_next(&self) -> Instance {
        let mut current = self.0.lock();
        *current = current.next();
        current.clone()
    }
}

/// The current start of each component, by name. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Instances(Arc<Mutex<BTreeMap<String, CurrentInstance>>>);

impl Instances {
    pub(crate) fn of(&self, name: &str) -> CurrentInstance {
        self.0.lock().entry(name.to_owned()).or_default().clone()
    }
}

impl KubeletClients {
    /// The client through which all nodes read.
    pub(crate) fn reader(&self, ambient: &Ambient) -> Client {
        let user = User::new(crate::SIMULATED_NODES_USER, std::iter::empty::<String>());
        self.client(user, Component::Kubelet.word(), ambient)
    }

    /// The client through which one node writes.
    pub(crate) fn of_node(&self, node: &str, ambient: &Ambient) -> Client {
        let user = User::new(format!("system:node:{node}"), ["system:nodes"]);
        self.client(user, &format!("{}/{node}", Component::Kubelet.word()), &ambient.split(node))
    }

    fn client(&self, user: User, name: &str, ambient: &Ambient) -> Client {
        let requester = Requester::component(name, self.instance.get());
        let transport = layered(self.front.clone(), &requester, self.layer.as_ref()).asking_as(Arc::new(user));
        Client::new(transport, ambient).with_recorder(self.recorder.clone())
    }
}

/// A service account as a user.
fn service_account(namespace: &str, name: &str) -> User {
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    User::new(coracle_auth::service_account_name(namespace, name), groups)
}

/// The controllers' identities: service accounts of `kube-system`, or the one of the controller-manager. Each start of
/// a controller is an instance of its own, which is a part of the controller-manager's.
pub(crate) struct Accounts {
    pub(crate) transport: Transport,
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) ambient: Ambient,
    /// The instance of the controller-manager.
    pub(crate) instance: Instance,
    /// The starts of all controllers.
    pub(crate) instances: Instances,
    /// Whether all controllers use the identity of the controller-manager.
    pub(crate) own_identity_for_all: bool,
}

/// One start of a controller.
struct ControllerInstance(Instance);

impl Lifetime for ControllerInstance {
    fn gate(&self) -> Gate {
        self.0.gate().clone()
    }

    fn pause(&self) -> bool {
        self.0.pause()
    }

    fn resume(&self) -> bool {
        self.0.resume()
    }

    fn end(&self) {
        self.0.end();
    }
}

impl Identities for Accounts {
    fn identity(&self, controller: &str, account: &str) -> Identity {
        let name = format!("{}/{controller}", Component::ControllerManager.word());
        let instance = self.instances.of(&name).begin_next().within(&self.instance);
        let requester = Requester::component(&name, instance.clone());
        let transport = layered(self.transport.clone(), &requester, self.layer.as_ref());
        // Two clients must not draw the same audit ids.
        let client = |user: User, ambient: &Ambient| Client::new(transport.clone().asking_as(Arc::new(user)), ambient);
        let reader = client(program(Component::ControllerManager), &self.ambient);
        let client = if self.own_identity_for_all || account.is_empty() {
            reader.clone()
        } else {
            client(service_account("kube-system", account), &self.ambient.split("accounts").split(account))
        };
        Identity { client, reader, lifetime: Arc::new(ControllerInstance(instance)) }
    }
}
