//! Objects of one cluster, as kubectl prints them, made anew in another.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_client::{Api, Client, ListParams};
use coracle_cluster::{Cluster, User};
use coracle_import::{ImportOptions, ImportOutcome, ImportReport, import, read_documents};
use coracle_meta::{GroupVersionResource, Object};
use serde_json::{Value, json};

fn client(cluster: &Cluster) -> Client {
    cluster.client_as(User::new("ann", ["system:masters"]))
}

fn api(cluster: &Cluster, group: &str, plural: &str) -> Api<Object> {
    Api::dynamic(&client(cluster), GroupVersionResource::new(group, "v1", plural))
}

async fn create(cluster: &Cluster, group: &str, plural: &str, object: Value) -> Object {
    api(cluster, group, plural).create(&Object::from_value(object).unwrap()).await.unwrap()
}

async fn list(cluster: &Cluster, group: &str, plural: &str) -> Vec<Object> {
    let list = api(cluster, group, plural).list_all(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter(|object| object.namespace() == "shop" || object.namespace().is_empty()).collect()
}

/// All that is in a cluster, as `kubectl get -o json` prints it.
async fn export(cluster: &Cluster) -> String {
    let client = client(cluster);
    let mut items = Vec::new();
    for resource in client.discover().await.unwrap() {
        if !resource.preferred || !resource.supports(&["list"]) || resource.resource.group == "events.k8s.io" {
            continue;
        }
        let all = Api::<Object>::dynamic(&client, resource.resource.clone()).list_all(&ListParams::default()).await;
        items.extend(all.unwrap().items.into_iter().map(|mut object| {
            object.set_kind(&resource.kind);
            object.into_value()
        }));
    }
    serde_json::to_string_pretty(&json!({"apiVersion": "v1", "kind": "List", "items": items})).unwrap()
}

async fn take_in(cluster: &Cluster, text: &str, options: ImportOptions) -> ImportReport {
    let documents = read_documents("all.json", text).unwrap();
    import(&client(cluster), &documents, options).await.unwrap_or_else(|error| panic!("{error}"))
}

async fn refused(cluster: &Cluster, text: &str) -> String {
    let documents = read_documents("f.yaml", text).unwrap();
    import(&client(cluster), &documents, ImportOptions::default()).await.unwrap_err().to_string()
}

fn template(label: &str, command: &str) -> Value {
    json!({"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "c", "image": "busybox:1",
        "command": ["sh", "-c", command]}]}})
}

/// A namespace with a Deployment, a StatefulSet, a Job that has ended, and a custom object that owns a ConfigMap.
async fn fill(cluster: &Cluster) {
    create(cluster, "", "namespaces", json!({"metadata": {"name": "shop"}})).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let about = |name: &str| json!({"name": name, "namespace": "shop"});
    let workload = |label: &str| {
        json!({"replicas": 3, "selector": {"matchLabels": {"app": label}},
        "serviceName": "web", "template": template(label, "sleep 100000")})
    };
    let mut web = json!({"metadata": about("web"), "spec": workload("web")});
    web["spec"].as_object_mut().unwrap().remove("serviceName");
    create(cluster, "apps", "deployments", web).await;
    create(cluster, "apps", "statefulsets", json!({"metadata": about("db"), "spec": workload("db")})).await;
    create(
        cluster,
        "",
        "services",
        json!({"metadata": about("web"), "spec": {"selector": {"app": "web"},
        "ports": [{"port": 80}]}}),
    )
    .await;
    let mut once = template("once", "echo done");
    once["spec"]["restartPolicy"] = "Never".into();
    create(cluster, "batch", "jobs", json!({"metadata": about("once"), "spec": {"template": once}})).await;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    create(
        cluster,
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        json!({"metadata": {"name": "boats.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"}, "versions":
        [{"name": "v1", "served": true, "storage": true, "schema": schema}]}}),
    )
    .await;
    let boat =
        create(cluster, "x.io", "boats", json!({"apiVersion": "x.io/v1", "kind": "Boat", "metadata": about("b")}))
            .await;
    let owner = json!({"apiVersion": "x.io/v1", "kind": "Boat", "name": "b", "uid": boat.uid()});
    let mut sail = about("sail");
    sail["ownerReferences"] = json!([owner]);
    create(cluster, "", "configmaps", json!({"metadata": sail, "data": {"a": "b"}})).await;
    tokio::time::sleep(Duration::from_secs(120)).await;
}

/// The pods with their nodes, their containers' phase, and who owns them.
async fn pods(cluster: &Cluster) -> BTreeMap<String, [String; 3]> {
    let pods = list(cluster, "", "pods").await;
    let owner = |pod: &Object| pod.owner_references().first().map(|owner| format!("{} {}", owner.kind, owner.name));
    pods.iter()
        .map(|pod| {
            let said = [
                pod.text("spec.nodeName").to_owned(),
                pod.text("status.phase").to_owned(),
                owner(pod).unwrap_or_default(),
            ];
            (pod.name().to_owned(), said)
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_imported_cluster_continues_with_the_same_pods() {
    let from = Cluster::builder().nodes(2).start().await.unwrap();
    fill(&from).await;
    let (text, before) = (export(&from).await, pods(&from).await);
    assert_eq!(before.len(), 7, "{before:?}");
    let to = Cluster::builder().nodes(2).seed(2).start().await.unwrap();
    let dry = take_in(&to, &text, ImportOptions { dry_run: true, ..ImportOptions::default() }).await;
    assert!(list(&to, "apps", "deployments").await.is_empty() && dry.counts().0 > 15, "{dry}");
    let report = take_in(&to, &text, ImportOptions::default()).await;
    assert_eq!(report.counts().2, 0, "{report}");
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(pods(&to).await, before);
    let uids: BTreeSet<String> = {
        let mut all = list(&to, "apps", "replicasets").await;
        all.extend(list(&to, "apps", "statefulsets").await);
        all.extend(list(&to, "batch", "jobs").await);
        all.extend(list(&to, "x.io", "boats").await);
        assert_eq!(all.len(), 4, "nobody has made another ReplicaSet");
        all.iter().map(|object| object.uid().to_owned()).collect()
    };
    let mut owned = list(&to, "", "pods").await;
    owned.extend(list(&to, "", "configmaps").await.into_iter().filter(|object| object.name() == "sail"));
    assert!(owned.len() == 8 && owned.iter().all(|object| uids.contains(&object.owner_references()[0].uid)));
    let job = &list(&to, "batch", "jobs").await[0];
    assert_eq!((job.number("status.succeeded"), job.field("spec.suspend")), (Some(1), Some(&json!(false))));
    let again = take_in(&to, &text, ImportOptions::default()).await;
    assert_eq!(again.counts().0, 0, "what is there is left alone: {again}");
}

#[tokio::test(start_paused = true)]
async fn errors_are_reported_with_file_and_line_before_any_write() {
    let cluster = Cluster::builder().api_server_only().start().await.unwrap();
    let said = refused(
        &cluster,
        "kind: Pod\n---\napiVersion: v1\nkind: Ship\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\n\
         metadata: {name: a}\ndata: 5\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\napiVersion: v1\n\
         kind: ConfigMap\nmetadata: {name: b}\nmore: 1\n",
    )
    .await;
    let places: Vec<&str> = said.lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(places, ["f.yaml:1", "f.yaml:3", "f.yaml:7", "f.yaml:16"], "{said}");
    assert!(said.contains("unknown field \"more\"") && said.contains("serves no Ship of v1"), "{said}");
    let owned = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  uid: u\n  ownerReferences:\n  - {apiVersion: v1, kind: ConfigMap, name: OWNER, uid: UID}\n";
    let unknown = owned.replace("OWNER", "gone").replace("UID", "u-1");
    let said = refused(&cluster, &unknown).await;
    assert_eq!(
        said,
        "f.yaml:1: ConfigMap default/a: its owner ConfigMap gone (uid u-1) is neither in the file nor in the cluster"
    );
    let said = refused(&cluster, &owned.replace("UID", "u")).await;
    assert!(said.contains("owners in a circle: ConfigMap default/a"), "{said}");
    let elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n";
    assert!(refused(&cluster, elsewhere).await.contains("its namespace is neither"), "{said}");
    assert!(
        api(&cluster, "", "configmaps")
            .list_all(&ListParams::default())
            .await
            .unwrap()
            .items
            .iter()
            .all(|map| map.namespace() != "default")
    );
    let options = ImportOptions { drop_unknown_owners: true, ..ImportOptions::default() };
    let report = take_in(&cluster, &unknown, options).await;
    assert_eq!(report.objects[0].fate, ImportOutcome::Made, "{report}");
    assert!(report.to_string().contains("owner ConfigMap gone not found; reference dropped"), "{report}");
}
