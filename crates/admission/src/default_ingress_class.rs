use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::default_storage_class::newest_default;
use crate::lookup::list;

/// `DefaultIngressClass`: an Ingress without a class gets the default one.
pub(crate) struct DefaultIngressClass;

#[async_trait]
impl Admission for DefaultIngressClass {
    fn name(&self) -> &'static str {
        "DefaultIngressClass"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !review.is_about("networking.k8s.io", "ingresses") {
            return Ok(());
        }
        let Some(ingress) = review.object() else { return Ok(()) };
        if ingress.has("spec.ingressClassName") || ingress.annotation("kubernetes.io/ingress.class").is_some() {
            return Ok(());
        }
        let classes = GroupVersionResource::new("networking.k8s.io", "v1", "ingressclasses");
        let default = ["ingressclass.kubernetes.io/is-default-class"];
        let class = newest_default(list(review, classes, "").await?, &default);
        if let (Some(ingress), Some(class)) = (review.object_mut(), class) {
            ingress.set("spec.ingressClassName", class.name());
        }
        Ok(())
    }
}
