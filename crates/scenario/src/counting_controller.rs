//! The broken controller `counting`.

use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_client::{Api, Client, Origin};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::{GroupVersionResource, Object, ObjectKey};
use serde_json::json;
use tokio::time::sleep;

/// Its name in scenario files.
pub(crate) const COUNTING: &str = "counting";

/// How many pods it wants.
const WANTED: usize = 3;
/// How long a pass lasts after its writes. A watch that is in time has shown the writes when the next pass begins, so
/// the controller looks right.
const REST: Duration = Duration::from_millis(10);

/// Keeps three pods with the label `toy: counting`.
///
/// It counts the pods in its cache, and creates as many as are missing. It does not wait until the cache shows its own
/// writes: its next sync counts too few pods while the watch is late. Its pods have generated names, so the API server
/// cannot refuse one too many.
struct Counting {
    pods: Lister<Object>,
    /// The client that the pass does not know, so that the pass does not wait for its writes.
    client: Client,
    actor: String,
    namespace: String,
}

/// Runs the controller until the future is dropped.
pub(crate) async fn counting_controller(client: Client, ambient: Ambient, namespace: String) {
    let resource = GroupVersionResource::new("", "v1", "pods");
    let recorder = client.recorder().clone();
    let process = Process::new("toy", &client, &ambient, &recorder);
    let pods = process.informers.dynamic(&resource);
    let key = ObjectKey::new(&namespace, COUNTING);
    let reconciler = Counting { pods: pods.lister(), client, actor: process.actor(COUNTING), namespace };
    let its_key = key.clone();
    let controller = Controller::new(&process, COUNTING, reconciler)
        .watches(&pods, move |change| if is_its_own(change.object()) { vec![its_key.clone()] } else { Vec::new() });
    controller.queue().add(key, &[]);
    tokio::join!(biased; controller.run(), process.run());
}

fn is_its_own(pod: &Object) -> bool {
    pod.label("toy") == Some(COUNTING)
}

impl Reconciler for Counting {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let pods = self.pods.list_namespace(&self.namespace);
        let seen = pods.iter().filter(|pod| is_its_own(pod) && !pod.is_terminating()).count();
        let missing = WANTED.saturating_sub(seen);
        pass.decided(|| format!("want {WANTED}, see {seen}: create {missing}"));
        let origin = Origin::new(&self.actor, &key.to_string(), pass.cause());
        let resource = GroupVersionResource::new("", "v1", "pods");
        let api = Api::<Object>::dynamic(&self.client.on_behalf_of(origin), resource).within(&self.namespace);
        for _ in 0..missing {
            api.create(&pod(&self.namespace)).await?;
        }
        sleep(REST).await;
        Ok(Action::Done)
    }
}

fn pod(namespace: &str) -> Object {
    let value = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "toy-", "namespace": namespace, "labels": {"toy": COUNTING}},
        "spec": {"containers": [{"name": "one", "image": "nginx:1.29"}]},
    });
    Object::from_value(value).expect("an object with a kind")
}
