//! The subresources that change parts of a running pod: `ephemeralcontainers` and `resize`.

use coracle_meta::fields::{Fields, edit_spec};
use coracle_meta::{FieldError, Object};
use coracle_registry::{Request, View, restore, restore_metadata};
use coracle_release::Release;
use serde_json::Value;

use super::pod_resize::{keep_all_but_resources, wrong_resize};
use crate::field_checks::same;
use crate::pod_spec::{MIRROR, drop_disabled, wrong_annotation_change, wrong_pod};

/// `pods/ephemeralcontainers`: adds containers for debugging.
pub(crate) struct EphemeralContainers {
    pub(crate) release: Release,
}

impl View for EphemeralContainers {
    fn name(&self) -> &str {
        "ephemeralcontainers"
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, _request: &Request) {
        let containers = new.remove("spec.ephemeralContainers");
        restore(new, old, "spec");
        restore(new, old, "status");
        restore_metadata(new, old);
        new.set_or_remove("spec.ephemeralContainers", containers);
        drop_disabled(new, Some(old), "spec", &self.release);
    }

    /// In Kubernetes: `ValidatePodEphemeralContainersUpdate`.
    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        if old.annotation(MIRROR).is_some() {
            return vec![FieldError::forbidden("[]", "static pods do not support ephemeral containers")];
        }
        let path = "spec.ephemeralContainers";
        let by_name =
            |object: &Object, name: &str| object.list(path).iter().rfind(|own| own.text("name") == name).cloned();
        let mut wrong = wrong_pod(new.at("metadata"), new.at("spec"), &self.release);
        let annotations = "metadata.annotations";
        wrong.extend(wrong_annotation_change(new.at(annotations), old.at(annotations), annotations));
        for container in old.list(path) {
            let name = container.text("name");
            match by_name(new, name) {
                None => wrong.push(FieldError::forbidden(
                    path,
                    format!("existing ephemeral containers {name:?} may not be removed\n"),
                )),
                Some(kept) if !same(&kept, container) => wrong.push(FieldError::forbidden(
                    path,
                    format!("existing ephemeral containers {name:?} may not be changed\n"),
                )),
                Some(_) => {}
            }
        }
        wrong
    }

    fn only_fields(&self) -> Option<Vec<Vec<String>>> {
        Some(vec![vec!["spec".to_owned(), "ephemeralContainers".to_owned()]])
    }
}

/// `pods/resize`: changes the resources of running containers.
pub(crate) struct Resize {
    pub(crate) release: Release,
}

impl View for Resize {
    fn name(&self) -> &str {
        "resize"
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, _request: &Request) {
        let lists = ["containers", "initContainers"];
        let count = |object: &Object, list: &str| object.at("spec").list(list).len();
        // Validation refuses added and removed containers.
        if lists.iter().any(|list| count(new, list) != count(old, list)) {
            return;
        }
        let kept: Vec<(&str, Value)> = lists
            .into_iter()
            .map(|list| (list, keep_all_but_resources(new.at("spec").list(list), old.at("spec").list(list))))
            .collect();
        let of_pod = new.remove("spec.resources");
        restore(new, old, "spec");
        restore(new, old, "status");
        restore_metadata(new, old);
        if self.release.enabled("InPlacePodLevelResourcesVerticalScaling") {
            new.set_or_remove("spec.resources", of_pod);
        }
        edit_spec(new, |spec| {
            for (list, containers) in kept {
                if spec.has(list) {
                    spec.insert(list.to_owned(), containers);
                }
            }
        });
        drop_disabled(new, Some(old), "spec", &self.release);
    }

    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        wrong_resize(new, old, &self.release)
    }

    fn only_fields(&self) -> Option<Vec<Vec<String>>> {
        let path = |list: &str, field: &str| ["spec", list, "*", field].map(str::to_owned).to_vec();
        let mut fields = vec![
            path("containers", "resources"),
            path("containers", "resizePolicy"),
            path("initContainers", "resources"),
            path("initContainers", "resizePolicy"),
        ];
        if self.release.enabled("InPlacePodLevelResourcesVerticalScaling") {
            fields.push(["spec", "resources"].map(str::to_owned).to_vec());
        }
        Some(fields)
    }
}
