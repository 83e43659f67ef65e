//! Which objects belong to a controller: those that match its selector and have no other controller.
//!
//! ```text
//! claim_of (pure): has another controller -> ignore   mine, matching -> mine   mine, not matching -> release
//!                  no controller, matching -> adopt, after a live read of the owner
//! ```
//! In Kubernetes: `controller_ref_manager.go`.

use std::sync::Arc;

use coracle_client::{Api, Patch};
use coracle_meta::{LabelSelector, OwnerReference, Resource};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{Pass, ReconcileError};

/// The relation of an object to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The controller manages it already.
    Mine,
    /// It has no controller, and it matches.
    Adopt,
    /// The controller manages it, but it no longer matches.
    Release,
    /// It has another controller, or it does not match.
    Ignore,
}

/// Determines the relation of `child` to `owner`.
///
/// ```
/// use coracle_api::apps_v1::ReplicaSet;
/// use coracle_api::core_v1::Pod;
/// use coracle_controller_runtime::ownership::{Claim, claim_of, controller_reference};
/// use coracle_meta::LabelSelector;
///
/// let (mut set, mut pod) = (ReplicaSet::default(), Pod::default());
/// set.metadata.uid = Some("4711".to_owned());
/// pod.metadata.labels.insert("app".to_owned(), "web".to_owned());
/// let web = LabelSelector::parse("app=web").unwrap();
/// assert_eq!(claim_of(&set, &web, &pod), Claim::Adopt);
/// pod.metadata.owner_references = vec![controller_reference(&set)];
/// assert_eq!(claim_of(&set, &web, &pod), Claim::Mine);
/// assert_eq!(claim_of(&set, &LabelSelector::parse("app=db").unwrap(), &pod), Claim::Release);
/// ```
pub fn claim_of<O: Resource, C: Resource>(owner: &O, selector: &LabelSelector, child: &C) -> Claim {
    decide(owner, child, selector.matches(&child.meta().labels))
}

fn decide<O: Resource, C: Resource>(owner: &O, child: &C, matches: bool) -> Claim {
    let uid = owner.meta().uid.as_deref().unwrap_or("");
    match child.meta().controller() {
        Some(controller) if controller.uid != uid => Claim::Ignore,
        Some(_) if matches => Claim::Mine,
        // A terminating owner does not release: its dependents are garbage-collected with it.
        Some(_) if owner.meta().is_terminating() => Claim::Ignore,
        Some(_) => Claim::Release,
        None if !matches || owner.meta().is_terminating() || child.meta().is_terminating() => Claim::Ignore,
        None if child.meta().namespace != owner.meta().namespace => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// The objects among `candidates` that belong to `owner`: adopts matching objects without a controller, and releases
/// its own objects that no longer match.
///
/// Before the first adoption the owner is read live, because the cache may show an owner that is deleted or replaced
/// by another one of the same name; then this fails. Objects that are deleted meanwhile are left out.
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::api::core_v1::ConfigMap;
/// use coracle::meta::{LabelSelector, Resource};
/// use coracle::runtime::Api;
/// use coracle::runtime::controller::{Pass, ownership};
/// use serde_json::json;
///
/// let maps = Api::<ConfigMap>::of(&cluster.api_client());
/// let make = async |name: &str, app: &str| {
///     let map = json!({"metadata": {"namespace": "default", "name": name, "labels": {"app": app}}});
///     maps.create(&serde_json::from_value(map).unwrap()).await.unwrap()
/// };
/// let owner = make("owner", "none").await;
/// let candidates = vec![make("a", "web").await.into(), make("b", "db").await.into()];
/// let pass = Pass::new(cluster.api_client(), None);
/// let web = LabelSelector::parse("app=web").unwrap();
/// let mine = ownership::claim(&pass, &owner, &web, candidates).await.unwrap();
/// assert_eq!(mine.len(), 1);
/// let adopted = maps.get(&mine[0].key()).await.unwrap();
/// assert_eq!(adopted.metadata.controller().map(|owner| owner.name.as_str()), Some("owner"));
/// # }).unwrap();
/// ```
pub async fn claim<O: Resource, C: Resource>(
    pass: &Pass,
    owner: &O,
    selector: &LabelSelector,
    candidates: Vec<Arc<C>>,
) -> Result<Vec<Arc<C>>, ReconcileError> {
    claim_by(pass, owner, &Terms { selector, accepts: &|_| true, finalizer: None }, candidates).await
}

/// The conditions under which a controller claims objects.
pub struct Terms<'a, C> {
    /// Objects that match it may belong to the controller.
    pub selector: &'a LabelSelector,
    /// A further condition, for example that a pod has one of the names of a StatefulSet.
    pub accepts: &'a (dyn Fn(&C) -> bool + Send + Sync),
    /// The controller's finalizer on its objects: added with the adoption, and removed with the release.
    pub finalizer: Option<&'a str>,
}

impl<C> std::fmt::Debug for Terms<'_, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("selector", self.selector).field("finalizer", &self.finalizer).finish()
    }
}

/// As [`claim`], with further conditions. The writes run concurrently; the first error is returned after all have
/// ended.
pub async fn claim_by<O: Resource, C: Resource>(
    pass: &Pass,
    owner: &O,
    terms: &Terms<'_, C>,
    mut candidates: Vec<Arc<C>>,
) -> Result<Vec<Arc<C>>, ReconcileError> {
    let claims: Vec<_> = candidates.iter().map(|child| terms.claim_of(owner, child.as_ref())).collect();
    // Usually there is nothing to write.
    if claims.iter().all(|claim| matches!(claim, Claim::Mine | Claim::Ignore)) {
        let mut claims = claims.into_iter();
        candidates.retain(|_| claims.next() == Some(Claim::Mine));
        return Ok(candidates);
    }
    if claims.contains(&Claim::Adopt) {
        check_owner(pass, owner).await?;
    }
    let api = pass.api::<C>();
    let settle = async |(claim, child): (Claim, Arc<C>)| -> Result<Option<Arc<C>>, ReconcileError> {
        let is_mine = match claim {
            Claim::Mine => true,
            Claim::Ignore => false,
            Claim::Release => {
                release(&api, owner, child.as_ref(), terms.finalizer).await?;
                false
            }
            Claim::Adopt => adopt(&api, owner, child.as_ref(), terms.finalizer).await?,
        };
        Ok(is_mine.then_some(child))
    };
    let settled = join_all(claims.into_iter().zip(candidates).map(settle)).await;
    settled.into_iter().filter_map(Result::transpose).collect()
}

impl<C: Resource> Terms<'_, C> {
    fn claim_of<O: Resource>(&self, owner: &O, child: &C) -> Claim {
        decide(owner, child, self.selector.matches(&child.meta().labels) && (self.accepts)(child))
    }
}

/// The owner reference that makes `owner` the managing controller. In Kubernetes: `metav1.NewControllerRef`.
///
/// ```
/// use coracle_api::apps_v1::Deployment;
/// use coracle_controller_runtime::ownership::controller_reference;
///
/// let mut web = Deployment::default();
/// web.metadata.name = Some("web".to_owned());
/// let reference = controller_reference(&web);
/// assert_eq!((reference.api_version.as_str(), reference.kind.as_str()), ("apps/v1", "Deployment"));
/// assert_eq!(reference.controller, Some(true));
/// ```
pub fn controller_reference<O: Resource>(owner: &O) -> OwnerReference {
    OwnerReference {
        api_version: O::api_version(),
        kind: O::KIND.to_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
        ..OwnerReference::default()
    }
}

/// Reads the owner live: checks that it exists, has the same uid, and is not being deleted.
///
/// In Kubernetes: `RecheckDeletionTimestamp` over a live get.
async fn check_owner<O: Resource>(pass: &Pass, owner: &O) -> Result<(), ReconcileError> {
    let key = owner.key();
    let fresh: O = pass.api::<O>().get(&key).await?;
    if fresh.meta().uid != owner.meta().uid {
        return Err(ReconcileError::Object(format!(
            "original {} {key} is gone: got uid {}, wanted {}",
            O::KIND,
            fresh.meta().uid.as_deref().unwrap_or(""),
            owner.meta().uid.as_deref().unwrap_or(""),
        )));
    }
    match &fresh.meta().deletion_timestamp {
        Some(at) => Err(ReconcileError::Object(format!("{key} has just been deleted at {at}"))),
        None => Ok(()),
    }
}

/// Makes `owner` the controller of `child`; false if the child is deleted.
async fn adopt<O: Resource, C: Resource>(
    api: &Api<C>,
    owner: &O,
    child: &C,
    finalizer: Option<&str>,
) -> Result<bool, ReconcileError> {
    let reference = controller_reference(owner);
    let mut patch = json!({"metadata": {"ownerReferences": [reference], "uid": child.meta().uid}});
    if let Some(finalizer) = finalizer {
        patch["metadata"]["finalizers"] = json!([finalizer]);
    }
    match api.patch(&child.key(), &Patch::Strategic(patch)).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes `owner` from the owners of `child`.
async fn release<O: Resource, C: Resource>(
    api: &Api<C>,
    owner: &O,
    child: &C,
    finalizer: Option<&str>,
) -> Result<(), ReconcileError> {
    match api.patch(&child.key(), &Patch::Strategic(release_patch(owner, child, finalizer))).await {
        Ok(_) => Ok(()),
        // Invalid: the object has another uid, or no longer this owner.
        Err(error) if error.is_not_found() || error.is_invalid() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn release_patch<O: Resource, C: Resource>(owner: &O, child: &C, finalizer: Option<&str>) -> Value {
    let mut patch = json!({"metadata": {
        "ownerReferences": [{"$patch": "delete", "uid": owner.meta().uid}],
        "uid": child.meta().uid,
    }});
    if let Some(finalizer) = finalizer {
        patch["metadata"]["$deleteFromPrimitiveList/finalizers"] = json!([finalizer]);
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_api::apps_v1::ReplicaSet;
    use coracle_api::core_v1::Pod;

    fn owner() -> ReplicaSet {
        let mut owner = ReplicaSet::default();
        owner.metadata.name = Some("web".to_owned());
        owner.metadata.namespace = Some("default".to_owned());
        owner.metadata.uid = Some("u-web".to_owned());
        owner
    }

    fn pod(app: &str, controller: Option<&str>) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some("default".to_owned());
        pod.metadata.labels.insert("app".to_owned(), app.to_owned());
        pod.metadata.owner_references = controller
            .map(|uid| OwnerReference { uid: uid.to_owned(), controller: Some(true), ..OwnerReference::default() })
            .into_iter()
            .collect();
        pod
    }

    #[test]
    fn owned_objects_are_found_by_controller_reference() {
        let selector = LabelSelector::parse("app=web").unwrap();
        let cases = [
            (pod("web", Some("u-web")), Claim::Mine),
            (pod("other", Some("u-web")), Claim::Release),
            (pod("web", Some("u-else")), Claim::Ignore),
            (pod("web", None), Claim::Adopt),
            (pod("other", None), Claim::Ignore),
        ];
        for (pod, expected) in cases {
            assert_eq!(claim_of(&owner(), &selector, &pod), expected, "{pod:?}");
        }
    }

    #[test]
    fn an_owner_on_its_way_out_neither_adopts_nor_releases() {
        let selector = LabelSelector::parse("app=web").unwrap();
        let mut owner = owner();
        owner.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        assert_eq!(claim_of(&owner, &selector, &pod("web", None)), Claim::Ignore);
        assert_eq!(claim_of(&owner, &selector, &pod("other", Some("u-web"))), Claim::Ignore);
        assert_eq!(claim_of(&owner, &selector, &pod("web", Some("u-web"))), Claim::Mine);
    }

    #[test]
    fn a_terminating_object_is_not_adopted() {
        let selector = LabelSelector::parse("app=web").unwrap();
        let mut pod = pod("web", None);
        pod.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        assert_eq!(claim_of(&owner(), &selector, &pod), Claim::Ignore);
    }
}
