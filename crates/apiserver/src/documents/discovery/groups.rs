//! What both forms of the documents tell: groups and their versions in the order of discovery, kinds by their plurals.

use std::cmp::Ordering;
use std::sync::Arc;

use coracle_meta::GroupVersion;
use coracle_registry::{Kind, Kinds, Rank};
use coracle_schema::SubresourceRow;
use serde_json::Value;

/// A group with its versions, the preferred first.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) versions: Vec<String>,
}

/// A group that is being found: its versions, and the place of each if it has one.
struct Found<'k> {
    name: &'k str,
    versions: Vec<(Option<usize>, &'k str)>,
}

impl Found<'_> {
    /// The versions: by their places, then by what they say of themselves.
    fn sorted(mut self) -> Group {
        self.versions.sort_by(|(place, name), (other_place, other)| {
            let by_place = (place.is_none(), place).cmp(&(other_place.is_none(), other_place));
            by_place.then_with(|| compare_versions(name, other))
        });
        let versions = self.versions.into_iter().map(|(_, version)| version.to_owned()).collect();
        Group { name: self.name.to_owned(), versions }
    }
}

/// The groups in the order of discovery: those that have a place there, then the others by name.
pub(super) fn groups(kinds: &Kinds) -> Vec<Group> {
    let mut groups: Vec<Found<'_>> = Vec::new();
    for kind in kinds.iter() {
        let gvk = kind.gvk();
        let place = match kind.offers().rank {
            Rank::At(place) => Some(place),
            Rank::Last => None,
        };
        let at = groups.iter().position(|group| group.name == gvk.group).unwrap_or_else(|| {
            groups.push(Found { name: &gvk.group, versions: Vec::new() });
            groups.len() - 1
        });
        let versions = &mut groups[at].versions;
        match versions.iter_mut().find(|(_, version)| *version == gvk.version) {
            // The first of its resources gives a version its place.
            Some((known, _)) => *known = [*known, place].into_iter().flatten().min(),
            None => versions.push((place, &gvk.version)),
        }
    }
    groups.sort_by_key(|group| {
        let place = group.versions.iter().filter_map(|(place, _)| *place).min();
        (place.is_none(), place, group.name)
    });
    groups.into_iter().map(Found::sorted).collect()
}

/// Whether the kind has a place in discovery.
pub(super) fn is_ranked(kind: &Kind) -> bool {
    matches!(kind.offers().rank, Rank::At(_))
}

/// `v2` before `v1` before `v1beta1`; what is no such version comes last, by its letters.
/// In Kubernetes: `version.CompareKubeAwareVersionStrings`, the greater first.
fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (alpha 0, beta 1, stable 2), which counts most, then the major and the minor version.
fn parse_version(text: &str) -> Option<(u8, u64, u64)> {
    let rest = text.strip_prefix('v')?;
    let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let major = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (0, minor),
        (_, Some(minor)) => (1, minor),
        _ => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

/// The kinds of a version by their plurals.
pub(super) fn kinds_of<'a>(kinds: &'a Kinds, version: &GroupVersion) -> Vec<&'a Arc<Kind>> {
    let mut found: Vec<_> = kinds.iter().filter(|kind| kind.gvk().group_version() == *version).collect();
    found.sort_by(|a, b| a.row().plural.cmp(&b.row().plural));
    found
}

/// Adds the short names and the categories of a kind, if it has any.
pub(super) fn set_names(resource: &mut Value, kind: &Kind) {
    let row = kind.row();
    if !row.short_names.is_empty() {
        resource["shortNames"] = row.short_names.clone().into();
    }
    if !row.categories.is_empty() {
        resource["categories"] = row.categories.clone().into();
    }
}

/// Whether the kind of a subresource is of another group or version than its parent.
pub(super) fn is_foreign(kind: &Kind, subresource: &SubresourceRow) -> bool {
    subresource.foreign && subresource.kind.group_version() != kind.gvk().group_version()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = ["foo10", "v1beta1", "v3", "foo1", "v11alpha2", "v10", "v12alpha1", "v11beta2", "v2", "v1"];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(
            versions,
            ["v10", "v3", "v2", "v1", "v11beta2", "v1beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
        );
    }
}
