use coracle_meta::Object;
use coracle_meta::fields::{Fields, FieldsMut, Tree, edit_spec};
use serde_json::{Value, json};

use super::profiles::{APP_ARMOR, app_armor_of};

/// Sets the AppArmor profiles of containers from the annotations that preceded the field. Returns the warnings.
/// In Kubernetes: `applyAppArmorVersionSkew`.
pub(crate) fn align_app_armor(pod: &mut Object) -> Vec<String> {
    let annotations = pod.at("metadata.annotations").clone();
    let is_used = annotations.as_object().into_iter().flatten().any(|(name, _)| name.starts_with(APP_ARMOR));
    if !is_used || pod.text("spec.os.name") == "windows" {
        return Vec::new();
    }
    let of_pod = pod.at("spec.securityContext.appArmorProfile").clone();
    let mut warnings = Vec::new();
    edit_spec(pod, |spec| {
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            spec.each_in(list, |container| warnings.extend(align(container, &annotations, &of_pod)));
        }
    });
    warnings
}

fn align(container: &mut Tree, annotations: &Value, of_pod: &Value) -> Option<String> {
    let name = format!("{APP_ARMOR}{}", container.text("name"));
    let annotation = annotations.field_named(&name).as_str()?;
    if container.has("securityContext.appArmorProfile") {
        return None;
    }
    // A profile that is invalid in the field stays in the annotation.
    let file_is_padded = annotation.trim() != annotation || annotation.starts_with("localhost/ ");
    let profile = app_armor_of(annotation).filter(|_| !file_is_padded);
    if profile.as_ref() == Some(of_pod) {
        return None;
    }
    if let Some(profile) = profile {
        container.fill("securityContext", json!({}));
        container.object_in("securityContext")?.insert("appArmorProfile".to_owned(), profile);
    }
    let what = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
    Some(format!("metadata.annotations[{name}]: {what}"))
}
