//! The ownership of `replicas` in writes through `/scale`.
//!
//! In Kubernetes: `managedfields.ScaleHandler`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::managers::{Managers, Owned, decode, encode};
use super::path::PathElement;
use super::set::Set;

/// The version of `Scale`.
const SCALE_VERSION: &str = "autoscaling/v1";

/// The path of the replicas in each version of a kind: `["spec", "replicas"]`. `None` for a version without `/scale`.
pub type ReplicasPaths = BTreeMap<String, Option<Vec<String>>>;

fn replicas_in_scale() -> Vec<PathElement> {
    vec![PathElement::field("spec"), PathElement::field("replicas")]
}

fn path(names: &[String]) -> Vec<PathElement> {
    names.iter().map(PathElement::field).collect()
}

fn set_of(path: &[PathElement]) -> Set {
    let mut set = Set::new();
    set.insert(path);
    set
}

/// The managed fields of an object's `Scale`: the entries of the owners of its replicas, in the version of `Scale`.
///
/// # Errors
/// The entries cannot be decoded.
pub fn to_scale(parent: Option<&Value>, paths: &ReplicasPaths) -> Result<Vec<Value>, String> {
    let mut managers = Managers::new();
    for (manager, owned) in decode(parent)? {
        let Some(Some(replicas)) = paths.get(&owned.api_version) else { continue };
        if owned.set.has(&path(replicas)) {
            let set = set_of(&replicas_in_scale());
            managers.insert(manager, Owned { set, api_version: SCALE_VERSION.to_owned(), time: owned.time });
        }
    }
    Ok(encode(&managers))
}

/// The managed fields of an object after a write of its `Scale`: changes of the ownership of the replicas are applied
/// to the object, in the object's version.
///
/// # Errors
/// The entries cannot be decoded.
pub fn to_parent(
    parent: Option<&Value>,
    scale: Option<&Value>,
    paths: &ReplicasPaths,
    parent_version: &str,
) -> Result<Vec<Value>, String> {
    let mut in_scale = decode(scale)?;
    let in_parent = decode(parent)?;
    let times: BTreeMap<_, _> =
        in_parent.iter().map(|(manager, owned)| (manager.clone(), owned.time.clone())).collect();
    let mut managers = Managers::new();
    for (manager, mut owned) in in_parent {
        let Some(replicas) = paths.get(&owned.api_version) else { continue };
        let replicas = replicas.as_deref().map(path).filter(|replicas| owned.set.has(replicas));
        if let Some(replicas) = replicas
            && in_scale.remove(&manager).is_none()
        {
            owned.set = owned.set.difference(&set_of(&replicas));
            if owned.set.is_empty() {
                continue;
            }
        }
        managers.insert(manager, owned);
    }
    let Some(Some(replicas)) = paths.get(parent_version) else { return Ok(encode(&managers)) };
    for (manager, owned) in in_scale {
        if !owned.set.has(&replicas_in_scale()) {
            continue;
        }
        // As in Kubernetes, an update is identified by the version of its entry in `Scale`: the manager's entry for the
        // rest of the object stays, and the time is lost.
        let time = times.get(&manager).cloned().flatten();
        let set = set_of(&path(replicas));
        managers.insert(manager, Owned { set, api_version: parent_version.to_owned(), time });
    }
    Ok(encode(&managers))
}
