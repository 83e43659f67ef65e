use serde_json::Value;

use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, duration};
use super::operation::ClusterOperation;

pub(super) const STORE: FaultKind = FaultKind {
    word: "store",
    argument: "`kill`, `full`, `compact`, or `{slow: DURATION}`",
    forms: &[
        ArgumentForm::Word("kill"),
        ArgumentForm::Word("full"),
        ArgumentForm::Word("compact"),
        ArgumentForm::Field("slow", &ArgumentForm::Duration),
    ],
    about: "With `kill`, the store ends, and starts with all acknowledged writes when the fault ends. With `full`, it \
            refuses writes, except deletions. With `slow`, each of its requests takes this much longer. With `compact`, \
            it drops all revisions before the newest one, and the API server fills its watch caches again: watches end, \
            and a watch that continues after an older revision gets 410 Expired.",
    contract: "The store may be unavailable, slow or full at any time, and the API server reports it with 500, 503 or \
               504. History is limited: a watch or a continued list that needs more gets 410, and the client lists \
               again.",
    target: FaultTarget::Cluster,
    effect: FaultEffect::Cluster(|argument, now| match argument {
        Value::String(word) if word == "kill" => Ok(ClusterOperation::KillStore),
        Value::String(word) if word == "full" => Ok(ClusterOperation::FillStore),
        Value::String(word) if word == "compact" => Ok(ClusterOperation::CompactStore(now.revision)),
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("slow") => {
            duration(&fields["slow"]).map(ClusterOperation::SlowStore)
        }
        other => Err(format!("expected `kill`, `full`, `compact` or `{{slow: DURATION}}`, found {other}")),
    }),
};
