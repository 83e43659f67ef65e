use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Admission, Operation, Review};

/// `StorageObjectInUseProtection`: volumes, claims and VolumeAttributesClasses get a finalizer that protects them while
/// they are in use.
pub(crate) struct StorageObjectInUseProtection;

#[async_trait]
impl Admission for StorageObjectInUseProtection {
    fn name(&self) -> &'static str {
        "StorageObjectInUseProtection"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let finalizer = match review.request.at.resource.resource.as_str() {
            "persistentvolumes" if review.is_about("", "persistentvolumes") => "kubernetes.io/pv-protection",
            "persistentvolumeclaims" if review.is_about("", "persistentvolumeclaims") => "kubernetes.io/pvc-protection",
            "volumeattributesclasses" if review.is_about("storage.k8s.io", "volumeattributesclasses") => {
                "kubernetes.io/vac-protection"
            }
            _ => return Ok(()),
        };
        if let Some(object) = review.object_mut() {
            let mut finalizers = object.finalizers();
            if !finalizers.iter().any(|own| own == finalizer) {
                finalizers.push(finalizer.to_owned());
                object.set_finalizers(finalizers);
            }
        }
        Ok(())
    }
}
