use std::fmt;
use std::sync::Arc;

use coracle_apiserver::Identification;
use coracle_handover::Body;
use http::Request;

use coracle_supervisor::Instance;

/// The client end of a transport to the API server.
#[derive(Clone)]
pub struct Requester {
    /// The name: of a component its [word](crate::Component::word), of a controller `controller-manager/NAME`, of a
    /// simulated node `kubelet/NAME`, of a user the user's name, and [`CONNECTIONS`](Self::CONNECTIONS) of other
    /// processes.
    pub name: Arc<str>,
    /// What it is.
    pub kind: RequesterKind,
    /// Which start of the component this is.
    pub instance: Instance,
    identification: Option<Arc<Identification>>,
}

impl fmt::Debug for Requester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, kind, instance, identification: _ } = self;
        f.debug_struct("Requester").field("name", name).field("kind", kind).field("instance", instance).finish()
    }
}

/// What a [`Requester`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequesterKind {
    /// A component of the control plane, or a simulated node.
    Component,
    /// A user in this process: a test, the steps of a scenario, a controller of the caller.
    User,
    /// The connections of other processes, which have their own credentials.
    Connections,
}

impl Requester {
    /// The name of the requester that stands for all other processes.
    pub const CONNECTIONS: &'static str = "connections";

    /// A component.
    pub fn component(name: &str, instance: Instance) -> Self {
        Self { name: name.into(), kind: RequesterKind::Component, instance, identification: None }
    }

    /// A user in this process.
    pub fn user(name: &str) -> Self {
        Self { kind: RequesterKind::User, ..Self::component(name, Instance::default()) }
    }

    /// The connections of other processes.
    pub(crate) fn connections(identification: Arc<Identification>) -> Self {
        let requester = Self::component(Self::CONNECTIONS, Instance::default());
        Self { kind: RequesterKind::Connections, identification: Some(identification), ..requester }
    }

    /// The request with its [`User`](crate::User) in the extensions. Requests of [connections](Self::connections) have
    /// credentials only, which this reads; if they are not valid, there is no user. Other requests have their user.
    pub async fn identify(&self, request: Request<Body>) -> Request<Body> {
        match &self.identification {
            Some(identification) => identification.identify(request).await,
            None => request,
        }
    }
}
