use std::collections::BTreeSet;

use async_trait::async_trait;
use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object, Status};
use coracle_registry::{Admission, Operation, Review};
use serde_json::json;

use crate::refusal::forbidden;

/// `AlwaysPullImages`: a user without permission to pull an image cannot use one that is already on the node.
pub(crate) struct AlwaysPullImages;

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

#[async_trait]
impl Admission for AlwaysPullImages {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if !is_concerned(review) || review.object().is_some_and(|pod| wrong(pod).is_empty()) {
            return Ok(());
        }
        let Some(pod) = review.object_mut() else { return Ok(()) };
        edit_spec(pod, |spec| {
            for list in CONTAINERS {
                spec.each_in(list, |container| {
                    container.insert("imagePullPolicy".to_owned(), "Always".into());
                });
            }
            spec.each_in("volumes", |volume| {
                if let Some(image) = volume.object_in("image") {
                    image.insert("pullPolicy".to_owned(), "Always".into());
                }
            });
        });
        Ok(())
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !is_concerned(review) {
            return Ok(());
        }
        let wrong = review.object().map(wrong).unwrap_or_default();
        let refusals: Vec<_> = wrong.iter().map(|error| forbidden(review, error.message())).collect();
        match refusals.split_first() {
            None => Ok(()),
            Some((only, [])) => Err(only.clone()),
            Some((first, _)) => {
                let messages: Vec<_> = refusals.iter().map(|status| status.message.as_str()).collect();
                Err(Status { message: format!("[{}]", messages.join(", ")), ..first.clone() })
            }
        }
    }
}

/// Whether the request is for a pod with new images.
fn is_concerned(review: &Review<'_>) -> bool {
    if !review.is_about("", "pods") {
        return false;
    }
    match (review.object(), review.old) {
        (Some(pod), Some(old)) => !images(pod).is_subset(&images(old)),
        _ => true,
    }
}

fn images(pod: &Object) -> BTreeSet<&str> {
    let spec = pod.at("spec");
    CONTAINERS.iter().flat_map(|list| spec.list(list)).map(|container| container.text("image")).collect()
}

fn wrong(pod: &Object) -> Vec<FieldError> {
    let spec = pod.at("spec");
    let refused = |path: String, policy: &str| FieldError::not_supported(path, json!(policy), &["Always"]);
    let mut wrong = Vec::new();
    for list in CONTAINERS {
        for (at, container) in spec.list(list).iter().enumerate() {
            let policy = container.text("imagePullPolicy");
            if policy != "Always" {
                wrong.push(refused(format!("spec.{list}[{at}].imagePullPolicy"), policy));
            }
        }
    }
    for (at, volume) in spec.list("volumes").iter().enumerate() {
        let policy = volume.text("image.pullPolicy");
        if volume.has("image") && policy != "Always" {
            wrong.push(refused(format!("spec.volumes[{at}].image.pullPolicy"), policy));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_container_and_volume_has_to_pull() {
        let pod = json!({"spec": {
            "containers": [{"imagePullPolicy": "IfNotPresent"}], "initContainers": [{"imagePullPolicy": "Always"}],
            "volumes": [{"image": {"pullPolicy": "Never"}}, {"emptyDir": {}}]
        }});
        let messages: Vec<_> = wrong(&Object::from_value(pod).unwrap()).iter().map(FieldError::message).collect();
        let supported = r#"supported values: "Always""#;
        assert_eq!(
            messages,
            [
                format!(r#"spec.containers[0].imagePullPolicy: Unsupported value: "IfNotPresent": {supported}"#),
                format!(r#"spec.volumes[0].image.pullPolicy: Unsupported value: "Never": {supported}"#),
            ]
        );
    }
}
