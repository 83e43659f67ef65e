mod cluster;
mod duration;
mod fault;
mod maintenance;
mod positive;
mod writing;

use std::num::NonZeroUsize;
use std::time::Duration;

use coracle_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub use self::cluster::{ClusterSpec, Joins, Latency, NodeShape, Nodes};
use self::duration::{duration, optional_duration};
pub use self::fault::{Fault, FaultEvent, FaultMoment, Heal};
pub use self::maintenance::{Drain, Evict, OnNode, Rollout, RolloutAction, Taint};
use self::positive::{optional_positive, positive};
pub use self::writing::{Apply, Get, Update};
use crate::schema_words::{
    ComponentWord, DurationText, KindWord, NodeText, PartialObject, PluralWord, PropagationWord, SenderWord, ToyWord,
    WholeObject, WriteVerbWord,
};

/// A scenario file: a cluster, steps that change it, and conditions that have to hold.
///
/// Operations have chainsaw's names and fields, with some additions: always, never, eventually, faults, requests, stop, start,
/// fault, heal.
///
/// ```
/// use coracle::journal::Recorder;
/// use coracle::scenario::{BuiltIn, Options, execute, parse};
/// use std::path::Path;
///
/// let text = r#"
/// apiVersion: coracle.dev/v1alpha1
/// kind: Scenario
/// metadata: {name: a-pod-runs}
/// spec:
///   cluster: {nodes: 1}
///   steps:
///   - name: a pod runs
///     try:
///     - create:
///         resource:
///           apiVersion: v1
///           kind: Pod
///           metadata: {name: web}
///           spec: {containers: [{name: web, image: nginx}]}
///     - assert:
///         cel: pods.exists(p, has(p.status.phase) && p.status.phase == 'Running')
///   always:
///   - name: there is one pod at the most
///     cel: pods.size() <= 1
/// "#;
/// let path = Path::new("a-pod-runs.yaml");
/// let scenario = parse::parse(path, text, &BuiltIn::default()).unwrap();
/// let report = execute(&scenario, path, &Options::default(), |_| Recorder::ring(10_000)).unwrap();
/// assert!(report.passed(), "{}", report.block());
/// ```
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// `coracle.dev/v1alpha1`.
    #[schemars(with = "String")]
    pub api_version: Spanned<String>,
    /// `Scenario`.
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// The name, for reports.
    pub metadata: Metadata,
    /// What happens.
    pub spec: Spec,
    /// The hash of the file's text: `sha256:` and 64 hexadecimal digits.
    #[serde(skip)]
    pub hash: String,
}

/// The name of a scenario.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// A short name, like a file name.
    pub name: String,
}

/// What happens in a scenario.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// One or two sentences for readers.
    #[serde(default)]
    pub description: String,
    /// The cluster to start.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// The namespace of resources without one.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// How long `wait`, `assert`, `error` and `delete` wait, in the cluster's time.
    #[serde(default = "default_timeout", deserialize_with = "duration")]
    #[schemars(with = "DurationText")]
    pub timeout: Duration,
    /// Conditions that have to hold at every revision.
    #[serde(default)]
    #[schemars(with = "Vec<Invariant>")]
    pub always: Vec<Spanned<Invariant>>,
    /// Conditions that must not hold at any revision.
    #[serde(default)]
    #[schemars(with = "Vec<Invariant>")]
    pub never: Vec<Spanned<Invariant>>,
    /// Conditions that have to hold after the last step, at the latest when the timeout is over.
    #[serde(default)]
    #[schemars(with = "Vec<Invariant>")]
    pub eventually: Vec<Spanned<Invariant>>,
    /// Faults between the API server and those that use it.
    #[serde(default)]
    #[schemars(with = "Vec<Fault>")]
    pub faults: Vec<Spanned<Fault>>,
    /// Which components may have sent which requests, counted after the last step.
    #[serde(default)]
    pub requests: Vec<RequestCount>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// A named group of operations, executed in order.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// What the step does; shown while it runs and in failures.
    pub name: String,
    /// The user and field manager of the step; absent for `scenario`. The user has all permissions.
    #[serde(default)]
    pub user: Option<String>,
    /// The operations.
    #[serde(rename = "try")]
    #[schemars(with = "Vec<Operation>")]
    pub operations: Vec<Spanned<Operation>>,
    /// How often all operations are repeated.
    #[serde(default = "once", deserialize_with = "positive")]
    pub times: NonZeroUsize,
}

fn once() -> NonZeroUsize {
    NonZeroUsize::MIN
}

/// One operation of a scenario: an action or a wait.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// Creates objects.
    Create(Create),
    /// Creates objects or merges them into those that exist (server-side apply).
    Apply(Apply),
    /// Reads an object for a later update.
    Get(Get),
    /// Writes a complete object at the resource version at which it was read.
    Update(Update),
    /// Merges a partial object into an object (JSON merge patch).
    Patch(Patch),
    /// Sets the replicas of a workload through its scale subresource.
    Scale(Scale),
    /// Deletes objects.
    Delete(Delete),
    /// Waits for a condition of an object, as `kubectl wait` does.
    Wait(Wait),
    /// Waits until a condition holds.
    Assert(Assert),
    /// Waits until a condition does not hold any more.
    Error(Assert),
    /// Marks a node as unschedulable.
    Cordon(OnNode),
    /// Marks a node as schedulable.
    Uncordon(OnNode),
    /// Adds a taint to a node, or removes it.
    Taint(Taint),
    /// Evicts pods, as far as disruption budgets allow.
    Evict(Evict),
    /// Cordons a node and evicts its pods, as `kubectl drain` does.
    Drain(Drain),
    /// Undoes, pauses, resumes or restarts a rollout, as `kubectl rollout` does.
    Rollout(Rollout),
    /// Lets time pass.
    Sleep(Sleep),
    /// Stops a component or a node.
    Stop(Part),
    /// Starts it again.
    Start(Part),
    /// Kills a component, or cuts the power of a node: its containers are lost. `start` starts it again.
    Kill(Part),
    /// Partitions a node from the API: it continues with what it saw last.
    Partition(OnNode),
    /// Causes a fault.
    Fault(Box<Fault>),
    /// Heals the partition of a node, or ends a fault.
    Heal(Heal),
}

impl Operation {
    /// The word in the file.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Apply(_) => "apply",
            Self::Get(_) => "get",
            Self::Update(_) => "update",
            Self::Patch(_) => "patch",
            Self::Scale(_) => "scale",
            Self::Delete(_) => "delete",
            Self::Wait(_) => "wait",
            Self::Assert(_) => "assert",
            Self::Error(_) => "error",
            Self::Cordon(_) => "cordon",
            Self::Uncordon(_) => "uncordon",
            Self::Taint(_) => "taint",
            Self::Evict(_) => "evict",
            Self::Drain(_) => "drain",
            Self::Rollout(_) => "rollout",
            Self::Sleep(_) => "sleep",
            Self::Stop(_) => "stop",
            Self::Start(_) => "start",
            Self::Kill(_) => "kill",
            Self::Partition(_) => "partition",
            Self::Fault(_) => "fault",
            Self::Heal(_) => "heal",
        }
    }
}

/// Objects in the scenario, or in a file next to it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["resource"]}, {"required": ["file"]}]))]
pub struct Create {
    /// The object.
    #[serde(default)]
    #[schemars(with = "WholeObject")]
    pub resource: Option<Spanned<Value>>,
    /// A YAML file with one or more objects, relative to the scenario.
    #[serde(default)]
    #[schemars(with = "String")]
    pub file: Option<Spanned<String>>,
    /// The name of the object that owns the new objects, in any namespace.
    #[serde(default)]
    #[schemars(with = "String")]
    pub owned_by: Option<Spanned<String>>,
}

/// A partial object to merge into objects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// The changes, with `apiVersion` and `kind`, and `metadata.name` unless `selector` chooses the objects.
    #[schemars(with = "PartialObject")]
    pub resource: Spanned<Value>,
    /// Chooses the objects by label instead of by name.
    #[serde(default)]
    #[schemars(with = "String")]
    pub selector: Option<Spanned<String>>,
    /// How many of the chosen objects to change, in the order of their names; absent for all.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "NonZeroUsize")]
    pub pick: Option<usize>,
    /// The name under which the first changed object is known to later expressions.
    #[serde(default, rename = "as")]
    #[schemars(with = "String")]
    pub binding: Option<Spanned<String>>,
    /// `status` to patch the status subresource.
    #[serde(default)]
    pub subresource: Option<String>,
}

/// Identifies one object, or several by label.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["name"]}, {"required": ["labels"]}]))]
pub struct Reference {
    /// `apiVersion`.
    #[schemars(with = "String")]
    pub api_version: Spanned<String>,
    /// `kind`.
    #[schemars(with = "KindWord")]
    pub kind: Spanned<String>,
    /// The name.
    #[serde(default)]
    pub name: Option<String>,
    /// The namespace, if it is not the scenario's.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The labels of the objects.
    #[serde(default)]
    pub labels: std::collections::BTreeMap<String, String>,
}

impl Reference {
    /// The `apiVersion` and the kind.
    pub(crate) fn kind(&self) -> (String, String) {
        (self.api_version.value.clone(), self.kind.value.clone())
    }
}

/// Sets replicas.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// What to scale.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The new number of replicas.
    pub replicas: u32,
}

/// Deletes objects.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delete {
    /// What to delete.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// How many of the objects chosen by labels to delete, in the order of their names; absent for all.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "NonZeroUsize")]
    pub pick: Option<usize>,
    /// The name under which the first deleted object is known to later expressions.
    #[serde(default, rename = "as")]
    #[schemars(with = "String")]
    pub binding: Option<Spanned<String>>,
    /// The grace period in seconds; absent for the object's own.
    #[serde(default)]
    pub grace_period_seconds: Option<i64>,
    /// `Background`, `Foreground` or `Orphan`.
    #[serde(default)]
    #[schemars(with = "PropagationWord")]
    pub deletion_propagation_policy: Option<Spanned<String>>,
}

/// Waits for an object, as `kubectl wait` does.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["name"]}, {"required": ["selector"]}]))]
pub struct Wait {
    /// `apiVersion`.
    #[schemars(with = "String")]
    pub api_version: Spanned<String>,
    /// `kind`.
    #[schemars(with = "KindWord")]
    pub kind: Spanned<String>,
    /// The name; absent for all objects that the selector matches.
    #[serde(default)]
    pub name: Option<String>,
    /// The namespace, if it is not the scenario's.
    #[serde(default)]
    pub namespace: Option<String>,
    /// A label selector.
    #[serde(default)]
    #[schemars(with = "String")]
    pub selector: Option<Spanned<String>>,
    /// What to wait for.
    #[serde(rename = "for")]
    pub condition: WaitFor,
    /// The timeout; absent for the scenario's.
    #[serde(default, deserialize_with = "optional_duration")]
    #[schemars(with = "DurationText")]
    pub timeout: Option<Duration>,
}

/// The condition of a `wait`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitFor {
    /// The object exists.
    Creation(Nothing),
    /// The object is gone.
    Deletion(Nothing),
    /// A condition in its status has a value.
    Condition(WaitCondition),
    /// A field has a value.
    JsonPath(WaitJsonPath),
}

/// An empty object, `{}`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// A condition in the status.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitCondition {
    /// Its type.
    pub name: String,
    /// Its status.
    #[serde(default = "default_condition_value")]
    pub value: String,
}

/// A field and its value.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitJsonPath {
    /// The path: `{.status.phase}`, with field names and list indices only.
    #[schemars(with = "String")]
    pub path: Spanned<String>,
    /// The value, as text.
    pub value: String,
}

/// A condition on the cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["resource"]}, {"required": ["cel"]}]))]
pub struct Assert {
    /// A partial object. With a name, that object has to match; without a name, any object of its kind.
    #[serde(default)]
    #[schemars(with = "PartialObject")]
    pub resource: Option<Spanned<Value>>,
    /// An expression over all objects.
    #[serde(default)]
    #[schemars(with = "String")]
    pub cel: Option<Spanned<String>>,
    /// The timeout; absent for the scenario's.
    #[serde(default, deserialize_with = "optional_duration")]
    #[schemars(with = "DurationText")]
    pub timeout: Option<Duration>,
    /// Whether it has to hold at every revision since the step began; then there is no wait.
    #[serde(default)]
    pub still: bool,
}

/// Lets time pass.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sleep {
    /// How long, in the cluster's time.
    #[serde(deserialize_with = "duration")]
    #[schemars(with = "DurationText")]
    pub duration: Duration,
}

/// A part of the cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["component"]}, {"required": ["node"]}, {"required": ["toy"]}]))]
pub struct Part {
    /// A component, a controller such as `controller-manager/replicaset`, or `store`, which is killed without a
    /// shutdown.
    #[serde(default)]
    #[schemars(with = "ComponentWord")]
    pub component: Option<Spanned<String>>,
    /// A node, by name.
    #[serde(default)]
    #[schemars(with = "NodeText")]
    pub node: Option<Spanned<String>>,
    /// A deliberately broken controller: `edge-triggered` or `counting`. It does not run before a step starts it.
    #[serde(default)]
    #[schemars(with = "ToyWord")]
    pub toy: Option<Spanned<String>>,
}

/// A condition that has to hold, or must not hold, at every revision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["resource"]}, {"required": ["cel"]}]))]
pub struct Invariant {
    /// A sentence for reports.
    pub name: String,
    /// An expression over all objects.
    #[serde(default)]
    #[schemars(with = "String")]
    pub cel: Option<Spanned<String>>,
    /// A partial object that exists.
    #[serde(default)]
    #[schemars(with = "PartialObject")]
    pub resource: Option<Spanned<Value>>,
    /// The step with which it begins to apply; absent for the beginning.
    #[serde(default)]
    #[schemars(with = "String")]
    pub since: Option<Spanned<String>>,
}

/// Which component sent requests of one kind, counted in the log from the named step on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("not" = {"required": ["count", "atMost"]}))]
pub struct RequestCount {
    /// A sentence for reports.
    pub name: String,
    /// `create`, `update`, `patch` or `delete`.
    #[schemars(with = "WriteVerbWord")]
    pub verb: Spanned<String>,
    /// The plural of the resource.
    #[schemars(with = "PluralWord")]
    pub resource: Spanned<String>,
    /// The only actor that may have sent them: `controller-manager/replicaset`, `kubelet/node-1`.
    #[schemars(with = "SenderWord")]
    pub by: Spanned<String>,
    /// How many it has sent; absent for at least one.
    #[serde(default)]
    pub count: Option<usize>,
    /// The maximum that it has sent, instead of `count`. If it has sent none, the check is vacuous.
    #[serde(default)]
    pub at_most: Option<usize>,
    /// The step with which counting begins; absent for the beginning.
    #[serde(default)]
    #[schemars(with = "String")]
    pub since: Option<Spanned<String>>,
}

fn default_namespace() -> String {
    "default".to_owned()
}

fn default_condition_value() -> String {
    "True".to_owned()
}

fn default_timeout() -> Duration {
    Duration::from_secs(60)
}

/// The default of flags that are true.
fn yes() -> bool {
    true
}
