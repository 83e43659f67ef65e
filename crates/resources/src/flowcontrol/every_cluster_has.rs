//! The default priority levels and flow schemas of a cluster.
//! In Kubernetes: `apiserver/pkg/apis/flowcontrol/bootstrap`.

use coracle_meta::Object;
use serde_json::{Value, json};

use super::GROUP;
use crate::built_in::object;

/// The mandatory and the suggested ones. Clients expect them; they do not queue requests.
pub(crate) fn every_cluster_has() -> Vec<Object> {
    LEVELS.iter().map(Level::object).chain(FLOWS.iter().map(Flow::object)).collect()
}

struct Level {
    name: &'static str,
    shares: u32,
    lendable: u32,
    limit: Limit,
}

enum Limit {
    /// Requests of this level never wait.
    Exempt,
    Reject,
    /// The number of queues, and the hand size of a flow.
    Queue(u32, u32),
}

const LEVELS: [Level; 8] = [
    Level { name: "exempt", shares: 0, lendable: 0, limit: Limit::Exempt },
    Level { name: "catch-all", shares: 5, lendable: 0, limit: Limit::Reject },
    Level { name: "system", shares: 30, lendable: 33, limit: Limit::Queue(64, 6) },
    Level { name: "node-high", shares: 40, lendable: 25, limit: Limit::Queue(64, 6) },
    Level { name: "leader-election", shares: 10, lendable: 0, limit: Limit::Queue(16, 4) },
    Level { name: "workload-high", shares: 40, lendable: 50, limit: Limit::Queue(128, 6) },
    Level { name: "workload-low", shares: 100, lendable: 90, limit: Limit::Queue(128, 6) },
    Level { name: "global-default", shares: 20, lendable: 50, limit: Limit::Queue(128, 6) },
];

impl Level {
    fn object(&self) -> Object {
        let (shares, lendable) = (self.shares, self.lendable);
        let limited = |response: Value| {
            let limited =
                json!({"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response});
            json!({"type": "Limited", "limited": limited})
        };
        let spec = match self.limit {
            Limit::Exempt => {
                json!({"type": "Exempt", "exempt": {"nominalConcurrencyShares": shares, "lendablePercent": lendable}})
            }
            Limit::Reject => limited(json!({"type": "Reject"})),
            Limit::Queue(queues, hand) => {
                let queuing = json!({"queues": queues, "handSize": hand, "queueLengthLimit": 50});
                limited(json!({"type": "Queue", "queuing": queuing}))
            }
        };
        kept_up_to_date("PriorityLevelConfiguration", self.name, spec)
    }
}

struct Flow {
    name: &'static str,
    level: &'static str,
    precedence: u32,
    /// The distinguisher method of this schema; empty if all requests are one flow.
    distinguisher: &'static str,
    subjects: &'static [Subject],
    requests: Requests,
}

enum Subject {
    Group(&'static str),
    User(&'static str),
    /// All service accounts of a namespace.
    ServiceAccountsOf(&'static str),
}

enum Requests {
    All,
    Probes,
    LeaderElection,
    NodeHeartbeats,
}

const EVERYBODY: &[Subject] = &[Subject::Group("system:unauthenticated"), Subject::Group("system:authenticated")];
const NODES: &[Subject] = &[Subject::Group("system:nodes")];
const CONTROLLER_MANAGER: Subject = Subject::User("system:kube-controller-manager");
const SCHEDULER: Subject = Subject::User("system:kube-scheduler");

const FLOWS: [Flow; 11] = [
    flow("exempt", "exempt", 1, "", &[Subject::Group("system:masters")], Requests::All),
    flow("catch-all", "catch-all", 10_000, "ByUser", EVERYBODY, Requests::All),
    flow("system-nodes", "system", 500, "ByUser", NODES, Requests::All),
    flow("system-node-high", "node-high", 400, "ByUser", NODES, Requests::NodeHeartbeats),
    flow("probes", "exempt", 2, "", EVERYBODY, Requests::Probes),
    flow(
        "system-leader-election",
        "leader-election",
        100,
        "ByUser",
        &[CONTROLLER_MANAGER, SCHEDULER, Subject::ServiceAccountsOf("kube-system")],
        Requests::LeaderElection,
    ),
    flow("kube-controller-manager", "workload-high", 800, "ByNamespace", &[CONTROLLER_MANAGER], Requests::All),
    flow("kube-scheduler", "workload-high", 800, "ByNamespace", &[SCHEDULER], Requests::All),
    flow(
        "kube-system-service-accounts",
        "workload-high",
        900,
        "ByNamespace",
        &[Subject::ServiceAccountsOf("kube-system")],
        Requests::All,
    ),
    flow(
        "service-accounts",
        "workload-low",
        9000,
        "ByUser",
        &[Subject::Group("system:serviceaccounts")],
        Requests::All,
    ),
    flow("global-default", "global-default", 9900, "ByUser", EVERYBODY, Requests::All),
];

const fn flow(
    name: &'static str,
    level: &'static str,
    precedence: u32,
    distinguisher: &'static str,
    subjects: &'static [Subject],
    requests: Requests,
) -> Flow {
    Flow { name, level, precedence, distinguisher, subjects, requests }
}

impl Flow {
    fn object(&self) -> Object {
        let mut rule = self.requests.rule();
        rule["subjects"] = self.subjects.iter().map(Subject::value).collect();
        let mut spec = json!({
            "priorityLevelConfiguration": {"name": self.level},
            "matchingPrecedence": self.precedence,
            "rules": [rule],
        });
        if !self.distinguisher.is_empty() {
            spec["distinguisherMethod"] = json!({"type": self.distinguisher});
        }
        kept_up_to_date("FlowSchema", self.name, spec)
    }
}

impl Subject {
    fn value(&self) -> Value {
        match self {
            Self::Group(name) => json!({"kind": "Group", "group": {"name": name}}),
            Self::User(name) => json!({"kind": "User", "user": {"name": name}}),
            Self::ServiceAccountsOf(namespace) => {
                json!({"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": namespace}})
            }
        }
    }
}

impl Requests {
    /// A rule without its subjects.
    fn rule(&self) -> Value {
        let resources = |verbs: &[&str], group: &str, resources: &[&str], of_cluster: bool| {
            let mut rule = json!({"verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"]});
            if of_cluster {
                rule["clusterScope"] = true.into();
            }
            rule
        };
        let leases = "coordination.k8s.io";
        match self {
            Self::All => json!({
                "resourceRules": [resources(&["*"], "*", &["*"], true)],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
            Self::Probes => {
                json!({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]})
            }
            Self::LeaderElection => {
                json!({"resourceRules": [resources(&["get", "create", "update"], leases, &["leases"], false)]})
            }
            Self::NodeHeartbeats => json!({
                "resourceRules": [
                    resources(&["*"], "", &["nodes", "nodes/status"], true),
                    resources(&["*"], leases, &["leases"], false),
                ],
            }),
        }
    }
}

/// An object with the annotation that lets a newer API server update it.
fn kept_up_to_date(kind: &str, name: &str, spec: Value) -> Object {
    let mut object = object(GROUP, kind, name, json!({"spec": spec}));
    object.set(&["metadata", "annotations", "apf.kubernetes.io/autoupdate-spec"], "true");
    object
}
