use std::fmt::Debug;

use coracle_api::core_v1::{Node, Pod};
use tokio::sync::Notify;

use crate::UsageOverrides;

/// The Stages as the kubelet sees them: for kinds that have Stages, it leaves the status of objects to them.
pub trait StagedKinds: Debug + Send + Sync {
    /// Whether there are Stages for this kind of the core group. They then replace the built-in lifecycle of its objects.
    fn has_stages_for(&self, kind: &str) -> bool;

    /// Enqueues all objects that have Stages, for example when a node has its power back.
    fn wake(&self);

    /// What usage objects state about a pod on a node.
    fn usage_of(&self, pod: &Pod, node: Option<&Node>) -> UsageOverrides;

    /// Notified when the usage of pods may have changed.
    fn usage_changed(&self) -> &Notify;
}
