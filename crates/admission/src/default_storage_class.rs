use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::lookup::list;

/// `DefaultStorageClass`: a claim without a class gets the default one.
pub(crate) struct DefaultStorageClass;

#[async_trait]
impl Admission for DefaultStorageClass {
    fn name(&self) -> &'static str {
        "DefaultStorageClass"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("", "persistentvolumeclaims") {
            return Ok(());
        }
        let Some(claim) = review.object() else { return Ok(()) };
        let by_annotation = claim.annotation("volume.beta.kubernetes.io/storage-class").is_some();
        if by_annotation || claim.has("spec.storageClassName") {
            return Ok(());
        }
        let classes = GroupVersionResource::new("storage.k8s.io", "v1", "storageclasses");
        let class = newest_default(list(review, classes, "").await?, DEFAULT_STORAGE);
        if let (Some(claim), Some(class)) = (review.object_mut(), class) {
            claim.set("spec.storageClassName", class.name());
        }
        Ok(())
    }
}

const DEFAULT_STORAGE: &[&str] =
    &["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

/// The newest of the classes with one of the annotations; the first one by name among equally old ones.
pub(crate) fn newest_default(classes: Vec<Arc<Object>>, annotations: &[&str]) -> Option<Arc<Object>> {
    let is_default = |class: &Arc<Object>| annotations.iter().any(|name| class.annotation(name) == Some("true"));
    let age = |class: &Object| class.text("metadata.creationTimestamp").to_owned();
    let mut classes: Vec<Arc<Object>> = classes.into_iter().filter(is_default).collect();
    classes.sort_by(|left, right| age(right).cmp(&age(left)).then_with(|| left.name().cmp(right.name())));
    classes.into_iter().next()
}
