use async_trait::async_trait;
use coracle_meta::{Object, Status};
use coracle_registry::{Admission, Operation, Review, Verb};
use serde_json::json;

use crate::lookup::{core, get, own};
use crate::refusal::forbidden;

/// `NamespaceAutoProvision`: a missing namespace is created with the first object in it.
pub(crate) struct NamespaceAutoProvision;

#[async_trait]
impl Admission for NamespaceAutoProvision {
    fn name(&self) -> &'static str {
        "NamespaceAutoProvision"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let name = review.request.at.namespace.clone();
        if review.request.dry_run || name.is_empty() || review.is_about_any_part("", "namespaces") {
            return Ok(());
        }
        if get(review, core("namespaces"), "", &name).await?.is_some() {
            return Ok(());
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let Ok(namespace) = Object::from_value(namespace) else { return Ok(()) };
        let request = own(review.request.about(Verb::Create, core("namespaces"), "", ""));
        match Box::pin(review.registry.create(&request, namespace)).await {
            Ok(_) => Ok(()),
            // Another request was faster.
            Err(status) if status.is_already_exists() => Ok(()),
            Err(status) => Err(forbidden(review, status.message)),
        }
    }
}
