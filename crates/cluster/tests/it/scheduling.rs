//! What the scheduler does of what it was configured to do, and with devices, on the whole server.

use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_api::events_v1::Event;
use coracle_api::resource_v1::{DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice};
use coracle_client::{Api, Client, DeleteParams, ListParams};
use coracle_cluster::Cluster;
use coracle_cluster::scheduler::Configuration;
use coracle_meta::{ObjectKey, Resource};
use serde_json::{Value, json};
use tokio::time::sleep;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

async fn create<K: Resource>(client: &Client, object: Value) -> K {
    let object = serde_json::from_value(object).unwrap_or_else(|error| panic!("{error}"));
    Api::of(client).create(&object).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn pod(client: &Client, name: &str, spec: Value) {
    let mut whole = json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    create::<Pod>(client, json!({"metadata": {"name": name, "namespace": "default"}, "spec": whole})).await;
}

async fn node_of(client: &Client, name: &str) -> Option<String> {
    let pod: Pod = Api::of(client).get(&key(name)).await.unwrap();
    pod.node_name().map(str::to_owned)
}

/// What is said of why a pod has no node.
async fn why(client: &Client, name: &str) -> String {
    let pod: Pod = Api::of(client).get(&key(name)).await.unwrap();
    pod.condition("PodScheduled").map(|condition| condition.message.clone()).unwrap_or_default()
}

async fn start(nodes: usize, configuration: &str) -> (Cluster, Client) {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let read = Configuration::read("s.yaml", &format!("{head}{configuration}")).unwrap();
    let cluster = Cluster::builder().nodes(nodes).scheduler(read.config).start().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let client = Client::new(cluster.service(), cluster.ambient());
    (cluster, client)
}

async fn soon() {
    sleep(Duration::from_secs(20)).await;
}

#[tokio::test(start_paused = true)]
async fn each_pod_goes_by_the_profile_that_it_names() {
    let packing = "- schedulerName: packing\n  pluginConfig:\n  - name: NodeResourcesFit\n    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu}]}}\n  plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}}\n";
    let (cluster, client) = start(3, &format!("profiles:\n- schedulerName: default-scheduler\n{packing}")).await;
    for name in ["p1", "p2", "p3", "p4"] {
        pod(&client, name, json!({"schedulerName": "packing"})).await;
    }
    pod(&client, "other", json!({"schedulerName": "nobody"})).await;
    soon().await;
    let first = node_of(&client, "p1").await;
    for name in ["p2", "p3", "p4"] {
        assert_eq!(node_of(&client, name).await, first, "{name} goes where most is used");
    }
    assert_eq!(node_of(&client, "other").await, None);
    let events: Vec<Event> = Api::of(&client).list(&ListParams::default()).await.unwrap().items;
    let told = events.iter().find(|event| event.regarding.name == "p1" && event.reason == "Scheduled").unwrap();
    assert_eq!(told.reporting_controller, "packing");
    cluster.shutdown().await;
}

async fn devices(client: &Client) {
    let selector = json!([{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]);
    create::<DeviceClass>(client, json!({"metadata": {"name": "gpu"}, "spec": {"selectors": selector}})).await;
    let device = |name: &str| json!({"name": name, "attributes": {"model": {"string": "a"}}});
    let spec = json!({
        "driver": "gpu.example.com", "nodeName": "node-2", "devices": [device("g0"), device("g1")],
        "pool": {"name": "node-2", "generation": 1, "resourceSliceCount": 1},
    });
    create::<ResourceSlice>(client, json!({"metadata": {"name": "s"}, "spec": spec})).await;
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "gpu"}}]);
    let metadata = json!({"name": "one-gpu", "namespace": "default"});
    create::<ResourceClaimTemplate>(
        client,
        json!({"metadata": metadata, "spec": {"spec": {"devices": {"requests": requests}}}}),
    )
    .await;
}

async fn claims(client: &Client) -> Vec<ResourceClaim> {
    Api::of(client).list(&ListParams::default()).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn pods_get_the_devices_that_they_claim_and_others_get_them_afterwards() {
    let (cluster, client) = start(3, "").await;
    devices(&client).await;
    let wants = json!({"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]});
    for name in ["a", "b", "c"] {
        pod(&client, name, wants.clone()).await;
        soon().await;
    }
    let on = Some("node-2".to_owned());
    assert_eq!((node_of(&client, "a").await, node_of(&client, "b").await), (on.clone(), on.clone()));
    let shown = serde_json::to_value(claims(&client).await).unwrap();
    let results = |claim: &Value| claim["status"]["allocation"]["devices"]["results"][0]["device"].clone();
    let mut got: Vec<String> =
        shown.as_array().unwrap().iter().filter_map(|one| Some(results(one).as_str()?.to_owned())).collect();
    got.sort();
    assert_eq!(got, ["g0", "g1"], "{shown}");
    assert!(shown.as_array().unwrap().iter().filter(|claim| !results(claim).is_null()).all(|claim| {
        claim["metadata"]["finalizers"] == json!(["resource.kubernetes.io/delete-protection"])
            && claim["status"]["reservedFor"][0]["resource"] == "pods"
    }));
    assert_eq!(
        why(&client, "c").await,
        "0/3 nodes are available: 3 cannot allocate all claims. still not schedulable, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    );
    Api::<Pod>::of(&client).delete(&key("a"), &DeleteParams::default()).await.unwrap();
    sleep(Duration::from_secs(120)).await;
    assert_eq!(node_of(&client, "c").await, on, "{}", why(&client, "c").await);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_class_that_is_missing_is_named_and_waited_for() {
    let (cluster, client) = start(2, "").await;
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "gpu"}}]);
    let spec = json!({"devices": {"requests": requests}});
    create::<ResourceClaim>(&client, json!({"metadata": {"name": "mine", "namespace": "default"}, "spec": spec})).await;
    pod(&client, "p", json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]})).await;
    soon().await;
    let said = why(&client, "p").await;
    assert!(
        said.starts_with("0/2 nodes are available: request r: device class gpu does not exist. preemption: "),
        "{said}"
    );
    devices(&client).await;
    soon().await;
    assert_eq!(node_of(&client, "p").await.as_deref(), Some("node-2"), "{}", why(&client, "p").await);
    cluster.shutdown().await;
}
