use std::collections::BTreeSet;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Admission, Attributes, Decision, Operation, Review};
use serde_json::Value;

use crate::refusal::forbidden;

/// `OwnerReferencesPermissionEnforcement`: a change of owner references needs permission to delete the object, and a
/// blocking owner reference needs permission to change the owner's finalizers.
pub(crate) struct OwnerReferencesPermissionEnforcement;

#[async_trait]
impl Admission for OwnerReferencesPermissionEnforcement {
    fn name(&self) -> &'static str {
        "OwnerReferencesPermissionEnforcement"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let Some(object) = review.object() else { return Ok(()) };
        let (new, old) = (owners(object), review.old.map_or(&[][..], owners));
        // A status update cannot change owners.
        let is_pod_status = review.is_about_any_part("", "pods") && review.request.at.subresource == "status";
        if is_pod_status || new == old {
            return Ok(());
        }
        if review.operation != Operation::Create
            && let Err(why) = may(review, "delete", &review.request.at).await?
        {
            return Err(forbidden(
                review,
                format!("cannot set an ownerRef on a resource you can't delete: {why}, <nil>"),
            ));
        }
        let blocking = newly_blocking(new, old);
        if blocking.is_empty() || may(review, "update", &anything()).await?.is_ok() {
            return Ok(());
        }
        for owner in blocking {
            let (version, kind) = (owner.text("apiVersion"), owner.text("kind"));
            let Some(at) = finalizers_of(review, owner) else {
                let what = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion";
                let why =
                    format!("{what} {version} Kind {kind}: no matches for kind \"{kind}\" in version \"{version}\"");
                return Err(forbidden(review, why));
            };
            if let Err(why) = may(review, "update", &at).await? {
                let what = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set \
                    finalizers on";
                return Err(forbidden(review, format!("{what}: {why}, <nil>")));
            }
        }
        Ok(())
    }
}

fn owners(object: &Object) -> &[Value] {
    object.list("metadata.ownerReferences")
}

/// Whether the user has a permission; the inner error is the reason why not.
async fn may(review: &Review<'_>, verb: &str, at: &ResourcePath) -> Result<Result<(), String>, Status> {
    let attributes = Attributes::of_resource(&review.request.user, verb, at.clone());
    Ok(match review.registry.authorize(&attributes).await? {
        Decision::Allow(_) => Ok(()),
        Decision::Deny(why) | Decision::NoOpinion(why) => Err(why),
    })
}

fn anything() -> ResourcePath {
    let at = ResourcePath::new(GroupVersionResource::new("*", "*", "*")).object("", "*");
    ResourcePath { subresource: "finalizers".to_owned(), ..at }
}

/// The path of the subresource `finalizers` of an owner; `None` for an unknown kind.
fn finalizers_of(review: &Review<'_>, owner: &Value) -> Option<ResourcePath> {
    let kinds = review.registry.kinds();
    let kind = kinds.kind(&GroupVersion::parse(owner.text("apiVersion"))?.kind(owner.text("kind")))?;
    let namespace = if kind.is_namespaced() { review.request.at.namespace.as_str() } else { "" };
    let at = ResourcePath::new(kind.gvr()).object(namespace, owner.text("name"));
    Some(ResourcePath { subresource: "finalizers".to_owned(), ..at })
}

/// The owners that are newly blocked by the object.
fn newly_blocking<'v>(new: &'v [Value], old: &[Value]) -> Vec<&'v Value> {
    let is_blocking = |owner: &&Value| owner.flag("blockOwnerDeletion");
    let before: BTreeSet<&str> = old.iter().filter(is_blocking).map(|owner| owner.text("uid")).collect();
    new.iter().filter(is_blocking).filter(|owner| !before.contains(owner.text("uid"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_owners_that_did_not_have_to_wait_before_count() {
        let owner = |uid: &str, blocks: bool| json!({"uid": uid, "blockOwnerDeletion": blocks});
        let new = [owner("a", true), owner("b", true), owner("c", false)];
        let old = [owner("a", true), owner("b", false)];
        let uids: Vec<_> = newly_blocking(&new, &old).iter().map(|owner| owner.text("uid")).collect();
        assert_eq!(uids, ["b"]);
    }
}
