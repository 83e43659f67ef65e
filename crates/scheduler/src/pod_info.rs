use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_api::NodeTerm;
use coracle_api::core_v1::{PersistentVolumeClaim, Taint, Toleration};
use coracle_meta::{LabelSelector, ObjectKey};

use crate::resources::Resources;

/// The properties of a pod that scheduling reads, extracted once. In Kubernetes: `framework.PodInfo`.
// The field order is the memory layout: the fields of existing pods that checks read are together at the beginning.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodInfo {
    /// Its priority; 0 by default.
    pub priority: i32,
    /// Whether it must not preempt others (`preemptionPolicy: Never`).
    pub never_preempts: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Its requests.
    pub requests: Resources,
    /// Its start time, RFC 3339; `None` before it starts.
    pub started: Option<String>,
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The node that it is bound to (`spec.nodeName`).
    pub node_name: Option<String>,
    /// The node where preemption makes room for it.
    pub nominated_node: Option<String>,
    /// Its requests, with defaults for missing ones.
    pub assumed: Resources,
    /// `spec.nodeSelector`
    pub node_selector: BTreeMap<String, String>,
    /// Required node affinity: one of the terms must match; `None` without it.
    pub required_nodes: Option<Vec<NodeTerm>>,
    /// Preferred node affinity, with weights.
    pub preferred_nodes: Vec<(i64, NodeTerm)>,
    /// Its tolerations, without their seconds.
    pub tolerations: Vec<Toleration>,
    /// The host ports of its containers.
    pub host_ports: Vec<HostPort>,
    /// Required pod affinity: all terms must match.
    pub affinity: Vec<AffinityTerm>,
    /// Required pod anti-affinity: all terms must match.
    pub anti_affinity: Vec<AffinityTerm>,
    /// Preferred pod affinity with weights; negative for anti-affinity.
    pub preferred_pods: Vec<(i64, AffinityTerm)>,
    /// Its topology spread constraints.
    pub spread: Vec<SpreadConstraint>,
    /// Whether it has any spread constraint, hard or soft.
    pub names_spread: bool,
    /// The selector of the pods of its owner and services, for the default spread constraints.
    pub siblings: Option<LabelSelector>,
    /// The features that its node must declare.
    pub needed_features: Vec<&'static str>,
    /// The images of its containers.
    pub images: Vec<String>,
    /// The disks that it uses without a claim and that cannot be shared.
    pub disks: Vec<Disk>,
    /// The drivers of its inline CSI volumes.
    pub inline_drivers: Vec<String>,
    /// Its ResourceClaims.
    pub resource_claims: PodClaims,
    /// The names of its claims, including those of ephemeral volumes.
    pub claims: Vec<String>,
    /// The state of those claims for this cycle.
    pub volumes: PodVolumes,
}

/// The ResourceClaims of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodClaims {
    /// Their names, and whether they are generated for the pod.
    pub names: Vec<(String, bool)>,
    /// Why the name of one of them is unknown.
    pub unknown: Option<String>,
}

/// The volumes of a pod. In Kubernetes: `PodVolumeClaims`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodVolumes {
    /// Why no node can run the pod.
    pub refusal: Option<String>,
    /// The volumes of claims that are bound.
    pub bound: Vec<Bound>,
    /// The claims that wait for their first consumer.
    pub unbound: Vec<Unbound>,
    /// The claims with access mode `ReadWriteOncePod`.
    pub exclusive: Vec<String>,
}

/// The volume of a bound claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// Its properties; `None` if it does not exist.
    pub volume: Option<VolumeInfo>,
}

/// A disk that a pod uses without a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The volume type.
    pub kind: &'static str,
    /// Its identifier for that type.
    pub name: String,
    /// For type `rbd`: the monitors. Two such disks are the same only if they share a monitor.
    pub monitors: Vec<String>,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

impl Disk {
    /// Whether two pods cannot use it on the same node. In Kubernetes: `isVolumeConflict`.
    pub fn conflicts(&self, other: &Self) -> bool {
        let overlap = self.monitors.iter().any(|one| other.monitors.contains(one));
        let is_same = self.kind == other.kind && self.name == other.name && (overlap || self.kind != "rbd");
        is_same && !(self.read_only && other.read_only)
    }
}

/// The properties of a volume that scheduling reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeInfo {
    /// Its name.
    pub name: String,
    /// The nodes from which it is accessible: one of the terms must match; `None` for all nodes.
    pub nodes: Option<Vec<NodeTerm>>,
    /// The zones and regions in its labels, by label.
    pub zones: Vec<(String, BTreeSet<String>)>,
    /// Its size in bytes.
    pub capacity: i64,
}

/// A claim that waits for its first consumer.
#[derive(Clone, Debug, PartialEq)]
pub struct Unbound {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The node for which a volume is already being provisioned.
    pub selected_node: Option<String>,
    /// The volumes that it may get, the best first.
    pub candidates: Vec<VolumeInfo>,
    /// The topologies where a volume can be provisioned; empty for everywhere, `None` without a provisioner.
    pub topologies: Option<Vec<LabelSelector>>,
    /// The storage for volumes that are provisioned; `None` if the driver does not report storage capacity.
    pub room: Option<Vec<StorageRoom>>,
}

/// The storage that a driver reports for a class in one topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StorageRoom {
    /// The largest volume that can be provisioned, in bytes.
    pub largest: i64,
    /// How much is free, in bytes.
    pub capacity: i64,
    /// The nodes from which it is accessible.
    pub nodes: LabelSelector,
}

/// A host port. In Kubernetes: `ContainerPort` with a `hostPort`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The address; `0.0.0.0` means all.
    pub ip: String,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// The number.
    pub port: i64,
}

impl HostPort {
    /// Whether two host ports conflict.
    pub fn conflicts(&self, other: &Self) -> bool {
        let any = |port: &Self| port.ip == "0.0.0.0";
        self.port == other.port && self.protocol == other.protocol && (self.ip == other.ip || any(self) || any(other))
    }
}

/// A term of pod affinity or anti-affinity. In Kubernetes: `framework.AffinityTerm`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AffinityTerm {
    /// The namespaces of the matching pods.
    pub namespaces: Vec<String>,
    /// Further namespaces, by their labels.
    pub namespace_selector: Option<LabelSelector>,
    /// The labels of the matching pods.
    pub selector: LabelSelector,
    /// The node label that defines the domain.
    pub topology_key: String,
}

impl AffinityTerm {
    /// Whether a pod matches; `namespace_labels` are those of its namespace.
    pub fn matches(&self, pod: &PodInfo, namespace_labels: &BTreeMap<String, String>) -> bool {
        let named = self.namespaces.contains(&pod.key.namespace);
        let selected = || self.namespace_selector.as_ref().is_some_and(|selector| selector.matches(namespace_labels));
        (named || selected()) && self.selector.matches(&pod.labels)
    }
}

/// A topology spread constraint. In Kubernetes: `TopologySpreadConstraint`.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadConstraint {
    /// The maximum difference to the smallest domain.
    pub max_skew: i64,
    /// The node label that names the domain.
    pub topology_key: String,
    /// Whether it is required (`DoNotSchedule`).
    pub required: bool,
    /// The pods that are counted.
    pub selector: LabelSelector,
    /// With fewer domains than this, the smallest domain counts as empty.
    pub min_domains: i64,
    /// Whether nodes that the pod's node affinity excludes are left out.
    pub honors_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate are left out.
    pub honors_taints: bool,
}

impl PodInfo {
    /// Whether the placement of other pods depends on where this one runs.
    pub fn has_affinity(&self) -> bool {
        !self.affinity.is_empty() || !self.anti_affinity.is_empty() || !self.preferred_pods.is_empty()
    }

    /// Whether it has ResourceClaims.
    pub fn claims_devices(&self) -> bool {
        !self.resource_claims.names.is_empty() || self.resource_claims.unknown.is_some()
    }

    /// Whether it uses this claim.
    pub fn has_claim(&self, claim: &ObjectKey) -> bool {
        self.key.namespace == claim.namespace && self.claims.contains(&claim.name)
    }

    /// Whether verdicts for it also apply to another pod: they differ only in identity.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let who = |of: &Self| (of.key.clone(), of.uid.clone(), of.started.clone(), of.nominated_node.clone());
        let (mut key, uid, started, nominated_node) = who(other);
        key.namespace.clone_from(&self.key.namespace);
        let terminating = other.terminating;
        self.key.namespace == other.key.namespace
            && Self { key, uid, started, nominated_node, terminating, ..self.clone() } == *other
    }

    /// Whether it tolerates this taint.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }
}
