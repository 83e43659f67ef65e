//! `NodeRestriction`: a node can only write its own objects, and nothing that would give it access to others.
//!
//! In Kubernetes: `plugin/pkg/admission/noderestriction`.
//! Unlike Kubernetes: for the audiences of a pod's volumes, in-tree volumes do not count as those of their CSI drivers.

mod certificate_requests;
mod nodes;
mod pods;
mod tokens;

use async_trait::async_trait;
use coracle_certificates::common_name;
use coracle_meta::{Object, Status};
use coracle_registry::{Admission, Operation, Review, User};
use serde_json::Value;

use crate::certificates::read_subject;
use crate::refusal::forbidden;

/// `NodeRestriction`: see the module.
pub(crate) struct NodeRestriction;

#[async_trait]
impl Admission for NodeRestriction {
    fn name(&self) -> &'static str {
        "NodeRestriction"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let Some(node) = node_of(&review.request.user) else { return Ok(()) };
        if node.is_empty() {
            let why = format!("could not determine node from user {:?}", review.request.user.name);
            return Err(forbidden(review, why));
        }
        let at = &review.request.at;
        let part = at.subresource.as_str();
        let checked = match (at.resource.group.as_str(), at.resource.resource.as_str(), part) {
            ("", "pods", "") => pods::check(review, node).await?,
            ("", "pods", "status") => pods::check_status(review, node),
            ("", "pods", "eviction") => pods::check_eviction(review, node).await?,
            ("", "pods", _) => {
                Err(format!("unexpected pod subresource {part:?}, only 'status' and 'eviction' are allowed"))
            }
            ("", "nodes", _) => nodes::check(review, node),
            ("", "persistentvolumeclaims", "status") => check_claim(review, node),
            ("", "persistentvolumeclaims", _) => Err("may only update PVC status".to_owned()),
            ("", "serviceaccounts", "token") => tokens::check(review, node).await?,
            ("coordination.k8s.io", "leases", _) => check_lease(review, node),
            ("storage.k8s.io", "csinodes", _) if name(review) != node => {
                Err("can only access CSINode with the same name as the requesting node".to_owned())
            }
            ("storage.k8s.io", "csinodes", "status") => Err("CSIVolumeHealth feature gate is disabled".to_owned()),
            ("resource.k8s.io", "resourceslices", _) => check_slice(review, node),
            ("certificates.k8s.io", "certificatesigningrequests", _) => check_certificate(review, node),
            ("certificates.k8s.io", "podcertificaterequests", _) => certificate_requests::check(review, node).await?,
            _ => Ok(()),
        };
        checked.map_err(|why| forbidden(review, why))
    }
}

/// The result of a check; the error is the reason of a refusal.
type Checked = Result<(), String>;

/// The node name of a user. In Kubernetes: `nodeidentifier.NodeIdentity`.
fn node_of(user: &User) -> Option<&str> {
    let name = user.name.strip_prefix("system:node:")?;
    user.is_in("system:nodes").then_some(name)
}

/// The name of the object of the request.
fn name<'r>(review: &'r Review<'_>) -> &'r str {
    match review.request.at.name.as_str() {
        "" => review.object().map_or("", Object::name),
        name => name,
    }
}

fn check_claim(review: &Review<'_>, node: &str) -> Checked {
    let (Operation::Update, Some(new), Some(old)) = (review.operation, review.object(), review.old) else {
        return Err(format!("unexpected operation {:?}", review.operation.as_str()));
    };
    let compared = |object: &Object| {
        let mut value = object.to_value();
        let tree = |value: &mut Value, part: &str, fields: &[&str]| {
            if let Some(tree) = value.get_mut(part).and_then(Value::as_object_mut) {
                fields.iter().for_each(|field| {
                    tree.remove(*field);
                });
            }
        };
        tree(&mut value, "metadata", &["resourceVersion", "managedFields"]);
        let own = ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"];
        tree(&mut value, "status", &own);
        value
    };
    if compared(new) == compared(old) {
        return Ok(());
    }
    Err(format!("node {node:?} is not allowed to update fields other than status.quantity and status.conditions"))
}

fn check_lease(review: &Review<'_>, node: &str) -> Checked {
    if review.request.at.namespace != "kube-node-lease" {
        return Err("can only access leases in the \"kube-node-lease\" system namespace".to_owned());
    }
    if name(review) != node {
        return Err("can only access node lease with the same name as the requesting node".to_owned());
    }
    Ok(())
}

fn check_slice(review: &Review<'_>, node: &str) -> Checked {
    let (slice, verb) = match review.operation {
        Operation::Create => (review.object(), "create"),
        Operation::Delete => (review.old, "delete"),
        _ => return Ok(()),
    };
    if slice.is_some_and(|slice| slice.text("spec.nodeName") == node) {
        return Ok(());
    }
    Err(format!("can only {verb} ResourceSlice with the same NodeName as the requesting node"))
}

fn check_certificate(review: &Review<'_>, node: &str) -> Checked {
    let signers = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
    let Some(request) = review.object().filter(|_| review.operation == Operation::Create) else { return Ok(()) };
    if !signers.contains(&request.text("spec.signerName")) {
        return Ok(());
    }
    let name =
        read_subject(request.text("spec.request"), common_name).map_err(|why| format!("unable to parse csr: {why}"))?;
    if name == format!("system:node:{node}") {
        return Ok(());
    }
    Err(format!("can only create a node CSR with CN=system:node:{node}"))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    #[test]
    fn a_node_is_a_user_with_the_nodes_group_and_a_node_name() {
        assert_eq!(node_of(&User::new("system:node:a", ["system:nodes"])), Some("a"));
        assert_eq!(node_of(&User::new("system:node:", ["system:nodes"])), Some(""));
        assert_eq!(node_of(&User::new("system:node:a", ["devs"])), None);
        assert_eq!(node_of(&User::new("ann", ["system:nodes"])), None);
    }

    #[test]
    fn the_common_name_of_a_request_is_found() {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "system:node:a");
        let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(read_subject(&STANDARD.encode(request.pem().unwrap()), common_name), Ok("system:node:a".to_owned()));
        assert!(read_subject("bm8=", common_name).is_err());
    }
}
