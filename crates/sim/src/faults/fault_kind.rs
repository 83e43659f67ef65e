use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::argument_form::ArgumentForm;
use super::operation::ClusterOperation;
use crate::wire::Effect;

/// A kind of faults: its word in files, what it does, and why a controller must survive it.
pub struct FaultKind {
    /// The word in files.
    pub word: &'static str,
    /// The argument of the word, for documents.
    pub argument: &'static str,
    /// The forms that the argument may have.
    pub forms: &'static [ArgumentForm],
    /// What it does, in one or two sentences.
    pub about: &'static str,
    /// The sentence of the contract of Kubernetes that permits it.
    pub contract: &'static str,
    /// What it acts on.
    pub target: FaultTarget,
    /// What it does for an argument, if the fault begins now.
    pub effect: FaultEffect,
}

/// The function from the argument of a fault to what it does; an error states what the argument has to be.
pub enum FaultEffect {
    /// An effect on the wire.
    Wire(fn(&Value, Now) -> Result<Effect, String>),
    /// An operation on a part of the cluster.
    Cluster(fn(&Value, Now) -> Result<ClusterOperation, String>),
}

/// What a fault acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// The requests that its condition selects.
    Requests,
    /// Everything that one requester sends and receives. The argument is its name.
    Requester,
    /// The watches of a kind by a requester, as long as the fault lasts.
    Watches,
    /// The open watches of a kind by a requester, at one moment.
    OpenWatches,
    /// A component, a node or the store. The argument names it.
    Cluster,
}

impl FaultTarget {
    /// Whether its faults last; those of requests and of open watches take place at one moment.
    pub(super) fn lasts(self) -> bool {
        matches!(self, Self::Requester | Self::Watches | Self::Cluster)
    }
}

/// The moment at which a fault begins.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// On the cluster's clock.
    pub at: Instant,
    /// The newest revision.
    pub revision: i64,
}

impl fmt::Debug for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultKind").field("word", &self.word).finish_non_exhaustive()
    }
}

impl FaultKind {
    /// Checks the argument of the word.
    ///
    /// # Errors
    /// If no fault of this kind has such an argument; the text states what is valid.
    pub fn check(&self, argument: &Value) -> Result<(), String> {
        let now = Now { at: Instant::now(), revision: 0 };
        match self.effect {
            FaultEffect::Wire(effect) => effect(argument, now).map(drop),
            FaultEffect::Cluster(operation) => operation(argument, now).map(drop),
        }
    }

    /// The effect on the wire for a valid argument; `None` for a fault of the cluster.
    pub(super) fn on_wire(&self, argument: &Value, now: Now) -> Option<Effect> {
        match self.effect {
            FaultEffect::Wire(effect) => effect(argument, now).ok(),
            FaultEffect::Cluster(_) => None,
        }
    }

    /// The operation on the cluster for a valid argument; `None` for a fault on the wire.
    pub fn on_cluster(&self, argument: &Value, now: Now) -> Option<ClusterOperation> {
        match self.effect {
            FaultEffect::Wire(_) => None,
            FaultEffect::Cluster(operation) => operation(argument, now).ok(),
        }
    }
}

/// An argument that is a duration.
pub(super) fn duration(argument: &Value) -> Result<Duration, String> {
    let parsed = argument.as_str().and_then(coracle_meta::parse_duration);
    parsed.ok_or_else(|| format!("{argument} is not a duration such as `500ms`, `30s`, `5m` or `1h30m`"))
}

/// An argument that is empty: `{}`.
pub(super) fn nothing(argument: &Value) -> Result<(), String> {
    match argument {
        Value::Object(fields) if fields.is_empty() => Ok(()),
        other => Err(format!("expected `{{}}`, found {other}")),
    }
}

/// An argument that names a requester.
pub(super) fn requester(argument: &Value) -> Result<(), String> {
    match argument {
        Value::String(name) if !name.is_empty() => Ok(()),
        other => Err(format!("expected the name of a component or a user, found {other}")),
    }
}

/// An argument that names a component.
pub(super) fn component(argument: &Value) -> Result<String, String> {
    match argument {
        Value::String(name) if !name.is_empty() => Ok(name.clone()),
        other => Err(format!("expected the name of a component, found {other}")),
    }
}
