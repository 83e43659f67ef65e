//! Changes of the placement of a gated pod, which can only narrow the set of nodes. In Kubernetes:
//! `validateNodeSelectorMutation`, `validateNodeAffinityMutation`.

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::{Value, json};

use crate::field_checks::{Wrong, same};

/// The errors of a change of the node selector.
pub(super) fn wrong_node_selector_change(new: &Value, old: &Value) -> Option<FieldError> {
    let is_kept = |(name, value): (&String, &Value)| new.field_named(name) == value;
    if old.as_object().into_iter().flatten().all(is_kept) {
        return None;
    }
    let what = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
    Some(FieldError::invalid("spec.nodeSelector", new.clone(), what))
}

/// The errors of a change of the node affinity.
pub(super) fn wrong_node_affinity_change(new: &Value, old: &Value) -> Wrong {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let path = format!("spec.affinity.nodeAffinity.{REQUIRED}");
    let (new, old) = (new.list(REQUIRED), old.list(REQUIRED));
    if old.is_empty() {
        return Wrong::new();
    }
    if new.len() != old.len() {
        let printed = if new.is_empty() { "null".to_owned() } else { go_list(new.iter().map(go_term)) };
        let what = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return vec![FieldError::invalid(path, new, what).printed_as(printed)];
    }
    let changed = new.iter().zip(old).enumerate().filter(|(_, (new, old))| !only_adds(new, old));
    let what = "only additions are allowed (no mutations or deletions)";
    changed
        .map(|(at, (new, _))| FieldError::invalid(format!("{path}[{at}]"), new.clone(), what).printed_as(go_term(new)))
        .collect()
}

/// Requirements must not be added to a term that matches nothing.
fn only_adds(new: &Value, old: &Value) -> bool {
    const LISTS: [&str; 2] = ["matchExpressions", "matchFields"];
    if LISTS.iter().all(|list| old.list(list).is_empty()) {
        return LISTS.iter().all(|list| new.list(list).is_empty());
    }
    LISTS.iter().all(|list| {
        let old = old.list(list);
        let kept = new.list(list).get(..old.len()).unwrap_or_default();
        old.len() == kept.len() && old.iter().zip(kept).all(|(old, kept)| same(old, kept))
    })
}

fn go_list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// A term as Go prints the internal type.
fn go_term(term: &Value) -> String {
    let list = |name: &str| match term.list(name) {
        [] => "null".to_owned(),
        items => go_list(items.iter().map(go_requirement)),
    };
    format!(r#"{{"MatchExpressions":{},"MatchFields":{}}}"#, list("matchExpressions"), list("matchFields"))
}

fn go_requirement(requirement: &Value) -> String {
    let text = |field: &str| json!(requirement.text(field));
    format!(r#"{{"Key":{},"Operator":{},"Values":{}}}"#, text("key"), text("operator"), requirement.at("values"))
}
