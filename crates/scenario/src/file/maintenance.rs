use std::time::Duration;

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::Reference;
use super::duration::optional_duration;
use super::positive::optional_positive;

/// A node, by name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnNode {
    /// The node.
    pub node: Spanned<String>,
}

/// A taint on a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// The node.
    pub node: Spanned<String>,
    /// As `kubectl taint` writes it: `key=value:NoExecute`, `key:NoSchedule`; with a `-` at the end it is taken off, by key
    /// and effect or by key alone.
    pub taint: Spanned<String>,
}

/// Evicts pods.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evict {
    /// Which pods.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// How many of those chosen by labels, in the order of their names; absent for all.
    #[serde(default, deserialize_with = "optional_positive")]
    pub pick: Option<usize>,
    /// The name under which the first evicted pod is known to later expressions.
    #[serde(default, rename = "as")]
    pub binding: Option<Spanned<String>>,
    /// The grace period in seconds, if it is not the pod's own.
    #[serde(default)]
    pub grace_period_seconds: Option<i64>,
    /// Whether the eviction is to be refused because a budget does not allow it.
    #[serde(default)]
    pub refused: bool,
}

/// Drains a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Drain {
    /// The node.
    pub node: String,
    /// The grace period in seconds, if it is not the pods' own.
    #[serde(default)]
    pub grace_period_seconds: Option<i64>,
    /// Whether pods that no controller manages go, too.
    #[serde(default)]
    pub force: bool,
    /// Whether the step waits until the pods are gone; if not, the drain goes on while the next steps are taken.
    #[serde(default = "super::yes")]
    pub wait: bool,
    /// How long, if not as long as the scenario says.
    #[serde(default, deserialize_with = "optional_duration")]
    pub timeout: Option<Duration>,
}

/// Steers a rollout.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// A Deployment, StatefulSet or DaemonSet.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// What to do.
    pub action: RolloutAction,
    /// The revision to go back to; absent for the one before.
    #[serde(default)]
    pub to_revision: Option<i64>,
}

/// What is done to a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RolloutAction {
    /// Goes back to an earlier revision.
    Undo,
    /// Stops a Deployment from being rolled out.
    Pause,
    /// Lets it go on.
    Resume,
    /// Makes all pods anew.
    Restart,
}
