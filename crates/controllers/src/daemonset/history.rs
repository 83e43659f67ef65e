//! The revisions of a set's template: the current one, with its hash, and the older ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use coracle_api::apps_v1::{ControllerRevision, DaemonSet};
use coracle_api::core_v1::Pod;
use coracle_client::{DeleteParams, Patch};
use coracle_controller_runtime::{Pass, ReconcileError, unless_gone};
use coracle_meta::Resource;
use serde_json::json;

use super::template::HASH_LABEL;
use crate::hash::template_hash;
use crate::revisions::{new_revision, next_number, renumber, sort, template_patch};

/// A set's revisions.
pub(super) struct History {
    /// The hash of the current template, which the pods carry as a label.
    pub(super) hash: String,
    /// The other revisions, from the oldest to the newest.
    pub(super) old: Vec<Arc<ControllerRevision>>,
}

/// Reconciles the revisions: each has its hash, and the current template has one, with the highest number.
///
/// In Kubernetes: `constructHistory`.
pub(super) async fn construct(
    pass: &Pass,
    set: &DaemonSet,
    revisions: Vec<Arc<ControllerRevision>>,
    pods: &[Arc<Pod>],
) -> Result<History, ReconcileError> {
    let data = template_patch(&set.spec.template);
    let (mut present, mut old) = (Vec::new(), Vec::new());
    for mut revision in revisions {
        if hash_of(&revision).is_empty() {
            let with_label = |revision: &mut ControllerRevision| {
                let name = revision.metadata.name.clone().unwrap_or_default();
                revision.metadata.labels.insert(HASH_LABEL.to_owned(), name);
            };
            let Some(labelled) = pass.update(revision.as_ref(), with_label).await? else { continue };
            revision = Arc::new(labelled);
        }
        if revision.data.as_ref() == Some(&data) { present.push(revision) } else { old.push(revision) }
    }
    sort(&mut old);
    sort(&mut present);
    let number = next_number(&old);
    let hash = match present.pop() {
        None => create(pass, set, number).await?,
        Some(newest) => {
            drop_twins(pass, &newest, &present, pods).await?;
            if newest.revision < number {
                renumber(pass, &newest, number).await?;
            }
            hash_of(&newest).to_owned()
        }
    };
    Ok(History { hash, old })
}

fn hash_of(revision: &ControllerRevision) -> &str {
    revision.metadata.labels.get(HASH_LABEL).map(String::as_str).unwrap_or_default()
}

/// Creates the revision of the current template; returns its hash. In Kubernetes: `snapshot`.
async fn create(pass: &Pass, set: &DaemonSet, number: i64) -> Result<String, ReconcileError> {
    let collisions = set.status.collision_count;
    let hash = template_hash(&set.spec.template, collisions.map(i64::from));
    let data = template_patch(&set.spec.template);
    let mut revision = new_revision(set, &hash, number, data.clone());
    revision.metadata.labels.clone_from(&set.spec.template.metadata.labels);
    revision.metadata.labels.insert(HASH_LABEL.to_owned(), hash.clone());
    if pass.create_if_missing(&revision).await?.is_some() {
        return Ok(hash);
    }
    let key = revision.key();
    let existing = pass.api::<ControllerRevision>().get(&key).await?;
    if existing.data == Some(data) {
        return Ok(hash_of(&existing).to_owned());
    }
    // Hash collision with another template: the next pass hashes with a higher collision count.
    let mut fresh = pass.api::<DaemonSet>().get(&set.key()).await?;
    if fresh.status.collision_count == collisions {
        fresh.status.collision_count = Some(collisions.unwrap_or(0).wrapping_add(1));
        pass.api::<DaemonSet>().update_status(&fresh).await?;
    }
    Err(ReconcileError::Object(format!("the revision {key} is of another template")))
}

/// Of several revisions of one template one is kept; the pods of the others are relabelled to it.
async fn drop_twins(
    pass: &Pass,
    kept: &ControllerRevision,
    twins: &[Arc<ControllerRevision>],
    pods: &[Arc<Pod>],
) -> Result<(), ReconcileError> {
    if twins.is_empty() {
        return Ok(());
    }
    for pod in pods.iter().filter(|pod| pod.metadata.labels.get(HASH_LABEL).is_none_or(|hash| hash != hash_of(kept))) {
        let patch = json!({"metadata": {"labels": {HASH_LABEL: hash_of(kept)}}});
        unless_gone(pass.api::<Pod>().patch(&pod.key(), &Patch::Merge(patch)).await)?;
    }
    for twin in twins {
        pass.delete_if_there::<ControllerRevision>(&twin.key(), &DeleteParams::default()).await?;
    }
    Ok(())
}

/// Deletes the oldest revisions beyond the limit, except those that a pod uses.
pub(super) async fn clean_up(
    pass: &Pass,
    set: &DaemonSet,
    old: &[Arc<ControllerRevision>],
    pods: &[Arc<Pod>],
) -> Result<(), ReconcileError> {
    let keep = usize::try_from(set.spec.revision_history_limit.unwrap_or(10)).unwrap_or(0);
    let live: BTreeSet<_> = pods.iter().filter_map(|pod| pod.metadata.labels.get(HASH_LABEL)).collect();
    let unused = old.iter().filter(|revision| !live.contains(&hash_of(revision).to_owned()));
    for revision in unused.take(old.len().saturating_sub(keep)) {
        pass.delete_if_there::<ControllerRevision>(&revision.key(), &DeleteParams::default()).await?;
    }
    Ok(())
}
