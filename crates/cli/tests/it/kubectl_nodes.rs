//! What every release of kubectl shows of what is used, and how it empties a node.

use crate::kubectl_releases::{Release, with_each_release};
use crate::program::eventually;

#[test]
fn every_release_of_kubectl_shows_what_is_used_and_drains_a_node() {
    // One node more than releases: what all of them drain at once has somewhere to go.
    with_each_release("kubectl-nodes", &["--nodes=9"], |kubectl| {
        kubectl.says(&format!("create namespace {}", kubectl.namespace), "created");
        let node = a_node_of_its_own(kubectl);
        what_is_used_is_shown(kubectl, &node);
        a_node_is_drained(kubectl, &node);
    });
}

/// A node for each release: the sessions go side by side.
fn a_node_of_its_own(kubectl: &Release<'_>) -> String {
    format!("node-{}", kubectl.place)
}

fn what_is_used_is_shown(kubectl: &Release<'_>, node: &str) {
    let pods = kubectl.file(
        "pods.yaml",
        &format!(
            r#"
apiVersion: v1
kind: Pod
metadata:
  name: busy
  labels: {{app: used}}
  annotations: {{coracle.dev/cpu: 250m, coracle.dev/memory: 64Mi, coracle.dev/b.cpu: 30m}}
spec: {{nodeName: {node}, containers: [{{name: a, image: web}}, {{name: b, image: web}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: idle, labels: {{app: used}}, annotations: {{coracle.dev/memory: 300Mi}}}}
spec: {{nodeName: {node}, containers: [{{name: a, image: web}}]}}
"#
        ),
    );
    kubectl.says(&format!("create -f {pods}"), "pod/busy created");
    kubectl.says("wait --for=condition=Ready pod -l app=used --timeout=60s", "condition met");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let shown = eventually("both pods are measured", || {
        let shown = kubectl.command("top pods --no-headers --sort-by=cpu").output().unwrap();
        let shown: Vec<String> = String::from_utf8(shown.stdout).unwrap().lines().map(words).collect();
        (shown.len() == 2).then_some(shown)
    });
    assert_eq!(shown, ["busy 280m 128Mi", "idle 1m 300Mi"]);
    let rows = |line: &str| kubectl.say(line).lines().map(words).collect::<Vec<String>>();
    assert_eq!(rows("top pods --sort-by=memory")[..2], ["NAME CPU(cores) MEMORY(bytes)", "idle 1m 300Mi"]);
    assert_eq!(
        rows("top pods --containers"),
        ["POD NAME CPU(cores) MEMORY(bytes)", "busy a 250m 64Mi", "busy b 30m 64Mi", "idle a 1m 300Mi"]
    );
    kubectl.says("top pods -l app=used --sum", "428Mi");
    // From 1.37 on, kubectl reads v1 where a server has it.
    let requests = kubectl.command("top pods -v=6").output().unwrap();
    let requests = String::from_utf8_lossy(&requests.stderr).into_owned();
    let version = if kubectl.namespace == "of-1-37" { "v1" } else { "v1beta1" };
    assert!(requests.contains(&format!("/apis/metrics.k8s.io/{version}/namespaces/")), "{requests}");
    // A node's figure is an average over the last seconds: for a while it still holds what was before the pods ran. Pods of the
    // other releases may have come to the node since.
    eventually("the node is measured over a time in which both pods ran", || {
        let shown = kubectl.command(&format!("top nodes {node} --no-headers")).output().unwrap();
        let shown = words(&String::from_utf8(shown.stdout).unwrap());
        let [name, cpu, cpu_share, memory, memory_share] = shown.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let at_least = |shown: &str, unit: &str, least: u32| {
            shown.strip_suffix(unit).and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number >= least)
        };
        let is_there = at_least(cpu, "m", 331) && at_least(memory, "Mi", 684);
        (name == node && is_there && at_least(cpu_share, "%", 4) && at_least(memory_share, "%", 2)).then_some(())
    });
    kubectl.says("top nodes --sort-by=memory", node);
    assert!(kubectl.say("get podmetrics busy").contains("WINDOW"));
    kubectl.says(&format!("get --raw /api/v1/nodes/{node}/proxy/stats/summary"), "usageCoreNanoSeconds");
    kubectl.says("explain nodemetrics.usage", "memory working set");
}

fn a_node_is_drained(kubectl: &Release<'_>, node: &str) {
    kubectl.says("create deployment web --image=nginx --replicas=3", "created");
    kubectl.says("create poddisruptionbudget web --selector=app=web --min-available=2", "created");
    kubectl.says("rollout status deployment/web --timeout=60s", "successfully rolled out");
    let refused = kubectl.fails(&format!("drain {node} --timeout=60s"));
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("cannot delete"), "{refused}");
    let drained =
        kubectl.say(&format!("drain {node} --force --ignore-daemonsets --delete-emptydir-data --timeout=60s"));
    assert!(drained.contains(&format!("node/{node} drained")) && drained.contains("pod/busy evicted"), "{drained}");
    let left = kubectl.say(&format!("get pods --field-selector=spec.nodeName={node} -o name"));
    assert_eq!(left, "");
    kubectl.says(&format!("get node {node}"), "SchedulingDisabled");
    kubectl.says(&format!("uncordon {node}"), "uncordoned");
    kubectl.says("rollout status deployment/web --timeout=60s", "successfully rolled out");
}
