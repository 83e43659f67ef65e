use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::fields::Fields;
use coracle_registry::{Operation, Review};

use super::{Checked, name};

/// The labels of Kubernetes that nodes can set on themselves. In Kubernetes: `kubeletapis.KubeletLabels`.
const OWN_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
const OWN_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const RESTRICTED: &str = "node-restriction.kubernetes.io";

/// A node can register and update itself, except for fields that would attract pods.
pub(super) fn check(review: &Review<'_>, node: &str) -> Checked {
    let requested = name(review);
    if requested != node {
        return Err(format!("node {node:?} is not allowed to modify node {requested:?}"));
    }
    let Some(new) = review.object() else { return Ok(()) };
    let has_source = new.at("spec").has("configSource");
    let refused = |what: &str| Err(format!("node {node:?} is not allowed to {what}"));
    match (review.operation, review.old) {
        (Operation::Create, _) => {
            if has_source {
                return refused("create pods with a non-nil configSource");
            }
            let labels = forbidden(&new.labels(), &BTreeMap::new());
            if !labels.is_empty() {
                return refused(&format!("set the following labels: {}", labels.join(", ")));
            }
        }
        (Operation::Update, Some(old)) => {
            if has_source && new.at("spec.configSource") != old.at("spec.configSource") {
                return refused("update configSource to a new non-nil configSource");
            }
            if new.list("spec.taints") != old.list("spec.taints") {
                return refused("modify taints");
            }
            if new.list("metadata.ownerReferences") != old.list("metadata.ownerReferences") {
                return refused("modify ownerReferences");
            }
            let labels = forbidden(&new.labels(), &old.labels());
            if !labels.is_empty() {
                return Err(format!("is not allowed to modify labels: {}", labels.join(", ")));
            }
        }
        _ => {}
    }
    Ok(())
}

/// The changed labels that a node must not change.
fn forbidden(new: &BTreeMap<String, String>, old: &BTreeMap<String, String>) -> Vec<String> {
    let keys: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
    let changed = keys.into_iter().filter(|key| new.get(*key) != old.get(*key));
    changed.filter(|key| is_forbidden(key)).cloned().collect()
}

fn is_forbidden(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_of = |of: &str| domain.strip_suffix(of).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_own = OWN_LABELS.contains(&key) || OWN_DOMAINS.iter().any(|of| is_of(of));
    is_of(RESTRICTED) || ((is_of("kubernetes.io") || is_of("k8s.io")) && !is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_does_not_touch_labels_that_others_rely_on() {
        for (key, expected) in [
            ("kubernetes.io/hostname", false),
            ("example.com/disk", false),
            ("mine", false),
            ("x.node.kubernetes.io/a", false),
            ("node-role.kubernetes.io/control-plane", true),
            ("node-restriction.kubernetes.io/secret", true),
            ("a.node-restriction.kubernetes.io/secret", true),
            ("k8s.io/a", true),
            ("notkubernetes.io/a", false),
        ] {
            assert_eq!(is_forbidden(key), expected, "{key}");
        }
        let labels = |value: &str| BTreeMap::from([("k8s.io/a".to_owned(), value.to_owned())]);
        assert!(forbidden(&labels("1"), &labels("1")).is_empty());
        assert_eq!(forbidden(&labels("1"), &labels("2")), ["k8s.io/a"]);
    }
}
