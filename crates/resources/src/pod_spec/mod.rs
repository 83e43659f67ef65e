//! The spec of a pod: in a pod, or in the template of a kind that creates pods.

mod amounts;
mod annotations;
mod app_armor;
mod claims;
mod containers;
mod disabled_fields;
mod downward;
mod environment;
mod files;
mod handlers;
mod host_names;
mod identity_sources;
mod iscsi;
mod label_keys;
mod mounts;
mod operating_system;
mod overlaps;
mod paths;
mod placement;
mod pod_amounts;
mod profiles;
mod projected;
mod restart;
mod security;
mod validation;
mod volume_sources;
mod volumes;
mod warnings;
mod windows;

pub(crate) use amounts::{
    is_native, may_overcommit, name_of_container, name_of_resource, whole_if_counted, wrong_overhead,
};
pub(crate) use annotations::wrong_annotation_change;
pub(crate) use app_armor::align_app_armor;
pub(crate) use disabled_fields::drop_disabled;
pub(crate) use label_keys::merge_label_keys;
pub(crate) use placement::{node_selector, wrong_tolerations};
pub(crate) use validation::{wrong_lasting_template, wrong_new_pod, wrong_pod, wrong_template};
pub(crate) use warnings::{template_warnings, warnings};

use coracle_meta::{Object, names};
use coracle_release::Release;
use serde_json::Value;

use coracle_meta::fields::Fields;

/// The annotation of mirror pods.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// All containers, with their paths below the spec.
pub(crate) fn all_containers<'s>(spec: &'s Value, path: &str) -> Vec<(String, &'s Value)> {
    let lists = ["initContainers", "containers", "ephemeralContainers"].into_iter();
    lists
        .flat_map(|list| {
            let items = spec.list(list).iter().enumerate();
            items.map(move |(at, container)| (format!("{list}[{at}]"), container))
        })
        .map(|(step, container)| (format!("{path}.{step}"), container))
        .collect()
}

/// The warnings about a kind with a template; for an update only if the spec changed.
pub(crate) fn warnings_of_kind(new: &Object, old: Option<&Object>, template: &str, release: &Release) -> Vec<String> {
    match old {
        Some(old) if old.at("spec") == new.at("spec") => Vec::new(),
        _ => template_warnings(new.at(template), template, release),
    }
}

/// The same for a kind whose name becomes part of the names of pods, and of their hosts.
pub(crate) fn warnings_of_named_kind(
    new: &Object,
    old: Option<&Object>,
    template: &str,
    release: &Release,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.is_none() {
        warnings.extend(name_warning(new.name(), "Pod names and hostnames"));
    }
    warnings.extend(warnings_of_kind(new, old, template, release));
    warnings
}

/// The warning about a name that is invalid for some of its uses.
pub(crate) fn name_warning(name: &str, used_in: &str) -> Option<String> {
    let wrong = names::dns1123_label(name);
    (!wrong.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        )
    })
}
