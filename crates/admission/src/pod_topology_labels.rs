use async_trait::async_trait;
use coracle_meta::{Object, ObjectMeta, Status};
use coracle_registry::{Admission, Operation, Review};

use crate::lookup::{core, get_metadata};

/// `PodTopologyLabels`: a pod gets the zone and the region of its node as labels.
pub(crate) struct PodTopologyLabels;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

#[async_trait]
impl Admission for PodTopologyLabels {
    fn name(&self) -> &'static str {
        "PodTopologyLabels"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let is_binding = review.is_about_any_part("", "pods") && review.request.at.subresource == "binding";
        if !is_binding && !review.is_about("", "pods") && !review.is_about("", "bindings") {
            return Ok(());
        }
        let is_pod = review.is_about("", "pods");
        let node = review.object().map_or("", |object| {
            if is_pod {
                object.text("spec.nodeName")
            } else if object.text("target.kind") == "Node" {
                object.text("target.name")
            } else {
                // A target without a kind is bound all the same, and its labels are not copied.
                ""
            }
        });
        let node = node.to_owned();
        if node.is_empty() {
            return Ok(());
        }
        // A binding to a missing node is not refused here.
        let Some(node) = get_metadata(review, core("nodes"), "", &node).await? else { return Ok(()) };
        if let Some(object) = review.object_mut() {
            copy_labels(&node.metadata, object);
        }
        Ok(())
    }
}

fn copy_labels(node: &ObjectMeta, object: &mut Object) {
    for label in LABELS {
        if let Some(value) = node.labels.get(label) {
            object.set(&["metadata", "labels", label], value.as_str());
        }
    }
}
