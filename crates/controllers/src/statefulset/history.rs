//! The revisions that the pods of a StatefulSet are created from: the current one and the update.

use std::sync::Arc;

use coracle_api::apps_v1::{ControllerRevision, StatefulSet};
use coracle_api::core_v1::PodTemplateSpec;
use coracle_controller_runtime::{Pass, ReconcileError};
use coracle_meta::Resource;
use serde_json::Value;

use crate::hash::revision_hash;
use crate::revisions::{new_revision, next_number, renumber, template_patch};

/// The label of a revision with its hash.
const HASH: &str = "controller.kubernetes.io/hash";

/// A revision that pods are created from.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    pub(super) name: String,
    pub(super) template: PodTemplateSpec,
}

/// The two revisions of a set, and the number of hash collisions.
#[derive(Clone, Debug)]
pub(super) struct Revisions {
    /// The revision that was rolled out last.
    pub(super) current: Revision,
    /// The revision of the set's template.
    pub(super) update: Revision,
    pub(super) collision_count: i32,
}

/// How the update revision is obtained.
#[derive(Clone, Debug, PartialEq)]
enum Update<'a> {
    /// It is the latest one.
    Latest(&'a Arc<ControllerRevision>),
    /// It is an earlier one, which gets the next number (a rollback).
    Back(&'a Arc<ControllerRevision>),
    /// It does not exist yet.
    New,
}

/// Finds the two revisions; creates the update revision if it does not exist. `revisions` are sorted.
///
/// In Kubernetes: `getStatefulSetRevisions`.
pub(super) async fn revisions_of(
    pass: &Pass,
    set: &StatefulSet,
    revisions: &[Arc<ControllerRevision>],
) -> Result<Revisions, ReconcileError> {
    let data = template_patch(&set.spec.template);
    let next = next_number(revisions);
    let mut collision_count = set.status.collision_count.unwrap_or(0);
    let update = match update_of(revisions, &data) {
        Update::Latest(latest) => latest.name().to_owned(),
        Update::Back(earlier) => renumber(pass, earlier, next).await?.name().to_owned(),
        Update::New => create(pass, set, &data, next, &mut collision_count).await?,
    };
    let current = revisions.iter().find(|one| one.name() == set.status.current_revision);
    let update = Revision { name: update, template: set.spec.template.clone() };
    let current = match current {
        Some(current) if current.name() != update.name => Revision::read(current)?,
        _ => update.clone(),
    };
    Ok(Revisions { current, update, collision_count })
}

fn update_of<'a>(revisions: &'a [Arc<ControllerRevision>], data: &Value) -> Update<'a> {
    match revisions.iter().rfind(|one| one.data.as_ref() == Some(data)) {
        None => Update::New,
        Some(equal) if revisions.last().is_some_and(|last| Arc::ptr_eq(last, equal)) => Update::Latest(equal),
        Some(equal) => Update::Back(equal),
    }
}

/// Creates a revision, under another name if the first one is taken. Returns its name.
async fn create(
    pass: &Pass,
    set: &StatefulSet,
    data: &Value,
    number: i64,
    collision_count: &mut i32,
) -> Result<String, ReconcileError> {
    loop {
        let hash = revision_hash(data, Some(*collision_count));
        let mut revision = new_revision(set, &hash, number, data.clone());
        revision.metadata.labels.clone_from(&set.spec.template.metadata.labels);
        revision.metadata.labels.insert(HASH.to_owned(), hash);
        if let Some(created) = pass.create_if_missing(&revision).await? {
            return Ok(created.name().to_owned());
        }
        match pass.api::<ControllerRevision>().find(&revision.key()).await? {
            Some(existing) if existing.data.as_ref() == Some(data) => return Ok(existing.name().to_owned()),
            _ => *collision_count = collision_count.saturating_add(1),
        }
    }
}

impl Revision {
    fn read(revision: &ControllerRevision) -> Result<Self, ReconcileError> {
        let name = revision.name().to_owned();
        let template = revision.data.as_ref().and_then(|data| data.pointer("/spec/template")).cloned();
        match serde_json::from_value(template.unwrap_or_default()) {
            Ok(template) => Ok(Self { name, template }),
            Err(error) => Err(ReconcileError::Object(format!("revision {name:?} cannot be read: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn revision(name: &str, number: i64, data: Value) -> Arc<ControllerRevision> {
        let mut revision = ControllerRevision { revision: number, data: Some(data), ..Default::default() };
        revision.metadata.name = Some(name.to_owned());
        Arc::new(revision)
    }

    #[test]
    fn an_earlier_template_takes_its_revision_up_again() {
        let all = [revision("a", 1, json!("one")), revision("b", 2, json!("two"))];
        assert_eq!(update_of(&all, &json!("two")), Update::Latest(&all[1]));
        assert_eq!(update_of(&all, &json!("one")), Update::Back(&all[0]));
        assert_eq!(update_of(&all, &json!("three")), Update::New);
        assert_eq!(update_of(&[], &json!("one")), Update::New);
    }

    #[test]
    fn a_mangled_revision_is_reported() {
        assert!(Revision::read(&revision("a", 1, json!({"spec": {"template": 7}}))).is_err());
        let template = json!({"spec": {"template": {"$patch": "replace", "metadata": {"labels": {"a": "b"}}}}});
        let read = Revision::read(&revision("a", 1, template)).unwrap();
        assert_eq!(read.template.metadata.labels["a"], "b");
    }
}
