//! Which set belongs to which revision, and the annotations that record it.

use std::sync::Arc;

use coracle_api::apps_v1::{Deployment, ReplicaSet};
use coracle_api::core_v1::PodTemplateSpec;
use coracle_api::meta_v1::LabelSelector;
use coracle_controller_runtime::ownership::controller_reference;

use super::rolling::Bounds;
use crate::hash::template_hash;

/// The label that distinguishes the pods of one set from those of another.
pub(super) const HASH_LABEL: &str = "pod-template-hash";
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of the Deployment that are not copied to its sets.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.rollback-to",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
];
/// The maximum length of a set's list of earlier revisions.
const LONGEST_HISTORY: usize = 2000;
/// The maximum length of a set's name.
const LONGEST_NAME: usize = 253;

/// The sets of a Deployment, new and old; each list from the oldest to the newest.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    /// The oldest set with the Deployment's template.
    pub(super) new: Option<Arc<ReplicaSet>>,
    /// The others.
    pub(super) old: Vec<Arc<ReplicaSet>>,
}

impl Sets {
    /// Separates the new set from the old ones.
    pub(super) fn of(deployment: &Deployment, mut sets: Vec<Arc<ReplicaSet>>) -> Self {
        sets.sort_by(|a, b| by_age(a).cmp(&by_age(b)));
        let new = sets.iter().position(|set| same_template(&set.spec.template, &deployment.spec.template));
        let new = new.map(|index| sets.remove(index));
        Self { new, old: sets }
    }

    /// All of them, the new one last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> {
        self.old.iter().chain(&self.new)
    }

    /// The number of the next revision.
    pub(super) fn next_revision(&self) -> i64 {
        self.old.iter().map(|set| revision_of(set)).max().unwrap_or(0).saturating_add(1)
    }
}

/// The sort key of sets by age: creation time, then name.
pub(super) fn by_age(set: &ReplicaSet) -> (Option<&str>, Option<&str>) {
    (set.metadata.creation_timestamp.as_deref(), set.metadata.name.as_deref())
}

/// The desired number of replicas of a set.
pub(super) fn size(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(1)
}

/// Whether two templates describe the same pods; the hash label is ignored.
fn same_template(a: &PodTemplateSpec, b: &PodTemplateSpec) -> bool {
    let without_hash = |template: &PodTemplateSpec| {
        let mut template = template.clone();
        template.metadata.labels.remove(HASH_LABEL);
        template
    };
    a.spec == b.spec && without_hash(a) == without_hash(b)
}

/// Whether a set was created for this Deployment and template.
pub(super) fn is_for(set: &ReplicaSet, deployment: &Deployment) -> bool {
    let owned = set.metadata.controller().is_some_and(|owner| Some(&owner.uid) == deployment.metadata.uid.as_ref());
    owned && same_template(&set.spec.template, &deployment.spec.template)
}

/// The number of a set's revision; 0 if it has none.
pub(super) fn revision_of(set: &ReplicaSet) -> i64 {
    set.metadata.annotations.get(REVISION).and_then(|revision| revision.parse().ok()).unwrap_or(0)
}

/// The set for the Deployment's template, with no size yet.
pub(super) fn new_set(deployment: &Deployment, revision: i64) -> ReplicaSet {
    let hash = template_hash(&deployment.spec.template, deployment.status.collision_count.map(i64::from));
    let mut template = deployment.spec.template.clone();
    template.metadata.labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let mut selector: LabelSelector = deployment.spec.selector.as_deref().cloned().unwrap_or_default();
    selector.match_labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let mut set = ReplicaSet::default();
    let name = deployment.metadata.name.as_deref().unwrap_or_default();
    let longest = LONGEST_NAME - 1 - hash.len();
    set.metadata.name = Some(format!("{}-{hash}", &name[..name.len().min(longest)]));
    set.metadata.namespace.clone_from(&deployment.metadata.namespace);
    set.metadata.labels.clone_from(&template.metadata.labels);
    set.metadata.owner_references = vec![controller_reference(deployment)];
    set.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
    set.spec.selector = Some(Box::new(selector));
    set.spec.template = template;
    annotate(deployment, &mut set, revision);
    set
}

/// Updates a set's annotations; true if any changed. Annotations that the Deployment no longer has stay.
///
/// In Kubernetes: `SetNewReplicaSetAnnotations`.
pub(super) fn annotate(deployment: &Deployment, set: &mut ReplicaSet, revision: i64) -> bool {
    let annotations = &mut set.metadata.annotations;
    let before = annotations.clone();
    for (name, value) in &deployment.metadata.annotations {
        if !NOT_COPIED.contains(&name.as_str()) {
            annotations.insert(name.clone(), value.clone());
        }
    }
    let old = annotations.get(REVISION).cloned();
    match old.as_deref().map(str::parse::<i64>) {
        None => {
            annotations.insert(REVISION.to_owned(), revision.to_string());
        }
        Some(Ok(number)) if number < revision => {
            annotations.insert(REVISION.to_owned(), revision.to_string());
            let history = annotations.get(REVISION_HISTORY).cloned().unwrap_or_default();
            if let Some(history) = append(&history, &number.to_string()) {
                annotations.insert(REVISION_HISTORY.to_owned(), history);
            }
        }
        _ => {}
    }
    before != *annotations
}

/// The list with one more revision; the oldest ones are dropped if it gets too long. `None` if that does not suffice.
fn append(history: &str, revision: &str) -> Option<String> {
    if history.is_empty() {
        return Some(revision.to_owned());
    }
    let mut revisions: Vec<&str> = history.split(',').collect();
    revisions.push(revision);
    while revisions.join(",").len() > LONGEST_HISTORY && revisions.len() > 1 {
        revisions.remove(0);
    }
    let joined = revisions.join(",");
    (joined.len() <= LONGEST_HISTORY).then_some(joined)
}

/// Records the desired and the maximum number of replicas on a set; true if that changed anything.
pub(super) fn note_bounds(set: &mut ReplicaSet, bounds: Bounds) -> bool {
    let before = set.metadata.annotations.clone();
    let most = bounds.most();
    set.metadata.annotations.insert(DESIRED_REPLICAS.to_owned(), bounds.replicas.to_string());
    set.metadata.annotations.insert(MAX_REPLICAS.to_owned(), most.to_string());
    before != set.metadata.annotations
}

/// The desired number of replicas when the set was last scaled.
pub(super) fn desired_replicas(set: &ReplicaSet) -> Option<i32> {
    number(set, DESIRED_REPLICAS)
}

/// The maximum number of replicas then.
pub(super) fn max_replicas(set: &ReplicaSet) -> Option<i32> {
    number(set, MAX_REPLICAS)
}

fn number(set: &ReplicaSet, annotation: &str) -> Option<i32> {
    set.metadata.annotations.get(annotation)?.parse().ok().filter(|number| *number >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(annotations: &[(&str, &str)]) -> Deployment {
        let mut deployment = Deployment::default();
        deployment.metadata.name = Some("web".to_owned());
        deployment.metadata.annotations =
            annotations.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        deployment.spec.template.metadata.labels.insert("app".to_owned(), "web".to_owned());
        deployment
    }

    #[test]
    fn a_new_set_carries_the_hash_in_name_labels_selector_and_template() {
        let set = new_set(&deployment(&[]), 1);
        let hash = &set.metadata.labels[HASH_LABEL];
        assert_eq!(set.metadata.name.as_deref(), Some(format!("web-{hash}").as_str()));
        assert_eq!(&set.spec.template.metadata.labels[HASH_LABEL], hash);
        assert_eq!(&set.spec.selector.unwrap().match_labels[HASH_LABEL], hash);
        assert_eq!(set.metadata.annotations[REVISION], "1");
    }

    #[test]
    fn annotations_are_added_and_overwritten_but_never_taken_away() {
        let mut set = new_set(&deployment(&[("note", "a"), (NOT_COPIED[0], "x"), ("gone", "y")]), 1);
        assert!(!set.metadata.annotations.contains_key(NOT_COPIED[0]));
        assert!(annotate(&deployment(&[("note", "b")]), &mut set, 1));
        assert_eq!(set.metadata.annotations["note"], "b");
        assert_eq!(set.metadata.annotations["gone"], "y");
        assert!(!annotate(&deployment(&[("note", "b")]), &mut set, 1));
    }

    #[test]
    fn a_set_that_is_used_again_gets_a_new_number_and_keeps_the_old_ones_in_its_history() {
        let mut set = new_set(&deployment(&[]), 1);
        annotate(&deployment(&[]), &mut set, 3);
        annotate(&deployment(&[]), &mut set, 5);
        assert_eq!(set.metadata.annotations[REVISION], "5");
        assert_eq!(set.metadata.annotations[REVISION_HISTORY], "1,3");
        annotate(&deployment(&[]), &mut set, 4);
        assert_eq!(set.metadata.annotations[REVISION], "5");
        let long = append(&vec!["10"; 700].join(","), "11").unwrap();
        assert!(long.len() <= LONGEST_HISTORY && long.ends_with(",11"));
    }

    #[test]
    fn the_new_set_is_the_oldest_with_the_template() {
        let deployment = deployment(&[]);
        let set = |name: &str, created: &str, image: &str| {
            let mut set = new_set(&deployment, 1);
            set.metadata.name = Some(name.to_owned());
            set.metadata.creation_timestamp = Some(created.to_owned());
            set.spec.template.spec.hostname = image.to_owned();
            Arc::new(set)
        };
        let sets = vec![
            set("late", "2026-01-01T00:00:02Z", ""),
            set("first", "2026-01-01T00:00:01Z", ""),
            set("other", "", "x"),
        ];
        let sets = Sets::of(&deployment, sets);
        assert_eq!(sets.new.unwrap().metadata.name.as_deref(), Some("first"));
        assert_eq!(sets.old.len(), 2);
    }
}
