//! The feature gates of a version: `test/compatibility_lifecycle/reference/versioned_feature_list.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::Failure;

/// What each gate is in a minor version: `on beta`, `off ga locked`.
pub(crate) fn read(kubernetes: &Path, minor: u32) -> Result<BTreeMap<String, String>, Failure> {
    let file = kubernetes.join("test/compatibility_lifecycle/reference/versioned_feature_list.yaml");
    let (mut gates, mut name, mut spec) = (BTreeMap::new(), String::new(), BTreeMap::new());
    for line in std::fs::read_to_string(file)?.lines() {
        let line = line.trim_start();
        if let Some(next) = line.strip_prefix("- name: ") {
            next.clone_into(&mut name);
        } else if let Some((key, value)) = line.trim_start_matches("- ").split_once(": ") {
            spec.insert(key.to_owned(), value.trim_matches('"').to_owned());
            if key == "version" {
                let since = value.trim_matches('"').split('.').nth(1).ok_or("a version without a minor number")?;
                if since.parse::<u32>()? <= minor {
                    gates.insert(name.clone(), words(&spec));
                }
            }
        }
    }
    if gates.len() < 50 { Err("the list of feature gates is too short".into()) } else { Ok(gates) }
}

fn words(spec: &BTreeMap<String, String>) -> String {
    let is = |key: &str| spec.get(key).is_some_and(|value| value == "true");
    let stage = spec.get("preRelease").map_or("ga", String::as_str).to_lowercase();
    let stage = if stage.is_empty() { "ga" } else { &stage };
    format!("{} {stage}{}", if is("default") { "on" } else { "off" }, if is("lockToDefault") { " locked" } else { "" })
}
