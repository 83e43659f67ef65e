use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::core_v1::PersistentVolumeClaim;
use coracle_meta::{LabelSelector, ObjectKey};

use crate::resources::Resources;
use crate::taints::Toleration;

/// What scheduling looks at of a pod, read once. In Kubernetes: `framework.PodInfo`.
// Laid out as written: what is looked at of the pods that are there already lies together, at the beginning.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodInfo {
    /// Its priority, 0 if it names none.
    pub priority: i32,
    /// Whether it must not push others out (`preemptionPolicy: Never`).
    pub never_preempts: bool,
    /// Whether its deletion has begun.
    pub terminating: bool,
    /// What it asks for.
    pub requests: Resources,
    /// When it started, RFC 3339; none while it has not.
    pub started: Option<String>,
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The node that was asked for or given (`spec.nodeName`).
    pub node_name: Option<String>,
    /// The node where room is being made for it.
    pub nominated_node: Option<String>,
    /// What it is taken to use where it asks for nothing.
    pub assumed: Resources,
    /// `spec.nodeSelector`
    pub node_selector: BTreeMap<String, String>,
    /// Required node affinity: one of the terms has to hold; none if nothing is required.
    pub required_nodes: Option<Vec<NodeSelectorTerm>>,
    /// Preferred node affinity, with weights.
    pub preferred_nodes: Vec<(i64, NodeSelectorTerm)>,
    /// Its tolerations.
    pub tolerations: Vec<Toleration>,
    /// The ports of the node that its containers want.
    pub host_ports: Vec<HostPort>,
    /// Required pod affinity: all of these.
    pub affinity: Vec<AffinityTerm>,
    /// Required pod anti-affinity: all of these.
    pub anti_affinity: Vec<AffinityTerm>,
    /// Preferred pod affinity with weights; negative for anti-affinity.
    pub preferred_pods: Vec<(i64, AffinityTerm)>,
    /// How it is to be spread.
    pub spread: Vec<SpreadConstraint>,
    /// Whether it names any spread constraint, hard or soft.
    pub names_spread: bool,
    /// What selects the pods of its owner and services, for the spread that is preferred by default.
    pub siblings: Option<LabelSelector>,
    /// The images of its containers.
    pub images: Vec<String>,
    /// The disks that it uses without a claim, as far as two pods cannot use one.
    pub disks: Vec<Disk>,
    /// The drivers of volumes that live and die with it.
    pub inline_drivers: Vec<String>,
    /// Its claims on devices.
    pub resource_claims: PodClaims,
    /// The names of its claims, those that are made for it among them.
    pub claims: Vec<String>,
    /// What is known of those claims when a node is sought.
    pub volumes: PodVolumes,
}

/// The claims on devices that a pod names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodClaims {
    /// Their names, and whether they have to be made for the pod.
    pub names: Vec<(String, bool)>,
    /// Why one of them has no name.
    pub unknown: Option<String>,
}

/// The volumes of a pod. In Kubernetes: `PodVolumeClaims`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodVolumes {
    /// Why no node at all comes into question.
    pub refusal: Option<String>,
    /// The volumes of claims that are bound.
    pub bound: Vec<Bound>,
    /// The claims that wait for the pod to get a node.
    pub unbound: Vec<Unbound>,
    /// The claims that one pod alone may use (`ReadWriteOncePod`).
    pub exclusive: Vec<String>,
}

/// A volume of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// What is known of it; none if it is gone.
    pub volume: Option<VolumeInfo>,
}

/// A disk that a pod uses without a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// What sort of disk.
    pub kind: &'static str,
    /// Its name there.
    pub name: String,
    /// Where it is to be found; two disks are the same if they have one of these in common, or neither has any.
    pub monitors: Vec<String>,
    /// Whether the pod only reads.
    pub read_only: bool,
}

impl Disk {
    /// Whether two pods cannot use it on one node. In Kubernetes: `isVolumeConflict`.
    pub fn conflicts(&self, other: &Self) -> bool {
        let overlap = self.monitors.iter().any(|one| other.monitors.contains(one));
        let is_same = self.kind == other.kind && self.name == other.name && (overlap || self.kind != "rbd");
        is_same && !(self.read_only && other.read_only)
    }
}

/// What scheduling looks at of a volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeInfo {
    /// Its name.
    pub name: String,
    /// From which nodes it can be reached: one of the terms has to hold; none if from all.
    pub nodes: Option<Vec<NodeSelectorTerm>>,
    /// The zones and regions that its labels name, by label.
    pub zones: Vec<(String, BTreeSet<String>)>,
}

/// A claim that waits for its pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Unbound {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The node for which a volume is being made already.
    pub selected_node: Option<String>,
    /// The volumes that it may get, the best first.
    pub candidates: Vec<VolumeInfo>,
    /// Where a volume can be made, everywhere if there are none of these; none if nobody makes one.
    pub topologies: Option<Vec<LabelSelector>>,
    /// The largest volume that can be made, in bytes, and where; none if nobody counts.
    pub room: Option<Vec<(i64, LabelSelector)>>,
}

/// A port of the node. In Kubernetes: `ContainerPort` with a `hostPort`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The address; `0.0.0.0` stands for all.
    pub ip: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// The number.
    pub port: i64,
}

impl HostPort {
    /// Whether two wishes for a port exclude each other.
    pub fn conflicts(&self, other: &Self) -> bool {
        let any = |port: &Self| port.ip == "0.0.0.0";
        self.port == other.port && self.protocol == other.protocol && (self.ip == other.ip || any(self) || any(other))
    }
}

/// One alternative of a node selector: all its requirements have to hold. In Kubernetes: `core/v1.NodeSelectorTerm`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSelectorTerm {
    /// On the labels.
    pub expressions: LabelSelector,
    /// On the fields; `metadata.name` is the only one there is.
    pub fields: LabelSelector,
}

/// Near which pods, or away from which. In Kubernetes: `framework.AffinityTerm`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AffinityTerm {
    /// The namespaces of the pods that count.
    pub namespaces: Vec<String>,
    /// Further namespaces, by their labels.
    pub namespace_selector: Option<LabelSelector>,
    /// The pods that count.
    pub selector: LabelSelector,
    /// The node label that says what is near.
    pub topology_key: String,
}

impl AffinityTerm {
    /// Whether a pod counts; `namespace_labels` are those of its namespace.
    pub fn matches(&self, pod: &PodInfo, namespace_labels: &BTreeMap<String, String>) -> bool {
        let named = self.namespaces.contains(&pod.key.namespace);
        let selected = || self.namespace_selector.as_ref().is_some_and(|selector| selector.matches(namespace_labels));
        (named || selected()) && self.selector.matches(&pod.labels)
    }
}

/// How evenly pods are to be spread. In Kubernetes: `TopologySpreadConstraint`.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadConstraint {
    /// How much fuller a domain may be than the emptiest.
    pub max_skew: i64,
    /// The node label that names the domain.
    pub topology_key: String,
    /// Whether it is required (`DoNotSchedule`).
    pub required: bool,
    /// The pods that are counted.
    pub selector: LabelSelector,
    /// With fewer domains than this, the emptiest counts as empty.
    pub min_domains: i64,
    /// Whether nodes that the pod's node affinity excludes are left out.
    pub honors_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate are left out.
    pub honors_taints: bool,
}

impl PodInfo {
    /// Whether other pods' placement depends on where this one runs.
    pub fn has_affinity(&self) -> bool {
        !self.affinity.is_empty() || !self.anti_affinity.is_empty() || !self.preferred_pods.is_empty()
    }

    /// Whether it claims devices.
    pub fn claims_devices(&self) -> bool {
        !self.resource_claims.names.is_empty() || self.resource_claims.unknown.is_some()
    }

    /// Whether it uses this claim.
    pub fn has_claim(&self, claim: &ObjectKey) -> bool {
        self.key.namespace == claim.namespace && self.claims.contains(&claim.name)
    }

    /// Whether what is found out for it holds for another one: they differ in nothing but who they are.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let who = |of: &Self| (of.key.clone(), of.uid.clone(), of.started.clone(), of.nominated_node.clone());
        let (mut key, uid, started, nominated_node) = who(other);
        key.namespace.clone_from(&self.key.namespace);
        let terminating = other.terminating;
        self.key.namespace == other.key.namespace
            && Self { key, uid, started, nominated_node, terminating, ..self.clone() } == *other
    }

    /// Whether it tolerates this taint.
    pub fn tolerates(&self, taint: &crate::taints::Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }
}
