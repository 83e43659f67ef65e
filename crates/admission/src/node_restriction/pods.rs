use coracle_api::pod_references::referenced;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupResource, Object, Status};
use coracle_registry::{Operation, Review};
use serde_json::Value;

use super::{Checked, name};
use crate::lookup::{core, get};

const MIRROR: &str = "kubernetes.io/config.mirror";

/// A node can create mirror pods of its own static pods, and delete its own pods.
pub(super) async fn check(review: &Review<'_>, node: &str) -> Result<Checked, Status> {
    match review.operation {
        Operation::Create => {
            let Some(pod) = review.object() else { return Ok(Ok(())) };
            let owner = match check_mirror(pod, node) {
                Ok(owner) => owner.text("uid").to_owned(),
                Err(why) => return Ok(Err(why)),
            };
            let Some(found) = get(review, core("nodes"), "", node).await? else {
                return Err(Status::not_found(&GroupResource::new("", "nodes"), node));
            };
            if owner != found.uid() {
                return Ok(Err(format!("node {node} UID mismatch: expected {owner} got {}", found.uid())));
            }
            Ok(match referenced(pod.at("spec")) {
                Some(what) => Err(format!("node {node:?} can not create pods that reference {what}")),
                None => Ok(()),
            })
        }
        Operation::Delete => {
            let is_own = review.old.is_some_and(|pod| pod.text("spec.nodeName") == node);
            let why = || format!("node {node:?} can only delete pods with spec.nodeName set to itself");
            Ok(if is_own { Ok(()) } else { Err(why()) })
        }
        other => {
            let what = format!("unexpected operation {:?}", other.as_str());
            Ok(Err(format!("{what}, node {node:?} can only create and delete mirror pods")))
        }
    }
}

/// The owner of a mirror pod, which is its node.
fn check_mirror<'p>(pod: &'p Object, node: &str) -> Result<&'p Value, String> {
    if pod.annotation(MIRROR).is_none() {
        return Err(format!("pod does not have {MIRROR:?} annotation, node {node:?} can only create mirror pods"));
    }
    let only = |what: &str| Err(format!("node {node:?} can only create pods with {what}"));
    if pod.text("spec.nodeName") != node {
        return only("spec.nodeName set to itself");
    }
    let owner = match pod.list("metadata.ownerReferences") {
        [owner] => owner,
        [] => return only("an owner reference set to itself"),
        _ => return only("a single owner reference set to itself"),
    };
    if (owner.text("apiVersion"), owner.text("kind"), owner.text("name")) != ("v1", "Node", node) {
        return only("an owner reference set to itself");
    }
    if !owner.flag("controller") {
        return only("a controller owner reference set to itself");
    }
    if owner.flag("blockOwnerDeletion") {
        return Err(format!("node {node:?} must not set blockOwnerDeletion on an owner reference"));
    }
    Ok(owner)
}

/// A node can only update the status of its own pods.
pub(super) fn check_status(review: &Review<'_>, node: &str) -> Checked {
    let (Operation::Update, Some(new), Some(old)) = (review.operation, review.object(), review.old) else {
        return Err(format!("unexpected operation {:?}", review.operation.as_str()));
    };
    if old.text("spec.nodeName") != node {
        return Err(format!("node {node:?} can only update pod status for pods with spec.nodeName set to itself"));
    }
    if new.labels() != old.labels() {
        return Err(format!("node {node:?} cannot update labels through pod status"));
    }
    if new.list("status.resourceClaimStatuses") != old.list("status.resourceClaimStatuses") {
        return Err(format!("node {node:?} cannot update resource claim statues"));
    }
    if new.at("status.extendedResourceClaimStatus") != old.at("status.extendedResourceClaimStatus") {
        return Err(format!("node {node:?} cannot update extended resource claim status"));
    }
    Ok(())
}

/// A node can evict its own pods.
pub(super) async fn check_eviction(review: &Review<'_>, node: &str) -> Result<Checked, Status> {
    if review.operation != Operation::Create {
        return Ok(Err(format!("unexpected operation {}", review.operation.as_str())));
    }
    let name = name(review);
    if name.is_empty() {
        return Ok(Err("could not determine pod from request data".to_owned()));
    }
    let Some(pod) = get(review, core("pods"), &review.request.at.namespace, name).await? else {
        return Err(Status::not_found(&GroupResource::new("", "pods"), name));
    };
    let is_own = pod.text("spec.nodeName") == node;
    let why = || format!("node {node} can only evict pods with spec.nodeName set to itself");
    Ok(if is_own { Ok(()) } else { Err(why()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(change: impl Fn(&mut Value)) -> Object {
        let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "u", "controller": true});
        let mut pod = json!({
            "metadata": {"annotations": {MIRROR: "x"}, "ownerReferences": [owner]}, "spec": {"nodeName": "a"}
        });
        change(&mut pod);
        Object::from_value(pod).unwrap()
    }

    #[test]
    fn a_node_makes_mirrors_of_its_own_static_pods_only() {
        assert_eq!(check_mirror(&pod(|_| {}), "a").map(|owner| owner.text("uid").to_owned()), Ok("u".to_owned()));
        let refused = |change: fn(&mut Value)| check_mirror(&pod(change), "a").unwrap_err();
        let annotation =
            "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"a\" can only create mirror pods";
        assert_eq!(refused(|pod| pod["metadata"]["annotations"] = json!({})), annotation);
        let place = "node \"a\" can only create pods with spec.nodeName set to itself";
        assert_eq!(refused(|pod| pod["spec"]["nodeName"] = json!("b")), place);
        let owner = "node \"a\" can only create pods with an owner reference set to itself";
        assert_eq!(refused(|pod| pod["metadata"]["ownerReferences"] = json!([])), owner);
        assert_eq!(refused(|pod| pod["metadata"]["ownerReferences"][0]["name"] = json!("b")), owner);
        let blocks = "node \"a\" must not set blockOwnerDeletion on an owner reference";
        assert_eq!(refused(|pod| pod["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(true)), blocks);
    }
}
