use std::collections::BTreeSet;

use coracle_meta::FieldError;
use coracle_meta::fields::Fields;
use serde_json::Value;

use super::files::{wrong_downward_file, wrong_key_file};
use super::identity_sources::{paths_of, wrong_pod_certificate, wrong_trust_bundle};
use super::paths::{unreserved_path, wrong_mode};
use crate::field_checks::{Wrong, required};

const KINDS: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

/// The errors of a projected volume. Sources whose features are off are dropped before.
/// In Kubernetes: `validateProjectionSources`.
pub(super) fn wrong_projection(volume: &Value, path: &str) -> Wrong {
    let mut wrong = wrong_mode(volume, "defaultMode", path);
    let mut paths = BTreeSet::new();
    for (at, source) in volume.list("sources").iter().enumerate() {
        let source_path = format!("{path}.sources[{at}]");
        let mut count = 0;
        for kind in KINDS {
            let part = source.at(kind);
            if part.is_null() {
                continue;
            }
            count += 1;
            let part_path = format!("{source_path}.{kind}");
            if matches!(kind, "secret" | "configMap") {
                wrong.extend(required(part, "name", &part_path));
            }
            for (at, item) in part.list("items").iter().enumerate() {
                wrong.extend(match kind {
                    "downwardAPI" => wrong_downward_file(item, &part_path),
                    _ => wrong_key_file(item, &format!("{part_path}.items[{at}]")),
                });
                let own = item.text("path");
                if !own.is_empty() && !paths.insert(own) {
                    let shown = if kind == "downwardAPI" { own } else { part.text("name") };
                    wrong.push(FieldError::invalid(path, shown, "conflicting duplicate paths"));
                }
            }
            match kind {
                "serviceAccountToken" => wrong.extend(wrong_token(part, path, &part_path)),
                "clusterTrustBundle" => wrong.extend(wrong_trust_bundle(part, &part_path)),
                "podCertificate" => wrong.extend(wrong_pod_certificate(part, &part_path)),
                _ => {}
            }
            let repeated = paths_of(kind, part).into_iter().filter(|own| !paths.insert(own));
            wrong.extend(repeated.map(|own| FieldError::invalid(path, own, "conflicting duplicate paths")));
        }
        if count > 1 {
            wrong.push(FieldError::forbidden(&source_path, "may not specify more than 1 volume type per source"));
        }
    }
    wrong
}

/// `volume_path` is that of the volume, which Kubernetes reports for an invalid path.
fn wrong_token(token: &Value, volume_path: &str, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let seconds = token.int("expirationSeconds");
    let mut refuse = |what: &str| {
        wrong.push(FieldError::invalid(format!("{path}.expirationSeconds"), seconds, what));
    };
    if seconds < 600 {
        refuse("may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        refuse("may not specify a duration larger than 2^32 seconds");
    }
    let own = token.text("path");
    let path = format!("{volume_path}.path");
    if own.is_empty() {
        wrong.push(FieldError::required(path, ""));
    } else {
        wrong.extend(unreserved_path(own, &path));
    }
    wrong
}
