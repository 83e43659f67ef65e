//! Names of configurations that come from files. In Kubernetes: `ValidateStaticSuffix`, `WarningsForStaticSuffix`.

use coracle_meta::{FieldError, Object};
use coracle_release::Release;

use crate::field_checks::Wrong;

/// The end of the names.
const SUFFIX: &str = ".static.k8s.io";
/// The gate of configurations that come from files.
const GATE: &str = "ManifestBasedAdmissionControlConfig";

fn what() -> String {
    format!(
        "names ending with {SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed via the API"
    )
}

/// The error of the name of a new object.
pub(super) fn wrong_name(object: &Object, release: &Release) -> Wrong {
    if !release.enabled(GATE) || !object.name().ends_with(SUFFIX) {
        return Wrong::new();
    }
    vec![FieldError::invalid("metadata.name", object.name(), what())]
}

/// The warning about a name that is not refused.
pub(super) fn warnings(new: &Object, old: Option<&Object>, release: &Release) -> Vec<String> {
    let is_refused = old.is_none() && release.enabled(GATE);
    let is_reserved = release.has("StaticNamesAreReserved") && new.name().ends_with(SUFFIX);
    (is_reserved && !is_refused).then(|| format!("metadata.name: {}", what())).into_iter().collect()
}
