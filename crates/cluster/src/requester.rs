use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coracle_ambient::Gate;
use coracle_apiserver::Identification;
use coracle_handover::Body;
use http::Request;

use crate::in_flight::InFlight;

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

/// One start of a component. Clones are the same instance.
#[derive(Clone, Default)]
pub struct Instance {
    number: u64,
    has_ended: Arc<AtomicBool>,
    /// Whether the process has ended in which it runs, if it is a part of one.
    process_has_ended: Arc<AtomicBool>,
    /// Whether its tasks may run.
    gate: Gate,
    in_flight: InFlight,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("number", &self.number).field("has_ended", &self.has_ended()).finish()
    }
}

impl Instance {
    /// The instance after this one.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { number: self.number + 1, ..Self::default() }
    }

    /// The same instance, which ends with another one at the latest.
    pub(crate) fn within(self, process: &Self) -> Self {
        Self { process_has_ended: Arc::clone(&process.has_ended), gate: process.gate.within(), ..self }
    }

    /// How many instances of the component started before.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether the component was killed, or has stopped.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed) || self.process_has_ended.load(Ordering::Relaxed)
    }

    /// Stops the instance, as by SIGSTOP: none of its tasks runs until it is [resumed](Self::resume). Requests that it
    /// has sent are carried out. False if it was paused before.
    pub fn pause(&self) -> bool {
        let is_new = self.gate.close();
        if is_new {
            self.in_flight.carry_on();
        }
        is_new
    }

    /// Continues the instance; false if it was not paused.
    pub fn resume(&self) -> bool {
        self.gate.open()
    }

    /// Whether the instance is paused, or the process of which it is a part.
    pub fn is_paused(&self) -> bool {
        !self.gate.is_open()
    }

    /// The gate of its tasks.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn in_flight(&self) -> &InFlight {
        &self.in_flight
    }

    /// Marks the instance as ended. Its tasks may be polled once more, and must not send or receive anything then.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}
