use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Quantity, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::lookup::get;
use crate::refusal::forbidden;

/// `PersistentVolumeClaimResize`: a claim can grow only if its class allows expansion.
pub(crate) struct PersistentVolumeClaimResize;

#[async_trait]
impl Admission for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let (true, Some(new), Some(old)) = (review.is_about("", "persistentvolumeclaims"), review.object(), review.old)
        else {
            return Ok(());
        };
        if size(new) <= size(old) {
            return Ok(());
        }
        if old.text("status.phase") != "Bound" {
            return Err(forbidden(review, "Only bound persistent volume claims can be expanded"));
        }
        let name = class(new);
        let classes = GroupVersionResource::new("storage.k8s.io", "v1", "storageclasses");
        let allows = !name.is_empty()
            && name == class(old)
            && get(review, classes, "", name).await?.is_some_and(|class| class.flag("allowVolumeExpansion"));
        if allows {
            return Ok(());
        }
        Err(forbidden(
            review,
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
        ))
    }
}

fn size(claim: &Object) -> Quantity {
    let text = claim.at("spec.resources.requests.storage").as_str();
    text.and_then(|text| Quantity::parse(text).ok()).unwrap_or_default()
}

fn class(claim: &Object) -> &str {
    let annotation = claim.annotation("volume.beta.kubernetes.io/storage-class");
    annotation.unwrap_or_else(|| claim.text("spec.storageClassName"))
}
