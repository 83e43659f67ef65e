use std::time::Duration;

use coracle_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::duration::optional_duration;
use super::positive::optional_positive;
use crate::schema_words::{
    ChangeWord, DurationText, FaultAction, FaultLength, KindWord, MomentWord, NodeText, PluralWord, RequestWord,
    VerbWord,
};

/// A fault between the API server and those that use it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The name, for reports and for `heal`; absent for its text.
    #[serde(default)]
    #[schemars(with = "String")]
    pub name: Option<Spanned<String>>,
    /// When it begins; absent for at once.
    #[serde(default)]
    #[schemars(with = "FaultMoment")]
    pub when: Option<Spanned<FaultMoment>>,
    /// What happens: one word of `docs/faults.md` with its argument, and for watches `kind` and `to`.
    #[serde(rename = "do")]
    #[schemars(with = "FaultAction")]
    pub action: Spanned<Value>,
    /// How long it lasts: a duration, a number of requests, or `{until: STEP}`.
    #[serde(default, rename = "for")]
    #[schemars(with = "FaultLength")]
    pub lasts: Option<Spanned<Value>>,
}

/// When a fault begins. The fields apply in this order: it waits for the step, then for the time, for the revision, for
/// the expression and for the event, and then it counts requests.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("not" = {"required": ["revision", "revisions"]}))]
pub struct FaultMoment {
    /// The step with which it begins; absent for the first one.
    #[serde(default)]
    #[schemars(with = "String")]
    pub step: Option<Spanned<String>>,
    /// How long after the step.
    #[serde(default, deserialize_with = "optional_duration")]
    #[schemars(with = "DurationText")]
    pub after: Option<Duration>,
    /// The revision of the store.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub revision: Option<usize>,
    /// How many revisions after the step and the time.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub revisions: Option<usize>,
    /// An expression over all objects; the fault begins when it becomes true.
    #[serde(default)]
    #[schemars(with = "String")]
    pub cel: Option<Spanned<String>>,
    /// A change of an object.
    #[serde(default)]
    #[schemars(with = "FaultEvent")]
    pub event: Option<Spanned<FaultEvent>>,
    /// Who sends the request: a component, a node as `kubelet/NAME`, a user, or the product of a user agent.
    #[serde(default)]
    #[schemars(with = "RequestWord")]
    pub by: Option<Spanned<String>>,
    /// The verb of the request.
    #[serde(default)]
    #[schemars(with = "VerbWord")]
    pub verb: Option<Spanned<String>>,
    /// The plural of the resource, with `/SUBRESOURCE` for requests of a subresource.
    #[serde(default)]
    #[schemars(with = "PluralWord")]
    pub resource: Option<Spanned<String>>,
    /// The namespace of the object.
    #[serde(default)]
    #[schemars(with = "String")]
    pub namespace: Option<Spanned<String>>,
    /// The name of the object. With a `*` at the end, what it begins with, which may be its `generateName`.
    #[serde(default)]
    #[schemars(with = "String")]
    pub name: Option<Spanned<String>>,
    /// Which of these requests, from 1; absent for the first.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub nth: Option<usize>,
    /// `sent`, `landed` or `answered`.
    #[serde(default)]
    #[schemars(with = "MomentWord")]
    pub moment: Option<Spanned<String>>,
}

/// A change of an object with which a fault begins.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultEvent {
    /// The kind.
    #[schemars(with = "KindWord")]
    pub kind: Spanned<String>,
    /// `ADDED`, `MODIFIED` or `DELETED`; absent for any.
    #[serde(default, rename = "type")]
    #[schemars(with = "ChangeWord")]
    pub change: Option<Spanned<String>>,
    /// The namespace.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The name. With a `*` at the end, what it begins with.
    #[serde(default)]
    pub name: Option<String>,
    /// An expression over `object` and `oldObject`: the object after and before the change, or null.
    #[serde(default)]
    #[schemars(with = "String")]
    pub cel: Option<Spanned<String>>,
    /// Which of these changes, from 1; absent for the first.
    #[serde(default, deserialize_with = "optional_positive")]
    #[schemars(with = "std::num::NonZeroUsize")]
    pub nth: Option<usize>,
}

impl FaultMoment {
    /// Whether it selects requests.
    pub(crate) fn has_request(&self) -> bool {
        [&self.by, &self.verb, &self.resource, &self.namespace, &self.name].into_iter().any(Option::is_some)
    }
}

/// Ends a fault, or the partition of a node.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["node"]}, {"required": ["fault"]}]))]
pub struct Heal {
    /// The node.
    #[serde(default)]
    #[schemars(with = "NodeText")]
    pub node: Option<Spanned<String>>,
    /// The name of the fault.
    #[serde(default)]
    #[schemars(with = "String")]
    pub fault: Option<Spanned<String>>,
}
