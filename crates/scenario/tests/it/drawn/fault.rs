use std::fmt::Write;

use coracle_ambient::Random;
use coracle_sim::faults::{FAULTS, FaultKind, FaultTarget};

const REPLICA_SETS: &str = "'system:serviceaccount:kube-system:replicaset-controller'";
const REQUESTERS: [&str; 5] = ["controller-manager", "scheduler", "kubelet", "scenario", REPLICA_SETS];
const READERS: [&str; 3] = ["controller-manager", "scheduler", "kubelet"];
const VERBS: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
const RESOURCES: [&str; 9] = [
    "pods",
    "pods/status",
    "pods/binding",
    "replicasets",
    "replicasets/status",
    "configmaps",
    "events",
    "leases",
    "nodes/status",
];
const KINDS: [&str; 5] = ["Pod", "ReplicaSet", "Node", "ConfigMap", "Lease"];
const CHANGES: [&str; 3] = ["ADDED", "MODIFIED", "DELETED"];
const MOMENTS: [&str; 3] = ["sent", "landed", "answered"];

/// A fault of requests, requesters or watches, as a file has it, for a scenario with these steps.
pub(super) fn draw_fault(random: &Random, steps: &[String]) -> String {
    let kinds: Vec<&FaultKind> = FAULTS.iter().filter(|kind| kind.target != FaultTarget::Cluster).collect();
    let kind = *one_of(random, &kinds);
    let mut when = Vec::new();
    if !steps.is_empty() && random.below(2) == 0 {
        when.push(format!("step: {}", one_of(random, steps)));
    }
    match random.below(6) {
        0 => when.push(format!("after: {}ms", random.below(6000))),
        1 => when.push(format!("revisions: {}", 1 + random.below(80))),
        2 => when.push(event(random)),
        _ => {}
    }
    let is_of_requests = kind.target == FaultTarget::Requests;
    if is_of_requests || random.below(3) == 0 {
        when.push(request(random));
        if !is_of_requests {
            when.push(format!("moment: {}", one_of(random, &MOMENTS)));
        }
    }
    let (when, mut action) = (when.join(", "), action(random, kind));
    // A conflict of a request that cannot conflict is refused.
    if ["get", "list", "watch", "create"].iter().any(|verb| when.contains(&format!("verb: {verb}"))) {
        action = action.replace("refuse: 409", "refuse: 503");
    }
    format!("{{when: {{{when}}}, do: {{{action}}}{}}}", lasts(random, kind, steps))
}

fn below(random: &Random, bound: usize) -> usize {
    usize::try_from(random.below(u64::try_from(bound).unwrap())).unwrap()
}

fn one_of<'a, T>(random: &Random, all: &'a [T]) -> &'a T {
    &all[below(random, all.len())]
}

fn event(random: &Random) -> String {
    let mut event = format!("event: {{kind: {}", one_of(random, &KINDS));
    if random.below(2) == 0 {
        let _ = write!(event, ", type: {}", one_of(random, &CHANGES));
    }
    if random.below(3) == 0 {
        let _ = write!(event, ", cel: 'object != null && oldObject != null'");
    }
    let _ = write!(event, ", nth: {}}}", 1 + random.below(4));
    event
}

/// At least one property of a request.
fn request(random: &Random) -> String {
    let mut parts = vec![format!("nth: {}", 1 + random.below(5))];
    let which = 1 + random.below(7);
    if which & 1 > 0 {
        parts.push(format!("by: {}", one_of(random, &REQUESTERS)));
    }
    if which & 2 > 0 {
        parts.push(format!("verb: {}", one_of(random, &VERBS)));
    }
    if which & 4 > 0 {
        parts.push(format!("resource: {}", one_of(random, &RESOURCES)));
    }
    if random.below(5) == 0 {
        parts.push("name: 'web-*'".to_owned());
    }
    parts.join(", ")
}

fn action(random: &Random, kind: &FaultKind) -> String {
    let argument = match (kind.word, kind.target) {
        ("lose", _) => (*one_of(random, &["request", "answer"])).to_owned(),
        ("refuse", _) => (*one_of(random, &["409", "429", "500", "503", "504"])).to_owned(),
        ("slow" | "lag", _) => format!("{}ms", 1 + random.below(4000)),
        (_, FaultTarget::Requester) => (*one_of(random, &REQUESTERS)).to_owned(),
        _ => "{}".to_owned(),
    };
    let mut action = format!("{}: {argument}", kind.word);
    if matches!(kind.target, FaultTarget::Watches | FaultTarget::OpenWatches) {
        if random.below(3) > 0 {
            let _ = write!(action, ", kind: {}", one_of(random, &KINDS));
        }
        if random.below(3) > 0 {
            let _ = write!(action, ", to: {}", one_of(random, &READERS));
        }
    }
    action
}

fn lasts(random: &Random, kind: &FaultKind, steps: &[String]) -> String {
    let is_of_requests = kind.target == FaultTarget::Requests;
    match random.below(4) {
        _ if kind.target == FaultTarget::OpenWatches => String::new(),
        0 if is_of_requests => format!(", for: {}", 1 + random.below(6)),
        0 | 1 => format!(", for: {}ms", 1 + random.below(8000)),
        2 if !steps.is_empty() => format!(", for: {{until: {}}}", one_of(random, steps)),
        _ => String::new(),
    }
}
