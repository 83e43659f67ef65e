//! What a plug-in of the scheduler is.

use std::borrow::Cow;
use std::sync::Arc;

use coracle_meta::ObjectKey;

use crate::node_info::NodeInfo;
use crate::pod_info::PodInfo;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// The highest score that a plug-in gives.
pub(crate) const MAX_SCORE: i64 = 100;

/// Why a node does not take a pod.
pub type Reason = Cow<'static, str>;

/// Why a node does not take a pod: mostly one reason, for which nothing has to be allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    first: Option<Reason>,
    others: Vec<Reason>,
}

impl Reasons {
    /// One more.
    pub fn push(&mut self, reason: impl Into<Reason>) {
        match self.first {
            None => self.first = Some(reason.into()),
            Some(_) => self.others.push(reason.into()),
        }
    }

    /// Whether there is none.
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

/// What a filter says of a pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It fits.
    Fits,
    /// It does not, for these reasons; it might if other pods went away.
    Rejected(Reasons),
    /// It does not, for these reasons, and no other pod's going would change that.
    Unresolvable(Reasons),
}

impl Verdict {
    /// A rejection for one reason.
    pub fn rejected(reason: &'static str) -> Self {
        Self::Rejected([reason].into_iter().collect())
    }

    /// An unresolvable rejection for one reason.
    pub fn unresolvable(reason: &'static str) -> Self {
        Self::Unresolvable([reason].into_iter().collect())
    }
}

/// A filter with its pod, ready to look at nodes.
pub type Check<'a> = Box<dyn Fn(&NodeInfo) -> Verdict + 'a>;

/// What of a node a filter's check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksAt {
    /// The node itself: no pod's going changes the verdict.
    Node,
    /// Besides, how many pods there are and what they ask for together.
    Sums,
    /// Besides, who they are.
    Pods,
}

/// Excludes nodes. In Kubernetes: a `PreFilter` and `Filter` plug-in.
pub trait Filter: std::fmt::Debug + Send + Sync {
    /// The plug-in's name, as in the scheduler's configuration.
    fn name(&self) -> &'static str;

    /// Looks at the pod and at what is counted in the snapshot; none if the filter has nothing to say of this pod.
    fn prepare<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> Option<Check<'a>>;

    /// Why no node at all comes into question. In Kubernetes: a rejection by `PreFilter`.
    fn refuse(&self, _pod: &PodInfo, _snapshot: &Snapshot) -> Option<String> {
        None
    }

    /// What of a node matters for its check.
    fn looks_at(&self) -> LooksAt;

    /// What it says of a pod on a node if there are so many pods on it that ask for `used` together, for a filter that
    /// looks at no more than that.
    fn beside(&self, _pod: &PodInfo, _node: &NodeInfo, _used: &Resources, _pods: i64) -> Option<Verdict> {
        None
    }

    /// The nodes that alone come into question, where the pod names them; the others are not even looked at.
    fn only_nodes(&self, _pod: &PodInfo) -> Option<Vec<String>> {
        None
    }

    /// Whether events of this sort may make any pod fit that this filter rejected: those of nodes, and no others unless
    /// it says so. In Kubernetes: `EventsToRegister`.
    fn cares_for(&self, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::Node { .. })
    }

    /// Whether this event may make a pod fit that this filter rejected. In Kubernetes: `QueueingHintFn`.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent) -> Hint;
}

/// Ranks nodes. In Kubernetes: a `PreScore` and `Score` plug-in.
pub trait Score: std::fmt::Debug + Send + Sync {
    /// The plug-in's name.
    fn name(&self) -> &'static str;

    /// A score from 0 to [`MAX_SCORE`] for each of these nodes; none if the plug-in has nothing to say of this pod.
    fn score(&self, pod: &PodInfo, snapshot: &Snapshot, nodes: &[&NodeInfo]) -> Option<Vec<i64>>;
}

/// Something that happened and may make a pod fit.
#[derive(Clone, Debug)]
pub enum ClusterEvent {
    /// A node is new (nothing before) or changed.
    Node {
        /// As it was.
        before: Option<Arc<NodeInfo>>,
        /// As it is.
        after: Arc<NodeInfo>,
    },
    /// A pod got a node, or changed on it.
    PodAssigned(Arc<PodInfo>),
    /// A pod is gone from its node, or has finished.
    PodGone(Arc<PodInfo>),
    /// A claim is new or changed.
    Claim {
        /// Which.
        key: ObjectKey,
        /// Whether it is new.
        is_new: bool,
    },
    /// A volume is new or changed.
    Volume {
        /// Whether it is new, or its labels name other zones than before.
        zones_changed: bool,
    },
    /// A class of volumes is new, or allows other topologies.
    StorageClass {
        /// Whether it is new.
        is_new: bool,
        /// Whether its claims wait for their pods.
        waits: bool,
    },
    /// What drivers a node has, and how many volumes of them it takes, is told for the first time or changed.
    CsiNode {
        /// Whether it is told for the first time.
        is_new: bool,
        /// Whether it takes more of some driver.
        takes_more: bool,
    },
    /// A driver no longer says how much room it has.
    CsiDriver(String),
    /// A driver has more room for volumes somewhere.
    StorageCapacity,
    /// A volume is attached to a node no longer.
    AttachmentGone,
    /// A claim on devices is new or changed.
    ResourceClaim {
        /// Which.
        key: ObjectKey,
        /// Whether it had devices, and has none any more.
        is_freed: bool,
    },
    /// The devices of a slice are new or changed.
    ResourceSlice,
    /// A class of devices is new or changed.
    DeviceClass,
}

/// Whether it is worth trying a rejected pod again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// It is.
    Queue,
    /// It is not.
    Skip,
}

impl Hint {
    /// Worth it if `helps`.
    pub fn when(helps: bool) -> Self {
        if helps { Self::Queue } else { Self::Skip }
    }

    /// For a filter that looks at one node at a time: worth it if the changed node now passes and did not before.
    pub fn if_node_now_passes(event: &ClusterEvent, passes: impl Fn(&NodeInfo) -> bool) -> Self {
        match event {
            ClusterEvent::Node { before, after } => {
                Self::when(passes(after) && !before.as_deref().is_some_and(&passes))
            }
            _ => Self::Skip,
        }
    }
}
