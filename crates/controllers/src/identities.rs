use std::fmt;
use std::sync::Arc;

use coracle_ambient::Gate;
use coracle_client::Client;

/// The identity of each controller: a service account with only the rights that it needs.
///
/// In Kubernetes: `--use-service-account-credentials`.
pub trait Identities: Send + Sync {
    /// The identity for one start of a controller. `controller` is its name as a component, and `account` its service
    /// account in `kube-system`, or empty if it uses the program's own identity.
    fn identity(&self, controller: &str, account: &str) -> Identity;
}

/// How one start of a controller reaches the API server.
#[derive(Clone)]
pub struct Identity {
    /// The client for its own requests.
    pub client: Client,
    /// The client for its informers, if it has informers of its own.
    pub reader: Client,
    /// The start, as its clients know it.
    pub lifetime: Arc<dyn Lifetime>,
}

/// One start of a controller.
pub trait Lifetime: Send + Sync {
    /// Whether its tasks may run.
    fn gate(&self) -> Gate;
    /// Stops it, as by SIGSTOP; false if it was paused before.
    fn pause(&self) -> bool;
    /// Continues it; false if it was not paused.
    fn resume(&self) -> bool;
    /// It was killed, or its process has ended.
    fn end(&self);
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Identity {
    /// An identity with one client for everything.
    pub fn of(client: &Client) -> Self {
        Self { client: client.clone(), reader: client.clone(), lifetime: Arc::new(Gate::default()) }
    }
}

/// A start whose clients do not know that it has ended.
impl Lifetime for Gate {
    fn gate(&self) -> Gate {
        self.clone()
    }

    fn pause(&self) -> bool {
        self.close()
    }

    fn resume(&self) -> bool {
        self.open()
    }

    fn end(&self) {}
}

/// All controllers use the identity of the program.
impl Identities for Client {
    fn identity(&self, _: &str, _: &str) -> Identity {
        Identity::of(self)
    }
}
