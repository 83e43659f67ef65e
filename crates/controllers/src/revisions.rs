//! The history of an owner's template: one ControllerRevision for each version.
//!
//! In Kubernetes: `pkg/controller/history`.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::apps_v1::ControllerRevision;
use coracle_api::core_v1::PodTemplateSpec;
use coracle_client::DeleteParams;
use coracle_controller_runtime::ownership::controller_reference;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::Resource;
use serde_json::{Value, json};

/// The maximum length of an owner's name within the names of its revisions.
const LONGEST_PREFIX: usize = 223;

/// The data of a revision: a patch that restores the template.
pub(crate) fn template_patch(template: &PodTemplateSpec) -> Value {
    let mut template = json!(template);
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

/// A revision of `owner`, named by `hash`.
pub(crate) fn new_revision<O: Resource>(owner: &O, hash: &str, number: i64, data: Value) -> ControllerRevision {
    let name = owner.meta().name.as_deref().unwrap_or_default();
    let mut revision = ControllerRevision { data: Some(data), revision: number, ..ControllerRevision::default() };
    revision.metadata.name = Some(format!("{}-{hash}", &name[..name.len().min(LONGEST_PREFIX)]));
    revision.metadata.namespace.clone_from(&owner.meta().namespace);
    revision.metadata.annotations.clone_from(&owner.meta().annotations);
    revision.metadata.owner_references = vec![controller_reference(owner)];
    revision
}

/// Sorts revisions from the oldest to the newest: by number, then by age, then by name.
pub(crate) fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    let age = |one: &ControllerRevision| (one.metadata.creation_timestamp.clone(), one.metadata.name.clone());
    revisions.sort_by_key(|one| (one.revision, age(one)));
}

/// The number of the next revision.
pub(crate) fn next_number(revisions: &[Arc<ControllerRevision>]) -> i64 {
    revisions.iter().map(|revision| revision.revision).max().unwrap_or(0).saturating_add(1)
}

/// Sets the number of a revision, unless it has it.
pub(crate) async fn renumber(
    pass: &Pass,
    revision: &ControllerRevision,
    number: i64,
) -> Result<ControllerRevision, ReconcileError> {
    let written = pass.update(revision, |revision| revision.revision = number).await?;
    Ok(written.unwrap_or_else(|| revision.clone()))
}

/// Deletes the oldest revisions beyond `keep`, except those in use. `revisions` are sorted.
pub(crate) async fn trim(
    pass: &Pass,
    revisions: &[Arc<ControllerRevision>],
    in_use: &BTreeSet<String>,
    keep: usize,
) -> Result<(), ReconcileError> {
    for revision in surplus(revisions, in_use, keep) {
        pass.delete_if_there::<ControllerRevision>(&revision.key(), &DeleteParams::default()).await?;
    }
    Ok(())
}

fn surplus<'a>(
    revisions: &'a [Arc<ControllerRevision>],
    in_use: &BTreeSet<String>,
    keep: usize,
) -> Vec<&'a Arc<ControllerRevision>> {
    let is_unused =
        |one: &&Arc<ControllerRevision>| one.metadata.name.as_ref().is_none_or(|name| !in_use.contains(name));
    let mut unused: Vec<_> = revisions.iter().filter(is_unused).collect();
    unused.truncate(unused.len().saturating_sub(keep));
    unused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(name: &str, number: i64) -> Arc<ControllerRevision> {
        let mut revision = ControllerRevision { revision: number, ..ControllerRevision::default() };
        revision.metadata.name = Some(name.to_owned());
        Arc::new(revision)
    }

    #[test]
    fn the_oldest_unused_revisions_are_deleted_first() {
        let mut revisions = vec![revision("c", 3), revision("a", 1), revision("b", 2), revision("d", 4)];
        sort(&mut revisions);
        assert_eq!(next_number(&revisions), 5);
        let in_use = BTreeSet::from(["a".to_owned(), "d".to_owned()]);
        let names = |keep| -> Vec<_> {
            surplus(&revisions, &in_use, keep).iter().map(|one| one.metadata.name.clone().unwrap()).collect()
        };
        assert_eq!(names(0), ["b", "c"]);
        assert_eq!(names(1), ["b"]);
        assert!(names(2).is_empty());
    }

    #[test]
    fn a_revision_puts_the_whole_template_back() {
        let mut template = PodTemplateSpec::default();
        template.metadata.labels.insert("app".to_owned(), "web".to_owned());
        let patch = template_patch(&template);
        assert_eq!(patch["spec"]["template"]["$patch"], "replace");
        assert_eq!(patch["spec"]["template"]["metadata"]["labels"]["app"], "web");
    }
}
