//! The common part of both forms of discovery: groups and versions in the order of discovery, kinds by their plurals.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use coracle_meta::GroupVersion;
use coracle_registry::{Extensions, Kind, Kinds, Rank};
use coracle_schema::SubresourceRow;

/// A group with its versions, the preferred first.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) versions: Vec<String>,
}

/// The priorities of a group of custom kinds, and of its versions. In Kubernetes: `crdRegistrationController`.
const OF_CUSTOM_GROUPS: i64 = 1000;
const OF_CUSTOM_VERSIONS: i64 = 100;

/// A position: the smallest first. An entry without a fixed place comes after all others, by descending priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Place(usize),
    Priority(Reverse<i64>),
}

/// A group during collection: its position, and its versions with their positions.
struct Found<'k> {
    name: &'k str,
    standing: Standing,
    versions: Vec<(Standing, &'k str)>,
}

impl<'k> Found<'k> {
    /// Adds a version, which keeps its best position.
    fn add(&mut self, name: &'k str, standing: Standing) {
        match self.versions.iter_mut().find(|(_, version)| *version == name) {
            Some((known, _)) => *known = (*known).min(standing),
            None => self.versions.push((standing, name)),
        }
    }

    /// Sorts the versions: by position, then by name.
    fn sorted(mut self) -> Group {
        self.versions.sort_by(|(standing, name), (other_standing, other)| {
            standing.cmp(other_standing).then_with(|| compare_versions(name, other))
        });
        let versions = self.versions.into_iter().map(|(_, version)| version.to_owned()).collect();
        Group { name: self.name.to_owned(), versions }
    }
}

/// The groups in the order of discovery: those with a fixed place, then the others by priority and name.
pub(super) fn groups(kinds: &Kinds, extensions: &Extensions) -> Vec<Group> {
    let mut groups: Vec<Found<'_>> = Vec::new();
    for kind in kinds.iter() {
        let (of_group, of_version) = match kind.offers().rank {
            Rank::At(place) => (Standing::Place(place), Standing::Place(place)),
            Rank::Last => {
                (Standing::Priority(Reverse(OF_CUSTOM_GROUPS)), Standing::Priority(Reverse(OF_CUSTOM_VERSIONS)))
            }
        };
        let (group, version) = (&kind.gvk().group, &kind.gvk().version);
        group_of(&mut groups, group, of_group).add(version, of_version);
    }
    for extension in extensions.iter() {
        let priority = |priority| Standing::Priority(Reverse(priority));
        let (group, version) = (&extension.version.group, &extension.version.version);
        let found = group_of(&mut groups, group, priority(extension.group_priority));
        found.add(version, priority(extension.version_priority));
    }
    groups.sort_by_key(|group| (group.standing, group.name));
    groups.into_iter().map(Found::sorted).collect()
}

/// The group of a name, which is added if it is new. It keeps its best position.
fn group_of<'g, 'k>(groups: &'g mut Vec<Found<'k>>, name: &'k str, standing: Standing) -> &'g mut Found<'k> {
    let at = groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
        groups.push(Found { name, standing, versions: Vec::new() });
        groups.len() - 1
    });
    let found = &mut groups[at];
    found.standing = found.standing.min(standing);
    found
}

/// Whether the kind has a place in discovery.
pub(super) fn is_ranked(kind: &Kind) -> bool {
    matches!(kind.offers().rank, Rank::At(_))
}

/// `v2` before `v1` before `v1beta1`; other names come last, in alphabetical order.
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

/// Whether the kind of a subresource has another group or version than its parent.
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
