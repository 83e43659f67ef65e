use std::sync::Arc;

use coracle_ambient::Panics;
use coracle_cluster::{Body, Cluster, Transport, User, boxed};
use coracle_control::{
    ClusterTime, ControlOptions, ControlledCluster, Error, ForkListener, Launcher, Listening, Start, Started,
};
use coracle_journal::{Header, Recorder};
use coracle_scenario::RunningFaults;
use coracle_sim::{Wire, record_objects};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// A cluster with a stepped clock and two nodes.
pub(crate) struct Stepped {
    pub(crate) controlled: ControlledCluster,
    /// A permit for each start of the cluster.
    pub(crate) starts: Arc<Semaphore>,
    /// The APIs of forks, in their order.
    pub(crate) forked: Arc<Mutex<Vec<Transport>>>,
}

impl Stepped {
    pub(crate) async fn start() -> Self {
        let starts = Arc::new(Semaphore::new(1000));
        let forked = Arc::<Mutex<Vec<Transport>>>::default();
        let options = ControlOptions {
            time: ClusterTime::stepped().unwrap(),
            launcher: launcher(Arc::clone(&starts)),
            listener: listener(Arc::clone(&forked)),
            log: (Recorder::ring(100_000), Header::new("2026-01-01T00:00:00Z")),
            panics: Panics::default(),
            seed: Some(7),
            starts_at: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            state: None,
        };
        let controlled = ControlledCluster::start(options).await.unwrap();
        controlled.settle_at_start().await.unwrap();
        Self { controlled, starts, forked }
    }

    pub(crate) fn api(&self) -> Transport {
        coracle_control::transport(&self.controlled)
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        ask_as(&self.api(), admin(), method, path, body).await
    }
}

fn launcher(starts: Arc<Semaphore>) -> Launcher {
    Arc::new(move |start: Start| {
        let starts = Arc::clone(&starts);
        Box::pin(async move {
            starts.acquire().await.expect("it is never closed").forget();
            let Start { kept, nodes, ambient, recorder, .. } = start;
            let wire = Wire::default();
            let mut builder = Cluster::builder().nodes(2).ambient(ambient).recorder(recorder);
            builder = builder.transport_layer_for_all(wire.layer());
            if let Some(kept) = kept {
                builder = builder.kept_store(kept);
            }
            if let Some(nodes) = nodes {
                builder = builder.saved_nodes(nodes);
            }
            let cluster = builder.start().await?;
            let (store, plurals, recorder) = (cluster.store(), Arc::new(cluster.plurals()), cluster.recorder().clone());
            cluster.spawn("world", async move { drop(record_objects(&*store, plurals, recorder).await) });
            let (faults, front) = (RunningFaults::new(&cluster, &wire), cluster.front_door());
            Ok::<_, Error>(Started { cluster, faults, front })
        })
    })
}

fn listener(forked: Arc<Mutex<Vec<Transport>>>) -> ForkListener {
    Arc::new(move |fork| {
        forked.lock().push(coracle_control::transport(&fork));
        Box::pin(async {
            let address = "127.0.0.1:1".parse().expect("an address");
            Ok(Listening { address, kubeconfig: "none".to_owned(), serving: Box::pin(std::future::pending()) })
        })
    })
}

pub(crate) fn admin() -> User {
    User::new("kubernetes-admin", ["system:masters"])
}

pub(crate) async fn send(to: &Transport, user: User, method: Method, path: &str, body: Value) -> Response<Body> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = request.body(boxed(Full::from(body))).unwrap();
    to.clone().asking_as(Arc::new(user)).send(request).await.unwrap()
}

pub(crate) async fn ask_as(to: &Transport, user: User, method: Method, path: &str, body: Value) -> (u16, Value) {
    let answer = send(to, user, method, path, body).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into()))
}

/// A Deployment with three pods.
pub(crate) fn web() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    })
}

pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

/// The names and phases of the pods.
pub(crate) async fn pods(to: &Transport) -> Vec<(String, String)> {
    let (_, list) = ask_as(to, admin(), Method::GET, PODS, Value::Null).await;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pods = list["items"].as_array().cloned().unwrap_or_default();
    pods.iter().map(|pod| (text(&pod["metadata"]["name"]), text(&pod["status"]["phase"]))).collect()
}
