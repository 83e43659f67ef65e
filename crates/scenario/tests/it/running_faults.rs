//! Faults of a running cluster, in virtual time.

use std::path::Path;
use std::time::Duration;

use coracle::api::coordination_v1::Lease;
use coracle::api::core_v1::{Node, Secret};
use coracle::runtime::{Api, Patch};
use coracle_cluster::{Cluster, NodeSpec, User};
use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_meta::ObjectKey;
use coracle_scenario::{FaultList, RunningFaults, parse_faults};
use coracle_sim::Wire;
use serde_json::json;

fn list(faults: &RunningFaults, text: &str) -> FaultList {
    let path = Path::new("faults.yaml");
    faults.check(parse_faults(path, text).unwrap(), path, text).unwrap()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_running_fault_waits_for_its_conditions_and_ends_when_it_is_removed() {
    let wire = Wire::default();
    let cluster = Cluster::builder().api_server_only().transport_layer_for_all(wire.layer()).start().await.unwrap();
    let faults = RunningFaults::new(&cluster, &wire);
    let secrets = |user: &str| Api::<Secret>::of(&cluster.client_as(User::new(user, ["system:masters"])));
    let reads = async |user: &str| secrets(user).find(&ObjectKey::new("default", "web")).await.is_ok();
    let text = "- {name: late, when: {after: 10s}, do: {cut: ann}}\n\
                - {name: with a secret, when: {cel: 'secrets.size() == 1'}, do: {cut: ann}}\n\
                - {name: removed, when: {after: 15s}, do: {cut: ann}}\n\
                - {when: {by: bob, verb: get, nth: 2}, do: {refuse: 500}, for: 2}\n";
    let added = faults.add(&list(&faults, text)).await.unwrap();
    assert!(added.iter().all(|fault| fault.state == "waiting" && fault.near_miss.is_some()), "{added:?}");
    assert_eq!(added.iter().map(|fault| fault.id).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(faults.remove(|fault| fault.name == "removed").len(), 1);

    pass(9).await;
    assert!(reads("ann").await);
    pass(2).await;
    let begun: Vec<bool> = faults.list().iter().map(|fault| fault.has_begun).collect();
    assert_eq!(begun, [true, false, false], "the first applies, and has struck nothing");
    assert!(!reads("ann").await && reads("bob").await);
    let late = faults.list().remove(0);
    assert_eq!((late.state, late.struck, late.near_miss), ("active", 1, None));
    assert!(late.revision.is_some());
    assert_eq!(faults.remove(|fault| fault.id == 1).len(), 1);
    assert!(reads("ann").await);
    pass(60).await;
    assert!(reads("ann").await, "a fault that was removed does not begin");

    let secret = json!({"metadata": {"namespace": "default", "name": "web"}});
    secrets("carl").create(&serde_json::from_value(secret).unwrap()).await.unwrap();
    pass(1).await;
    assert!(!reads("ann").await);
    assert_eq!([reads("bob").await, reads("bob").await, reads("bob").await], [false, false, true]);
    let states: Vec<_> = faults.list().iter().map(|fault| (fault.name.clone(), fault.state, fault.struck)).collect();
    assert_eq!(states, [("with a secret".to_owned(), "active", 1), ("refuse: 500".to_owned(), "ended", 2)]);
    faults.remove(|_| true);
    assert!(faults.list().is_empty() && reads("ann").await);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_fault_that_names_no_component_of_the_cluster_waits_and_shows_the_nearest_one() {
    let wire = Wire::default();
    let builder = Cluster::builder().nodes(1).own_informers(["kubelet/node-1"]);
    let cluster = builder.transport_layer_for_all(wire.layer()).start().await.unwrap();
    let faults = RunningFaults::new(&cluster, &wire);
    for (fault, meant) in [
        ("{do: {cut: controller-managr}}", Some("controller-manager")),
        ("{do: {pause: controller-manager/replicasett}}", Some("controller-manager/replicaset")),
        ("{do: {kill: schedulr}}", Some("scheduler")),
        ("{do: {lag: 5s, to: kubelet/node-2}}", Some("kubelet/node-1")),
        ("{when: {by: controller-manager/jobb, verb: create}, do: {lose: answer}}", Some("controller-manager/job")),
        ("{do: {cut: my-operator}}", None),
        ("{do: {lag: 5s, to: kubelet/node-1}}", None),
    ] {
        let added = faults.add(&list(&faults, fault)).await.unwrap().remove(0);
        assert_eq!((added.state, added.struck, added.did_you_mean.as_deref()), ("waiting", 0, meant), "{fault}");
    }
    pass(60).await;
    let unknown = &faults.list()[..6];
    assert!(unknown.iter().all(|fault| fault.state == "waiting"), "{unknown:?}");
    let (path, shared) = (Path::new("faults.yaml"), "{do: {hang: {}, to: controller-manager/job}}");
    let refusal = faults.check(parse_faults(path, shared).unwrap(), path, shared).unwrap_err().to_string();
    assert!(refusal.starts_with("faults.yaml:1:17: `controller-manager/job` shares its informers"), "{refusal}");
    faults.remove(|_| true);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_a_component_that_comes_later_waits_for_it_and_then_strikes() {
    let wire = Wire::default();
    let cluster = Cluster::builder().nodes(1).transport_layer_for_all(wire.layer()).start().await.unwrap();
    let faults = RunningFaults::new(&cluster, &wire);
    let text = "- {do: {pause: my-operator}}\n- {do: {node: {stop: node-9}}, for: 1h}\n";
    faults.add(&list(&faults, text)).await.unwrap();
    pass(60).await;
    let waiting: Vec<_> = faults.list().into_iter().map(|fault| (fault.state, fault.near_miss)).collect();
    let missing = |name: &str| ("waiting", Some(format!("there is no component `{name}`")));
    assert_eq!(waiting, [missing("my-operator"), missing("kubelet/node-9")]);
    cluster.add_component("my-operator", User::new("ann", ["system:masters"]), |_| std::future::pending()).unwrap();
    cluster.kubelet().add_node(NodeSpec::new("node-9"));
    pass(1).await;
    let struck: Vec<_> = faults.list().into_iter().map(|fault| (fault.state, fault.struck)).collect();
    assert_eq!(struck, [("active", 1), ("active", 1)]);
    assert!(!cluster.runs("kubelet/node-9"));
    cluster.shutdown().await;
}

/// Sets an annotation of a node, or removes it.
async fn annotate(cluster: &Cluster, annotation: &str, value: Option<&str>) {
    let nodes = Api::<Node>::of(&cluster.client_as(User::new("ann", ["system:masters"])));
    let patch = Patch::Merge(json!({"metadata": {"annotations": {annotation: value}}}));
    nodes.patch(&ObjectKey::cluster("node-1"), &patch).await.unwrap();
    pass(2).await;
}

/// Whether node-1 has renewed its Lease in the last eleven seconds.
async fn reports(cluster: &Cluster) -> bool {
    let leases = Api::<Lease>::of(&cluster.api_client());
    let renewed = async || leases.get(&ObjectKey::new("kube-node-lease", "node-1")).await.unwrap().spec.renew_time;
    let before = renewed().await;
    pass(11).await;
    renewed().await != before
}

#[tokio::test(start_paused = true)]
async fn an_annotation_of_a_node_is_a_fault_in_the_list_with_its_cause() {
    for (annotation, value, name) in [
        ("coracle.dev/partition", "true", "cut: kubelet/node-1"),
        ("coracle.dev/kubelet", "stopped", "node: {stop: node-1}"),
        ("coracle.dev/power", "off", "node: {forget: node-1}"),
    ] {
        let (wire, recorder) = (Wire::default(), Recorder::ring(100_000));
        let builder = Cluster::builder().seed(1).nodes(1).recorder(recorder.clone());
        let cluster = builder.transport_layer_for_all(wire.layer()).start().await.unwrap();
        let faults = RunningFaults::new(&cluster, &wire);
        pass(20).await;
        let of_the_fault = |stage: Stage| -> Vec<Entry> {
            let all = recorder.entries(EntryId(0)).into_iter();
            all.filter(|entry| entry.stage == stage).collect()
        };

        annotate(&cluster, annotation, Some(value)).await;
        let listed: Vec<_> = faults.list().into_iter().map(|fault| (fault.name, fault.state, fault.struck)).collect();
        assert_eq!(listed, [(name.to_owned(), "active", 1)], "{annotation}");
        assert!(!reports(&cluster).await, "{annotation}");
        let on = of_the_fault(Stage::FaultOn);
        assert_eq!((on.len(), on[0].data["fault"].as_str()), (1, Some(name)));
        let written = recorder.entries(EntryId(0)).into_iter().find(|entry| entry.id == on[0].causes[0]).unwrap();
        assert!(written.stage == Stage::StoreCommit && written.subject.ends_with("/node-1"), "{written:?}");

        annotate(&cluster, annotation, None).await;
        assert!(faults.list().is_empty() && reports(&cluster).await, "{annotation}");
        assert_eq!(of_the_fault(Stage::FaultOff)[0].causes, [on[0].id]);

        annotate(&cluster, annotation, Some(value)).await;
        assert_eq!(faults.remove(|fault| fault.name == name).len(), 1);
        assert!(
            reports(&cluster).await,
            "{annotation}: a fault that is removed has no effect, whatever the annotation"
        );
        cluster.shutdown().await;
    }
}
