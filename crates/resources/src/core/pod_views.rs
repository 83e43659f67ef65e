//! The subresources of a pod through which parts of a running pod change: `ephemeralcontainers` and `resize`.

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object};
use coracle_registry::{Request, View, restore, restore_metadata};
use serde_json::Value;

use super::pod_validation::wrong_pod;

/// `pods/ephemeralcontainers`: adds containers to look around in.
pub(crate) struct EphemeralContainers;

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
    }

    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let path = "spec.ephemeralContainers";
        let by_name = |object: &Object, name: &str| {
            object.list(path).iter().find(|container| container.text("name") == name).cloned()
        };
        let mut wrong = wrong_pod(new);
        for container in old.list(path) {
            let name = container.text("name");
            match by_name(new, name) {
                None => wrong.push(FieldError::forbidden(
                    path,
                    format!("existing ephemeral containers {name:?} may not be removed\n"),
                )),
                Some(kept) if kept != *container => wrong.push(FieldError::forbidden(
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
pub(crate) struct Resize;

impl View for Resize {
    fn name(&self) -> &str {
        "resize"
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, _request: &Request) {
        let lists = ["containers", "initContainers"];
        let names = |object: &Object, list: &str| -> Vec<String> {
            object.at("spec").list(list).iter().map(|container| container.text("name").to_owned()).collect()
        };
        // Containers that were added, removed or renamed are left for validation to refuse.
        if lists.iter().any(|list| names(new, list) != names(old, list)) {
            return;
        }
        let wanted = new.at("spec").clone();
        restore(new, old, "spec");
        restore(new, old, "status");
        restore_metadata(new, old);
        edit_spec(new, |spec| {
            for list in lists {
                let mut containers = wanted.list(list).iter();
                spec.each_in(list, |container| {
                    let wanted = containers.next().unwrap_or(&Value::Null);
                    for field in ["resources", "resizePolicy"] {
                        match wanted.at(field) {
                            Value::Null => drop(container.remove(field)),
                            value => drop(container.insert(field.to_owned(), value.clone())),
                        }
                    }
                });
            }
        });
    }

    fn validate_update(&self, new: &Object, old: &Object) -> Vec<FieldError> {
        let mut wrong = wrong_pod(new);
        if coracle_api::pod_resources::quality_of_service(new) != coracle_api::pod_resources::quality_of_service(old) {
            // What the pod's status says is quoted, which is still the class before.
            wrong.push(FieldError::invalid(
                "spec",
                new.text("status.qosClass"),
                "Pod QOS Class may not change as a result of resizing",
            ));
        }
        let mut unchanged = new.clone();
        for list in ["containers", "initContainers"] {
            let mut containers = old.at("spec").list(list).iter();
            edit_spec(&mut unchanged, |spec| {
                spec.each_in(list, |container| {
                    let before = containers.next().unwrap_or(&Value::Null);
                    for field in ["resources", "resizePolicy"] {
                        match before.at(field) {
                            Value::Null => drop(container.remove(field)),
                            value => drop(container.insert(field.to_owned(), value.clone())),
                        }
                    }
                });
            });
        }
        if unchanged.at("spec") != old.at("spec") {
            wrong.push(FieldError::forbidden("spec", "only cpu and memory resources are mutable"));
        }
        wrong
    }

    fn only_fields(&self) -> Option<Vec<Vec<String>>> {
        let path = |list: &str, field: &str| ["spec", list, "*", field].map(str::to_owned).to_vec();
        Some(vec![
            path("containers", "resources"),
            path("containers", "resizePolicy"),
            path("initContainers", "resources"),
            path("initContainers", "resizePolicy"),
        ])
    }
}
