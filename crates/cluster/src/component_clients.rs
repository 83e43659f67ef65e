use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_controllers::Identities;
use coracle_csi_driver as csi;
use coracle_journal::Recorder;
use coracle_registry::User;
use parking_lot::Mutex;

use crate::builder::TransportLayer;
use crate::component::Component;
use crate::{Instance, Requester, Transport};

/// The transport of a component to the API server, with the identity that it has in a real cluster.
pub(crate) fn component_transport(
    front: &Transport,
    component: Component,
    instance: &Instance,
    layer: Option<&TransportLayer>,
) -> Transport {
    let user = match component {
        Component::CsiDriver => service_account(csi::NAMESPACE, csi::ACCOUNT),
        _ => User::new(format!("system:kube-{}", component.word()), std::iter::empty::<String>()),
    };
    let requester = Requester::component(component.word(), instance.clone());
    layered(front.clone(), &requester, layer).asking_as(Arc::new(user))
}

/// The transport behind the layer, if there is one. The user is set in front of it, so that the layer sees the user.
pub(crate) fn layered(transport: Transport, requester: &Requester, layer: Option<&TransportLayer>) -> Transport {
    match layer {
        Some(layer) => layer(requester, transport),
        None => transport,
    }
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

/// The controllers' own identities: service accounts of `kube-system`.
pub(crate) struct Accounts {
    pub(crate) transport: Transport,
    pub(crate) layer: Option<TransportLayer>,
    pub(crate) ambient: Ambient,
    pub(crate) instance: Instance,
}

impl Identities for Accounts {
    fn client(&self, account: &str) -> Client {
        let user = service_account("kube-system", account);
        let requester = Requester::component(Component::ControllerManager.word(), self.instance.clone());
        let transport = layered(self.transport.clone(), &requester, self.layer.as_ref()).asking_as(Arc::new(user));
        // Two clients must not draw the same audit ids.
        let ambient = self.ambient.split(account);
        Client::new(transport, &ambient)
    }
}
