//! Volumes of a pod. In Kubernetes: `ValidateVolumes`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use super::mounts::Volumes;
use super::volume_sources::wrong_sources;
use crate::field_checks::{Wrong, each_invalid};

/// The valid volumes, and the errors of the others. `metadata` is the pod's, `None` for a template.
pub(super) fn volumes<'s>(spec: &'s Value, metadata: Option<&Value>, path: &str) -> (Volumes<'s>, Wrong) {
    let all = spec.list("volumes");
    let pod = metadata.map_or("", |metadata| metadata.text("name"));
    let made_claims: BTreeSet<String> = all
        .iter()
        .filter(|volume| !pod.is_empty() && volume.has("ephemeral"))
        .map(|volume| format!("{pod}-{}", volume.text("name")))
        .collect();
    let mut fine = Volumes::new();
    let mut wrong = Wrong::new();
    for (at, volume) in all.iter().enumerate() {
        let path = format!("{path}.volumes[{at}]");
        let name = volume.text("name");
        let mut own = wrong_sources(volume, pod, metadata.is_some(), &path);
        if name.is_empty() {
            own.push(FieldError::required(format!("{path}.name"), ""));
        } else {
            own.extend(each_invalid(&format!("{path}.name"), name, names::dns1123_label(name)));
        }
        if fine.contains_key(name) {
            own.push(FieldError::duplicate(format!("{path}.name"), name));
        }
        if own.is_empty() {
            fine.insert(name, volume);
        }
        wrong.extend(own);
        let claim = volume.text("persistentVolumeClaim.claimName");
        if made_claims.contains(claim) {
            let what = "must not reference a PVC that gets created for an ephemeral volume";
            wrong.push(FieldError::invalid(format!("{path}.persistentVolumeClaim.claimName"), claim, what));
        }
    }
    (fine, wrong)
}
