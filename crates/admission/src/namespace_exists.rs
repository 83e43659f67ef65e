use async_trait::async_trait;
use coracle_meta::{GroupResource, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::lookup::{core, get};

/// `NamespaceExists`: refuses writes in a missing namespace.
pub(crate) struct NamespaceExists;

#[async_trait]
impl Admission for NamespaceExists {
    fn name(&self) -> &'static str {
        "NamespaceExists"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation != Operation::Connect
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let name = review.request.at.namespace.as_str();
        if name.is_empty() || review.is_about_any_part("", "namespaces") {
            return Ok(());
        }
        match get(review, core("namespaces"), "", name).await? {
            Some(_) => Ok(()),
            None => Err(Status::not_found(&GroupResource::new("", "namespaces"), name)),
        }
    }
}
