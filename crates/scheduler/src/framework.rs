//! The interfaces of scheduler plug-ins.

use std::borrow::Cow;
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// The highest score of a plug-in.
pub(crate) const MAX_SCORE: i64 = 100;

/// Why a node does not fit.
pub type Reason = Cow<'static, str>;

/// The reasons why a node does not fit: mostly one, which needs no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    first: Option<Reason>,
    others: Vec<Reason>,
}

impl Reasons {
    /// Adds a reason.
    pub fn push(&mut self, reason: impl Into<Reason>) {
        match self.first {
            None => self.first = Some(reason.into()),
            Some(_) => self.others.push(reason.into()),
        }
    }

    /// Whether there are no reasons.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl<R: Into<Reason>> FromIterator<R> for Reasons {
    fn from_iter<I: IntoIterator<Item = R>>(all: I) -> Self {
        let mut reasons = Self::default();
        all.into_iter().for_each(|reason| reasons.push(reason));
        reasons
    }
}

impl IntoIterator for Reasons {
    type Item = Reason;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Reason>, std::vec::IntoIter<Reason>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.others)
    }
}

/// The verdict of a filter about a pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterVerdict {
    /// It fits.
    Fits,
    /// It does not fit, for these reasons; preemption might help.
    Rejected(Reasons),
    /// It does not fit, for these reasons, and preemption cannot help.
    Unresolvable(Reasons),
}

impl FilterVerdict {
    /// A rejection for one reason.
    pub fn rejected(reason: &'static str) -> Self {
        Self::Rejected([reason].into_iter().collect())
    }

    /// An unresolvable rejection for one reason.
    pub fn unresolvable(reason: &'static str) -> Self {
        Self::Unresolvable([reason].into_iter().collect())
    }
}

/// A filter that is prepared for one pod.
pub type PreparedFilter<'a> = Box<dyn Fn(&NodeInfo) -> FilterVerdict + 'a>;

/// Which part of a node a filter's check reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksAt {
    /// The node itself: preemption cannot change the verdict.
    Node,
    /// Also the number of pods and the sum of their requests.
    Sums,
    /// Also the individual pods.
    Pods,
}

/// Excludes nodes. In Kubernetes: a `PreFilter` and `Filter` plug-in.
pub trait Filter: std::fmt::Debug + Send + Sync {
    /// The plug-in's name, as in the scheduler's configuration.
    fn name(&self) -> &'static str;

    /// Prepares the filter from the pod and the snapshot; `None` if the filter does not concern this pod.
    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<PreparedFilter<'a>>;

    /// Why no node can run the pod. In Kubernetes: a rejection by `PreFilter`.
    fn refuse(&self, _pod: &PodInfo, _snapshot: &Snapshot) -> Option<String> {
        None
    }

    /// Which part of a node its check reads.
    fn looks_at(&self) -> LooksAt;

    /// The verdict for a node with this many pods that request `used` in total, for a filter that reads sums only.
    fn beside(&self, _pod: &PodInfo, _node: &NodeInfo, _used: &Resources, _pods: i64) -> Option<FilterVerdict> {
        None
    }

    /// The only possible nodes, if the pod names them; the others are not checked.
    fn only_nodes(&self, _pod: &PodInfo) -> Option<Vec<String>> {
        None
    }

    /// Whether events of this type may make a rejected pod fit. By default: node events only. In Kubernetes:
    /// `EventsToRegister`.
    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. })
    }

    /// Whether this event may make a rejected pod fit. In Kubernetes: `QueueingHintFn`.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint;
}

/// Scores nodes. In Kubernetes: a `PreScore` and `Score` plug-in.
pub trait Score: std::fmt::Debug + Send + Sync {
    /// The plug-in's name.
    fn name(&self) -> &'static str;

    /// A score from 0 to [`MAX_SCORE`] for each of these nodes; `None` if the plug-in does not concern this pod.
    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>>;
}

/// An event that may make a pod fit.
#[derive(Clone, Debug)]
pub enum ClusterEvent {
    /// A node was added (no `before`) or changed.
    Node {
        /// Before the change.
        before: Option<Arc<NodeInfo>>,
        /// After the change.
        after: Arc<NodeInfo>,
    },
    /// A pod was bound to a node, or changed there.
    PodAssigned(Arc<PodInfo>),
    /// A pod on a node was deleted, or has finished.
    PodGone(Arc<PodInfo>),
    /// A claim was added or changed.
    Claim {
        /// The claim.
        key: ObjectKey,
        /// Whether it was added.
        is_new: bool,
    },
    /// A volume was added or changed.
    Volume {
        /// Whether it was added, or its zone labels changed.
        zones_changed: bool,
    },
    /// A StorageClass was added, or its allowed topologies changed.
    StorageClass {
        /// Whether it was added.
        is_new: bool,
        /// Whether its claims wait for their first consumer.
        waits: bool,
    },
    /// A CSINode was added or changed: the drivers of a node and their volume limits.
    CsiNode {
        /// Whether it was added.
        is_new: bool,
        /// Whether the limit of a driver was raised.
        takes_more: bool,
    },
    /// A CSIDriver stopped reporting storage capacity.
    CsiDriver(String),
    /// A driver reports more storage capacity somewhere.
    StorageCapacity,
    /// A VolumeAttachment was deleted.
    AttachmentGone,
    /// A ResourceClaim was added or changed.
    ResourceClaim {
        /// The claim.
        key: ObjectKey,
        /// Whether its allocation was removed.
        is_freed: bool,
    },
    /// A ResourceSlice was added or changed.
    ResourceSlice,
    /// A DeviceClass was added or changed.
    DeviceClass,
}

/// Whether a rejected pod should be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Retry it.
    Queue,
    /// Do not retry it.
    Skip,
}

impl Hint {
    /// Retry if `helps`.
    pub fn when(helps: bool) -> Self {
        if helps { Self::Queue } else { Self::Skip }
    }

    /// For a filter that checks one node at a time: retry if the changed node passes now and did not before.
    pub fn if_node_now_passes(event: &ClusterEvent, passes: impl Fn(&NodeInfo) -> bool) -> Self {
        match event {
            ClusterEvent::Node { before, after } => {
                Self::when(passes(after) && !before.as_deref().is_some_and(&passes))
            }
            _ => Self::Skip,
        }
    }
}
