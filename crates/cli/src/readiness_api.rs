//! Serves the readiness of the running cluster: paths of its API, for members of `system:masters`.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::PendingWork;
use coracle_client::{Client, ListParams};
use coracle_cluster::{Body, Cluster, Kubelet, PathRequest, PathService, Transport, User};
use coracle_meta::{Object, Status};
use coracle_sim::{Settle, SteppedClock, settle_work};
use coracle_store::Store;
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::control_path::only_masters;
use crate::readiness::{NodeReadiness, Readiness};
use crate::simulated::nodes;

/// The path of the readiness now.
pub(crate) const PATH: &str = "/coracle/readiness";
/// The path that answers when the cluster is ready, or after [`WAITS`].
pub(crate) const WAIT_PATH: &str = "/coracle/readiness/wait";

/// How long the wait path waits at most.
pub(crate) const WAITS: Duration = Duration::from_secs(1);
/// How long no object changes in a cluster that has settled.
const QUIET: Duration = Duration::from_millis(500);
/// The same for the path that does not wait.
const LOOK: Duration = Duration::from_millis(50);
/// How far ahead delayed work counts. Work that is later, such as the next restart of a container, may never end.
const HORIZON: Duration = Duration::from_secs(1);
/// How soon nodes that are not ready are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Finds out whether a cluster is ready.
#[derive(Clone)]
pub(crate) struct ReadinessApi {
    store: Arc<dyn Store>,
    work: PendingWork,
    kubelet: Kubelet,
    client: Client,
    /// A clock that must advance for a wait.
    clock: Option<SteppedClock>,
}

impl ReadinessApi {
    /// `clock` is that of the cluster, if it must be advanced.
    pub(crate) fn of(cluster: &Cluster, clock: Option<&SteppedClock>) -> Self {
        Self {
            clock: clock.cloned(),
            store: cluster.store(),
            work: cluster.ambient().work.clone(),
            kubelet: cluster.kubelet().clone(),
            client: cluster.client_as(User::new("kubernetes-admin", ["system:masters"])),
        }
    }

    /// The API of a cluster with these paths in addition: the API server authorizes their requests.
    pub(crate) fn in_front_of(self, front: Transport) -> Transport {
        let service = PathService::new(move |asked| {
            let api = self.clone();
            async move { api.answer(&asked).await }
        });
        coracle_control::in_front_of(front, |path| path == PATH || path == WAIT_PATH, service)
    }

    async fn answer(&self, asked: &PathRequest) -> Result<Response<Body>, Status> {
        only_masters(asked, "get", PATH)?;
        if asked.method != Method::GET {
            return Err(Status::failure(405, "MethodNotAllowed", "the readiness can only be got"));
        }
        let readiness = if asked.path == WAIT_PATH { self.wait(WAITS).await } else { self.now().await };
        Ok(coracle_control::json(StatusCode::OK, &json!(readiness)))
    }

    /// The readiness now.
    async fn now(&self) -> Readiness {
        self.look(Settle { quiet: LOOK, horizon: HORIZON, within: 2 * LOOK }).await
    }

    /// Waits until the cluster is ready, but at most so long.
    pub(crate) async fn wait(&self, within: Duration) -> Readiness {
        let _running = self.clock.as_ref().map(SteppedClock::run);
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(2 * QUIET);
            let readiness = self.look(Settle { quiet: QUIET, horizon: HORIZON, within: left }).await;
            if readiness.is_ready() || Instant::now() >= deadline {
                return readiness;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn look(&self, options: Settle) -> Readiness {
        let work = match settle_work(Arc::clone(&self.store), &self.work, options).await {
            Ok(_) => Vec::new(),
            Err(not_settled) if not_settled.pending.is_empty() => {
                let change = not_settled.last_change.unwrap_or_else(|| "not known".to_owned());
                vec![format!("objects still change, the last is {change}")]
            }
            Err(not_settled) => not_settled.pending,
        };
        Readiness { nodes: self.nodes().await, work }
    }

    /// All nodes: those of the API, and simulated nodes that have not registered.
    async fn nodes(&self) -> Vec<NodeReadiness> {
        let found = nodes(&self.client).list_all(&ListParams::default()).await.map(|list| list.items);
        let found = found.unwrap_or_default();
        let missing = self.kubelet.nodes().into_iter().filter(|name| !found.iter().any(|node| node.name() == name));
        let missing = missing.map(|name| NodeReadiness { name, problem: Some("it has not registered".to_owned()) });
        let mut all: Vec<NodeReadiness> = found.iter().map(|node| self.node(node)).chain(missing).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn node(&self, node: &Object) -> NodeReadiness {
        let conditions = node.field("status.conditions").and_then(Value::as_array);
        let problem = if self.kubelet.acts(node.name()) {
            NodeReadiness::problem(conditions.map_or(&[], Vec::as_slice))
        } else {
            Some("its kubelet does not run, or cannot reach the API server".to_owned())
        };
        NodeReadiness { name: node.name().to_owned(), problem }
    }
}
