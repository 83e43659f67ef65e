use std::time::Duration;

use coracle_ambient::SignedDuration;
use coracle_cluster::{ClusterHandle, NodeSwitch};
use coracle_journal::EntryId;

/// What a fault does to a part of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterOperation {
    /// A component is killed. At the end of the fault it is started.
    Kill(String),
    /// A component is stopped, as by SIGSTOP, until the end of the fault.
    Pause(String),
    /// A component has a second instance until the end of the fault.
    Double(String),
    /// The wall clock of a component is ahead by this duration until the end of the fault.
    Skew(String, SignedDuration),
    /// The kubelet of a node is stopped. At the end of the fault it is started.
    StopNode(String),
    /// A node loses its power, and with it its containers. At the end of the fault it is started.
    KillNode(String),
    /// The store is killed. At the end of the fault it is started.
    KillStore,
    /// Each request to the store takes this much longer.
    SlowStore(Duration),
    /// The store has no space for more.
    FillStore,
    /// The store is compacted up to this revision, at one moment.
    CompactStore(i64),
}

/// How long a fault of the cluster lasts if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It takes place at one moment, and has no length.
    Moment,
    /// It ends at once: what was killed is started again.
    AtOnce,
    /// Until it is ended.
    UntilEnded,
}

impl ClusterOperation {
    /// How long it lasts if nothing else is said.
    pub fn length(&self) -> Length {
        match self {
            Self::CompactStore(_) => Length::Moment,
            Self::Kill(_) | Self::StopNode(_) | Self::KillNode(_) | Self::KillStore => Length::AtOnce,
            Self::Pause(_) | Self::Double(_) | Self::Skew(..) | Self::SlowStore(_) | Self::FillStore => {
                Length::UntilEnded
            }
        }
    }

    /// The part of the cluster, in the event log.
    pub fn part(&self) -> String {
        match self {
            Self::Kill(component) | Self::Pause(component) | Self::Double(component) | Self::Skew(component, _) => {
                component.clone()
            }
            Self::StopNode(node) | Self::KillNode(node) => format!("nodes/{node}"),
            Self::KillStore | Self::SlowStore(_) | Self::FillStore | Self::CompactStore(_) => "store".to_owned(),
        }
    }

    /// Whether it is possible only if the store is in the memory of the cluster's process.
    pub fn needs_store_in_memory(&self) -> bool {
        matches!(self, Self::KillStore | Self::SlowStore(_) | Self::FillStore)
    }

    /// Whether it changes how the running store answers. What was killed may stay dead when its cluster ends.
    pub(super) fn is_of_a_running_store(&self) -> bool {
        matches!(self, Self::SlowStore(_) | Self::FillStore)
    }

    /// Carries it out because of an entry of the event log; false if there is nothing that it can act on.
    pub(super) fn begin(&self, cluster: &ClusterHandle, cause: Option<EntryId>) -> bool {
        match self {
            Self::Kill(component) => cluster.kill_component(component, cause),
            Self::Pause(component) => cluster.pause_component(component),
            Self::Double(component) => cluster.double_component(component, cause),
            Self::Skew(component, ahead) => cluster.shift_clock(component, *ahead),
            Self::StopNode(node) => cluster.switch_node(node, NodeSwitch::Kubelet, false, cause),
            Self::KillNode(node) => cluster.switch_node(node, NodeSwitch::Power, false, cause),
            Self::KillStore => cluster.kill_store(cause),
            Self::SlowStore(latency) => cluster.slow_store(*latency),
            Self::FillStore => cluster.fill_store(true),
            Self::CompactStore(revision) => cluster.compact_store(*revision),
        }
    }

    /// Takes it back; false if there is nothing to take back.
    pub(super) fn end(&self, cluster: &ClusterHandle, cause: Option<EntryId>) -> bool {
        match self {
            Self::Kill(component) => cluster.start_component(component, cause),
            Self::Pause(component) => cluster.resume_component(component),
            Self::Double(component) => cluster.kill_double(component, cause),
            Self::Skew(component, ahead) => cluster.shift_clock(component, -*ahead),
            Self::StopNode(node) => cluster.switch_node(node, NodeSwitch::Kubelet, true, cause),
            Self::KillNode(node) => cluster.switch_node(node, NodeSwitch::Power, true, cause),
            Self::KillStore => cluster.start_store(cause),
            Self::SlowStore(_) => cluster.slow_store(Duration::ZERO),
            Self::FillStore => cluster.fill_store(false),
            Self::CompactStore(_) => false,
        }
    }
}
