//! Deliberately broken controllers, to compare with correct ones. Scenario files call them `toy`.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Ambient;
use coracle_client::{Api, Client, Error, ListParams, Origin, Watch, WatchParams};
use coracle_cluster::{Cluster, User};
use coracle_journal::{Detail, EntryId, Recorder, Stage, subject};
use coracle_meta::{GroupVersionResource, Object, WatchEvent};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::counting_controller::{COUNTING, counting_controller};

/// The names of all broken controllers.
pub(crate) const BROKEN_CONTROLLERS: &[&str] = &[EDGE_TRIGGERED, COUNTING];

const EDGE_TRIGGERED: &str = "edge-triggered";
/// The label of the pods that `edge-triggered` manages.
const LABEL: &str = "toy=edge-triggered";

/// The broken controllers of a run, which do not run before they are started.
///
/// - `edge-triggered` creates a pod whenever it sees the deletion of a pod with the label `toy: edge-triggered`. It
///   never compares desired and actual state, so it misses every deletion that it does not see.
/// - `counting` compares them too early: see [`counting_controller`].
#[derive(Clone)]
pub(crate) struct BrokenControllers {
    clients: BTreeMap<&'static str, Client>,
    ambient: Ambient,
    namespace: String,
    running: Arc<Mutex<BTreeMap<String, Running>>>,
}

/// A running controller, which stops when this is dropped.
struct Running(JoinHandle<()>);

impl BrokenControllers {
    pub(crate) fn new(cluster: &Cluster, namespace: &str) -> Self {
        let client = |name: &&'static str| {
            let user = User::new(actor(name), ["system:masters"]);
            (*name, cluster.client_as(user).with_user_agent(name))
        };
        Self {
            clients: BROKEN_CONTROLLERS.iter().map(client).collect(),
            ambient: cluster.ambient().clone(),
            namespace: namespace.to_owned(),
            running: Arc::default(),
        }
    }

    /// Starts a controller. `edge-triggered` sees all events after this has returned.
    pub(crate) async fn start(&self, name: &str) -> Result<(), String> {
        if self.running.lock().get(name).is_some_and(|running| !running.0.is_finished()) {
            return Err(format!("the toy `{name}` runs already"));
        }
        let client = self.clients.get(name).ok_or_else(|| format!("there is no toy `{name}`"))?.clone();
        client.recorder().record(&actor(name), Stage::ComponentStart, Detail::default);
        let running = match name {
            COUNTING => tokio::spawn(counting_controller(client, self.ambient.clone(), self.namespace.clone())),
            _ => self.start_edge_triggered(client).await?,
        };
        self.running.lock().insert(name.to_owned(), Running(running));
        Ok(())
    }

    async fn start_edge_triggered(&self, client: Client) -> Result<JoinHandle<()>, String> {
        let pods = Api::<Object>::dynamic(&client, GroupVersionResource::new("", "v1", "pods"));
        let pods = pods.within(&self.namespace);
        let watch = from_now_on(&pods).await.map_err(|error| error.to_string())?;
        Ok(tokio::spawn(async move {
            // It ends with the first failed request, since it is deliberately broken.
            let _ = follow(&client, &pods, watch).await;
        }))
    }

    /// Stops a controller, which loses its state.
    pub(crate) fn stop(&self, name: &str) -> Result<(), String> {
        let running = self.running.lock().remove(name);
        let recorder = self.clients.get(name).filter(|_| running.is_some()).map(Client::recorder);
        let recorder = recorder.ok_or_else(|| format!("the toy `{name}` does not run"))?;
        recorder.record(&actor(name), Stage::ComponentStop, || Detail::default().with("why", "asked"));
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The actor of a broken controller in the event log, which is also its user.
pub(crate) fn actor(name: &str) -> String {
    format!("toy/{name}")
}

async fn from_now_on(pods: &Api<Object>) -> Result<Watch<Object>, Error> {
    let now = pods.list(&ListParams::labels(LABEL)).await?.metadata.resource_version;
    watch_from(pods, now).await
}

async fn watch_from(pods: &Api<Object>, version: String) -> Result<Watch<Object>, Error> {
    let params = WatchParams { labels: LABEL.to_owned(), resource_version: Some(version), ..WatchParams::default() };
    pods.watch(&params).await
}

async fn follow(client: &Client, pods: &Api<Object>, mut watch: Watch<Object>) -> Result<(), Error> {
    let mut seen = None;
    loop {
        let Some(event) = watch.next().await? else {
            // A server ends every watch after some minutes.
            watch = match seen.take() {
                Some(version) => watch_from(pods, version).await?,
                None => from_now_on(pods).await?,
            };
            continue;
        };
        let (WatchEvent::Added(pod) | WatchEvent::Modified(pod) | WatchEvent::Deleted(pod)) = &event else { continue };
        seen = Some(pod.resource_version().to_owned());
        if matches!(event, WatchEvent::Deleted(_)) {
            let notified = notified(client.recorder(), watch.audit_id(), pod);
            let origin = Origin::new(&actor(EDGE_TRIGGERED), &format!("{}/{}", pod.namespace(), pod.name()), notified);
            pods.through(&client.on_behalf_of(origin)).create(&successor(pod)).await?;
        }
    }
}

fn notified(recorder: &Recorder, watch: &str, pod: &Object) -> Option<EntryId> {
    let revision = pod.resource_version().parse().unwrap_or_default();
    recorder.record(&actor(EDGE_TRIGGERED), Stage::HandlerCall, || {
        let detail = Detail::about(subject("pods", pod.namespace(), pod.name())).at(revision);
        let detail = detail.caused_by(recorder.sent(watch, revision));
        detail.with("notification", "Deleted").with("handler", EDGE_TRIGGERED)
    })
}

/// A pod like one that was deleted.
fn successor(gone: &Object) -> Object {
    let containers = gone.field("spec.containers").and_then(Value::as_array).into_iter().flatten();
    let containers: Vec<Value> =
        containers.map(|container| json!({"name": container["name"], "image": container["image"]})).collect();
    let value = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("{}-again", gone.name()), "namespace": gone.namespace(), "labels": gone.labels()},
        "spec": {"containers": containers},
    });
    Object::from_value(value).expect("an object with a kind and a name")
}
