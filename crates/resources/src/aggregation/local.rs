use async_trait::async_trait;
use coracle_meta::{GroupVersion, Status};
use coracle_registry::{Admission, Operation, Review};

/// Refuses new APIServices for groups and versions that this API server serves, built-in or by a definition.
///
/// In Kubernetes: these APIServices exist already, because `autoregister` of kube-aggregator creates one without a
/// Service for each and restores it. Unlike Kubernetes: they are not listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalApiServices;

#[async_trait]
impl Admission for LocalApiServices {
    fn name(&self) -> &'static str {
        "LocalAPIServices"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let is_one = review.is_about("apiregistration.k8s.io", "apiservices");
        let Some(service) = review.object().filter(|_| is_one) else { return Ok(()) };
        let version = GroupVersion::new(service.text("spec.group"), service.text("spec.version"));
        if review.registry.kinds().serves(&version) {
            Err(Status::already_exists(&review.request.group_resource(), service.name()))
        } else {
            Ok(())
        }
    }
}
