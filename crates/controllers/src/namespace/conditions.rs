use std::collections::BTreeMap;

use coracle_api::core_v1::NamespaceCondition;
use coracle_meta::{GroupVersion, GroupVersionResource};

/// The conditions of a namespace that is being deleted, in their order, with their reasons and messages if there is
/// no problem.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// What a round of deletion found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Findings {
    /// Why discovery failed.
    pub(crate) discovery_failure: Option<String>,
    /// What could not be deleted.
    pub(crate) failures: Vec<String>,
    /// How many objects of each kind are left.
    pub(crate) remaining: BTreeMap<GroupVersionResource, usize>,
    /// How many of them each finalizer holds.
    pub(crate) finalizers: BTreeMap<String, usize>,
    /// After how many seconds the remaining objects may be gone.
    pub(crate) estimate: u64,
}

impl Findings {
    /// The findings as a sentence, for the event log.
    pub(crate) fn sentence(&self) -> String {
        let objects: usize = self.remaining.values().sum();
        match (self.error().is_some(), objects, self.estimate) {
            (true, ..) => "something went wrong: try again".to_owned(),
            (false, 0, 0) => "nothing is left: let it go".to_owned(),
            (false, 0, seconds) => format!("pods are left for {seconds} seconds: wait"),
            (false, objects, _) => format!("{objects} objects are left: wait"),
        }
    }

    /// All errors in one sentence.
    pub(crate) fn error(&self) -> Option<String> {
        let errors: Vec<_> = self.discovery_failure.iter().chain(&self.failures).map(String::as_str).collect();
        (!errors.is_empty()).then(|| errors.join(", "))
    }

    /// The reason and message of a condition that reports a problem.
    fn trouble(&self, condition: &str) -> Option<(&'static str, String)> {
        match condition {
            "NamespaceDeletionDiscoveryFailure" => Some(("DiscoveryFailed", self.discovery_failure.clone()?)),
            "NamespaceDeletionContentFailure" if !self.failures.is_empty() => {
                let mut failures = self.failures.clone();
                failures.sort();
                let (count, failures) = (failures.len(), failures.join(", "));
                let message = format!("Failed to delete all resource types, {count} remaining: {failures}");
                Some(("ContentDeletionFailed", message))
            }
            "NamespaceContentRemaining" if !self.remaining.is_empty() => {
                let remaining = self.remaining.iter().map(|(resource, count)| {
                    format!("{}.{} has {count} resource instances", resource.resource, resource.group)
                });
                Some(("SomeResourcesRemain", format!("Some resources are remaining: {}", sorted(remaining))))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let finalizers = self.finalizers.iter();
                let finalizers = finalizers.map(|(name, count)| format!("{name} in {count} resource instances"));
                let message = format!("Some content in the namespace has finalizers remaining: {}", sorted(finalizers));
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }
}

/// The message about API groups whose servers do not answer; `None` without such groups.
///
/// In Kubernetes: `ErrGroupDiscoveryFailed`, with `ErrStaleGroupVersion` of each.
pub(super) fn stale_groups(stale: &[GroupVersion]) -> Option<String> {
    let each = stale.iter().map(|version| format!("{version}: stale GroupVersion discovery: {version}"));
    let failures = sorted(each);
    let (count, about) = (stale.len(), "unable to retrieve the complete list of server APIs");
    (count > 0).then(|| format!("Discovery failed for some groups, {count} failing: {about}: {failures}"))
}

fn sorted(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    texts.join(", ")
}

/// Writes the findings into the conditions; returns whether anything changed.
///
/// In Kubernetes: `namespaceConditionUpdater.Update`.
pub(crate) fn update(conditions: &mut Vec<NamespaceCondition>, findings: &Findings, now: &str) -> bool {
    let mut changed = false;
    for (type_, fine_reason, fine_message) in CONDITIONS {
        let (status, reason, message) = match findings.trouble(type_) {
            Some((reason, message)) => ("True", reason, message),
            None => ("False", fine_reason, fine_message.to_owned()),
        };
        let Some(old) = conditions.iter_mut().find(|condition| condition.type_ == type_) else {
            conditions.push(NamespaceCondition {
                type_: type_.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message,
                last_transition_time: Some(now.to_owned()),
                ..NamespaceCondition::default()
            });
            changed = true;
            continue;
        };
        if old.status == status && old.reason == reason && old.message == message {
            continue;
        }
        if old.status != status {
            old.last_transition_time = Some(now.to_owned());
        }
        status.clone_into(&mut old.status);
        reason.clone_into(&mut old.reason);
        old.message = message;
        changed = true;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(conditions: &[NamespaceCondition], type_: &str) -> (String, String) {
        let condition = conditions.iter().find(|condition| condition.type_ == type_).unwrap();
        (condition.reason.clone(), condition.message.clone())
    }

    #[test]
    fn remaining_core_resources_are_reported_with_a_trailing_dot() {
        let mut findings = Findings::default();
        findings.remaining.insert(GroupVersionResource::new("apps", "v1", "deployments"), 2);
        findings.remaining.insert(GroupVersionResource::new("", "v1", "configmaps"), 1);
        findings.finalizers.insert("a/b".to_owned(), 3);
        let mut conditions = Vec::new();
        assert!(update(&mut conditions, &findings, "t"));
        assert_eq!(
            said(&conditions, "NamespaceContentRemaining"),
            (
                "SomeResourcesRemain".into(),
                "Some resources are remaining: configmaps. has 1 resource instances, deployments.apps has 2 resource instances"
                    .into()
            )
        );
        assert_eq!(
            said(&conditions, "NamespaceFinalizersRemaining").1,
            "Some content in the namespace has finalizers remaining: a/b in 3 resource instances"
        );
        assert_eq!(conditions.len(), 5);
    }

    #[test]
    fn equal_conditions_change_nothing_and_only_a_new_status_sets_the_transition_time() {
        let mut conditions = Vec::new();
        assert!(update(&mut conditions, &Findings::default(), "t1"));
        assert!(!update(&mut conditions, &Findings::default(), "t2"));
        let failed = |why: &str| Findings { failures: vec![why.to_owned()], ..Findings::default() };
        assert!(update(&mut conditions, &failed("a"), "t3"));
        assert!(update(&mut conditions, &failed("b"), "t4"));
        let failure = conditions.iter().find(|condition| condition.reason == "ContentDeletionFailed").unwrap();
        assert_eq!(failure.last_transition_time.as_deref(), Some("t3"));
        assert_eq!(failure.message, "Failed to delete all resource types, 1 remaining: b");
    }
}
