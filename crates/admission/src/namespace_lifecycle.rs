use async_trait::async_trait;
use coracle_meta::{GroupResource, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::lookup::{core, get};
use crate::refusal::forbidden;

/// `NamespaceLifecycle`: refuses creates in a missing or terminating namespace, and deletions of system namespaces.
pub(crate) struct NamespaceLifecycle;

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

#[async_trait]
impl Admission for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let name = review.request.at.name.as_str();
        if review.is_about_any_part("", "namespaces") {
            if review.operation == Operation::Delete && IMMORTAL.contains(&name) {
                let namespaces = GroupResource::new("", "namespaces");
                return Err(Status::forbidden(&namespaces, name, "this namespace may not be deleted"));
            }
            return Ok(());
        }
        let namespace = review.request.at.namespace.clone();
        if namespace.is_empty() || review.operation == Operation::Delete || is_access_review(review) {
            return Ok(());
        }
        let Some(found) = get(review, core("namespaces"), "", &namespace).await? else {
            return Err(Status::not_found(&GroupResource::new("", "namespaces"), &namespace));
        };
        if review.operation == Operation::Create && found.text("status.phase") == "Terminating" {
            let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
            let cause = format!("namespace {namespace} is being terminated");
            return Err(forbidden(review, why).with_cause("NamespaceTerminating", cause, "metadata.namespace"));
        }
        Ok(())
    }
}

/// Whether the request is an access review, which must not reveal whether a namespace exists.
fn is_access_review(review: &Review<'_>) -> bool {
    review.is_about("authorization.k8s.io", "localsubjectaccessreviews")
}
