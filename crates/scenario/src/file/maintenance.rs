use std::time::Duration;

use coracle_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Reference;
use super::duration::optional_duration;
use super::positive::optional_positive;
use crate::schema_words::{DurationText, NodeText};

/// A node, by name.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnNode {
    /// The node.
    #[schemars(with = "NodeText")]
    pub node: Spanned<String>,
}

/// A taint on a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// The node.
    #[schemars(with = "NodeText")]
    pub node: Spanned<String>,
    /// In the format of `kubectl taint`: `key=value:NoExecute`, `key:NoSchedule`. A `-` at the end removes the taint,
    /// by key and effect or by key only.
    #[schemars(with = "String")]
    pub taint: Spanned<String>,
}

/// Evicts pods.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evict {
    /// Which pods.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// How many of the pods chosen by labels to evict, in the order of their names; absent for all.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub pick: Option<usize>,
    /// The name under which the first evicted pod is known to later expressions.
    #[serde(default, rename = "as")]
    #[schemars(with = "String")]
    pub binding: Option<Spanned<String>>,
    /// The grace period in seconds; absent for the pod's own.
    #[serde(default)]
    pub grace_period_seconds: Option<i64>,
    /// Whether the eviction must be refused because a budget does not allow it.
    #[serde(default)]
    pub refused: bool,
}

/// Drains a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Drain {
    /// The node.
    pub node: String,
    /// The grace period in seconds; absent for the pods' own.
    #[serde(default)]
    pub grace_period_seconds: Option<i64>,
    /// Whether pods without a controller are evicted, too.
    #[serde(default)]
    pub force: bool,
    /// Whether the step waits until the pods are gone. If not, the drain continues during the next steps.
    #[serde(default = "super::yes")]
    pub wait: bool,
    /// The timeout; absent for the scenario's.
    #[serde(default, deserialize_with = "optional_duration")]
    #[schemars(with = "DurationText")]
    pub timeout: Option<Duration>,
}

/// An action on a rollout.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollout {
    /// A Deployment, StatefulSet or DaemonSet.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The action.
    pub action: RolloutAction,
    /// The revision to roll back to; absent for the previous one.
    #[serde(default)]
    pub to_revision: Option<i64>,
}

/// The actions on a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RolloutAction {
    /// Rolls back to an earlier revision.
    Undo,
    /// Pauses the rollout of a Deployment.
    Pause,
    /// Resumes it.
    Resume,
    /// Replaces all pods.
    Restart,
}
