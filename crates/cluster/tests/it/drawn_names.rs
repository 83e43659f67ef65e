//! Uids and generated names follow from the seed, from who asks and from what is made: requests of others, the event
//! log, and what happens later change none of them.

use std::collections::BTreeMap;
use std::time::Duration;

use coracle_api::apps_v1::Deployment;
use coracle_api::core_v1::{ConfigMap, Namespace};
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::{Builder, Cluster, Component, User};
use coracle_journal::Recorder;
use coracle_meta::Resource;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

/// The end of a run.
const END: Duration = Duration::from_secs(30);
/// The namespace of the other requester.
const OTHERS: &str = "others";
const KINDS: [&str; 9] = [
    "/api/v1/pods",
    "/api/v1/events",
    "/api/v1/configmaps",
    "/api/v1/serviceaccounts",
    "/api/v1/namespaces",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/deployments",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
];

/// The names of objects and their uids, with the volumes of pods: by kind, namespace and name.
type Names = BTreeMap<String, String>;

/// A request of the other requester.
#[derive(Clone, Copy, Debug)]
enum Extra {
    Read,
    Create,
    GenerateName,
    Refused,
}

fn extra() -> impl Strategy<Value = (u64, Extra)> {
    let request = prop_oneof![Just(Extra::Read), Just(Extra::Create), Just(Extra::GenerateName), Just(Extra::Refused)];
    (0..20_000_u64, request)
}

async fn create<K: Resource>(client: &Client, object: Value) {
    let object: K = serde_json::from_value(object).unwrap();
    Api::of(client).create(&object).await.unwrap();
}

async fn send(client: &Client, number: usize, request: Extra) {
    let api = Api::<ConfigMap>::of(client);
    let map = |metadata: Value| serde_json::from_value::<ConfigMap>(json!({ "metadata": metadata })).unwrap();
    match request {
        Extra::Read => drop(api.list(&ListParams::default()).await.unwrap()),
        Extra::Create => {
            drop(api.create(&map(json!({"name": format!("m-{number}"), "namespace": OTHERS}))).await.unwrap())
        }
        // The same prefix as that of the user, in the user's namespace.
        Extra::GenerateName => {
            let labels = json!({"of": OTHERS});
            let made = map(json!({"generateName": "map-", "namespace": "default", "labels": labels}));
            drop(api.create(&made).await.unwrap());
        }
        Extra::Refused => drop(api.create(&map(json!({"name": "Not A Name", "namespace": OTHERS}))).await.unwrap_err()),
    }
}

/// What the user does: a Deployment, and a ConfigMap with a generated name every second.
async fn work(client: &Client) {
    let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod});
    create::<Deployment>(client, json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})).await;
    for _ in 0..10 {
        create::<ConfigMap>(client, json!({"metadata": {"generateName": "map-", "namespace": "default"}})).await;
        sleep(Duration::from_secs(1)).await;
    }
}

async fn names(client: &Client) -> Names {
    let mut names = Names::new();
    for path in KINDS {
        let list: Value = client.get_path(path).await.unwrap();
        for object in list["items"].as_array().unwrap() {
            let metadata = &object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            let is_others = text("namespace") == OTHERS || text("name") == OTHERS || metadata["labels"]["of"] == OTHERS;
            if !is_others {
                let volumes = object["spec"]["volumes"].as_array().into_iter().flatten();
                let volumes: Vec<&str> = volumes.filter_map(|volume| volume["name"].as_str()).collect();
                let key = format!("{path} {}/{}", text("namespace"), text("name"));
                names.insert(key, format!("{} {}", text("uid"), volumes.join(" ")));
            }
        }
    }
    names
}

async fn cluster(builder: Builder) -> (Cluster, Client) {
    let cluster = builder.nodes(2).seed(7).start().await.unwrap();
    let client = cluster.client_as(User::new("user", ["system:masters"]));
    let other = cluster.client_as(User::new("other", ["system:masters"]));
    create::<Namespace>(&other, json!({"metadata": {"name": OTHERS}})).await;
    sleep(Duration::from_secs(1)).await;
    (cluster, client)
}

/// The names at the end of a run with these requests of another requester, each after its milliseconds.
async fn run(builder: Builder, extras: &[(u64, Extra)]) -> Names {
    let (cluster, client) = cluster(builder).await;
    let (other, began) = (cluster.client_as(User::new("other", ["system:masters"])), Instant::now());
    let mut extras = extras.to_vec();
    extras.sort_by_key(|(after, _)| *after);
    let others = async {
        for (number, (after, request)) in extras.into_iter().enumerate() {
            sleep_until(began + Duration::from_millis(after)).await;
            send(&other, number, request).await;
        }
    };
    tokio::join!(work(&client), others);
    sleep_until(began + END).await;
    let found = names(&client).await;
    cluster.shutdown().await;
    found
}

fn virtually<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 20, ..ProptestConfig::default() })]
    #[test]
    fn requests_of_another_user_change_no_uid_and_no_name(extras in prop::collection::vec(extra(), 1..12)) {
        let quiet = virtually(run(Cluster::builder(), &[]));
        let busy = virtually(run(Cluster::builder(), &extras));
        prop_assert!(quiet.len() > 100, "{}", quiet.len());
        prop_assert_eq!(quiet, busy);
    }
}

#[test]
fn recording_changes_no_uid_and_no_name() {
    let off = virtually(run(Cluster::builder(), &[]));
    let on = virtually(run(Cluster::builder().recorder(Recorder::ring(100_000)), &[]));
    assert_eq!(off, on);
}

/// The names when the controllers are killed after `lived`, and those at the end of that run.
async fn killed(lived: Duration) -> [Names; 2] {
    let (cluster, client) = cluster(Cluster::builder()).await;
    let began = Instant::now();
    let controllers = async {
        sleep_until(began + lived).await;
        let then = names(&client).await;
        cluster.kill_component(Component::ControllerManager);
        sleep(Duration::from_secs(3)).await;
        cluster.start_component(Component::ControllerManager);
        then
    };
    let ((), then) = tokio::join!(work(&client), controllers);
    sleep_until(began + END).await;
    let found = names(&client).await;
    cluster.shutdown().await;
    [then, found]
}

#[test]
fn a_kill_changes_no_name_before_it_and_no_name_of_those_that_were_not_killed() {
    let quiet = virtually(run(Cluster::builder(), &[]));
    for millis in [0, 5, 100, 1_500, 4_000] {
        let [then, found] = virtually(killed(Duration::from_millis(millis)));
        for (name, uid) in then {
            assert_eq!(quiet.get(&name), Some(&uid), "{name}, killed after {millis} ms");
        }
        let of_user = |names: &Names| -> Names {
            let made = names.iter().filter(|(name, _)| name.contains(" default/map-"));
            made.map(|(name, uid)| (name.clone(), uid.clone())).collect()
        };
        assert_eq!(of_user(&found), of_user(&quiet), "killed after {millis} ms");
        assert_eq!(of_user(&found).len(), 10);
    }
}

#[test]
fn an_api_server_that_starts_on_a_kept_store_repeats_no_uid() {
    virtually(async {
        let (first, client) = cluster(Cluster::builder()).await;
        work(&client).await;
        let kept = first.keep_store().unwrap();
        let before = names(&client).await;
        first.shutdown().await;
        let again = Cluster::builder().nodes(2).seed(7).kept_store(kept).start().await.unwrap();
        let client = again.client_as(User::new("user", ["system:masters"]));
        for _ in 0..10 {
            create::<ConfigMap>(&client, json!({"metadata": {"generateName": "map-", "namespace": "default"}})).await;
        }
        let after = names(&client).await;
        let is_new = |name: &&String| !before.contains_key(*name) && name.contains(" default/map-");
        assert_eq!(after.keys().filter(is_new).count(), 10);
        let uids: std::collections::BTreeSet<&String> = after.values().collect();
        assert_eq!(uids.len(), after.len(), "a uid repeats");
        again.shutdown().await;
    });
}
