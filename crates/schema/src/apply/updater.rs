use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::conflict::Conflicts;
use super::field_set::field_set;
use super::filter::Filter;
use super::managers::{ManagedFieldsOperation, Manager, Managers, Owned};
use super::merge::merge;
use super::path::values_equal;
use super::place::Place;
use super::reconcile::reconcile;
use super::remove::remove;
use super::set::Set;

/// The versions of one kind: their schemas, and the conversion between them.
///
/// In Kubernetes: `merge.Converter` and the reset fields of a strategy.
pub trait Versions {
    /// A place in the kind's schema.
    type Place: Place;

    /// The place of the whole object in a version; `None` for a version that the kind does not have.
    fn place(&self, api_version: &str) -> Option<Self::Place>;

    /// The object in another version; `None` for a version that the kind does not have, or if it cannot be converted.
    /// An object that already has the version must be returned as borrowed.
    fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>>;

    /// Whether the schemas can change between two writes of an object, as those of custom kinds do.
    fn schema_may_change(&self) -> bool;

    /// The fields that clients of the endpoint may own, in a version.
    fn filter(&self, api_version: &str) -> Filter;
}

/// A change of an object.
pub(super) struct ObjectChange<'a> {
    pub(super) live: &'a Value,
    pub(super) new: &'a Value,
    /// The difference in the version of the request.
    pub(super) comparison: Comparison,
}

/// Removes changed and removed fields from their owners, also from owners in other versions.
///
/// `Err` if other managers own fields that only `force` would take.
fn disown<V: Versions>(
    versions: &V,
    changed: ObjectChange<'_>,
    writer: &Manager,
    version: &str,
    managers: &mut Managers,
    force: bool,
) -> Result<Comparison, Conflicts> {
    let mut comparisons: BTreeMap<String, Comparison> = BTreeMap::new();
    let ObjectChange { live: old, new, comparison } = changed;
    comparisons.insert(version.to_owned(), comparison);
    let (mut taken, mut unknown) = (Vec::new(), Vec::new());
    for (manager, owned) in managers.iter().filter(|(manager, _)| *manager != writer) {
        if !comparisons.contains_key(&owned.api_version) {
            let Some(comparison) = compare_in(versions, old, new, &owned.api_version) else {
                unknown.push(manager.clone());
                continue;
            };
            comparisons.insert(owned.api_version.clone(), comparison);
        }
        let comparison = &comparisons[&owned.api_version];
        let conflict = owned.set.intersection(&comparison.modified).union(&owned.set.intersection(&comparison.added));
        if !conflict.is_empty() {
            taken.push((manager.clone(), conflict));
        }
    }
    if !force && !taken.is_empty() {
        return Err(Conflicts { owners: taken });
    }
    for manager in unknown {
        managers.remove(&manager);
    }
    for (manager, conflict) in taken {
        if let Some(owned) = managers.get_mut(&manager) {
            owned.set = std::mem::take(&mut owned.set).difference(&conflict);
        }
    }
    for (_, owned) in managers.iter_mut().filter(|(manager, _)| *manager != writer) {
        if let Some(comparison) = comparisons.get(&owned.api_version) {
            owned.set = std::mem::take(&mut owned.set).difference(&comparison.removed);
        }
    }
    managers.retain(|_, owned| !owned.set.is_empty());
    Ok(comparisons.remove(version).unwrap_or_default())
}

/// The change of the object in one version, limited to the fields that clients of the endpoint may own.
pub(super) fn compare_in<V: Versions>(versions: &V, old: &Value, new: &Value, version: &str) -> Option<Comparison> {
    let place = versions.place(version)?;
    let (old, new) = (versions.convert(old, version)?, versions.convert(new, version)?);
    let comparison = compare(place, &old, &new);
    let filter = versions.filter(version);
    Some(Comparison {
        removed: filter.apply(comparison.removed),
        modified: filter.apply(comparison.modified),
        added: filter.apply(comparison.added),
    })
}

/// Removes the changed fields from their owners, and returns them: the writer owns them.
/// In Kubernetes: `merge.Updater.Update`.
pub(super) fn update<V: Versions>(
    versions: &V,
    changed: ObjectChange<'_>,
    version: &str,
    managers: &mut Managers,
) -> Set {
    reconcile_all(versions, managers);
    // No manager has this name, so every manager loses the changed fields, including earlier entries of the writer.
    let no_manager = Manager::new("", ManagedFieldsOperation::Apply, "", "");
    let comparison = disown(versions, changed, &no_manager, version, managers, true).unwrap_or_default();
    versions.filter(version).apply(comparison.added.union(&comparison.modified))
}

/// Who applies a configuration, in which version, and the schema of that version.
pub(super) struct Applier<'a, P> {
    pub(super) writer: &'a Manager,
    pub(super) version: &'a str,
    pub(super) place: P,
}

/// Merges an applied configuration. Returns the object, or `None` if it is unchanged. In Kubernetes:
/// `merge.Updater.Apply`.
pub(super) fn apply<V: Versions>(
    versions: &V,
    live: &Value,
    config: &Value,
    applier: &Applier<'_, V::Place>,
    managers: &mut Managers,
    force: bool,
) -> Result<Option<Value>, Conflicts> {
    let Applier { writer, version, place } = *applier;
    reconcile_all(versions, managers);
    let merged = merge(place, live, config);
    let last = managers.get(writer).cloned();
    let set = versions.filter(version).apply(field_set(place, config));
    let time = last.as_ref().and_then(|last| last.time.clone());
    managers.insert(writer.clone(), Owned { set, api_version: version.to_owned(), time });
    let new = match &last {
        Some(last) if !last.set.is_empty() => prune(versions, merged, managers, version, last),
        _ => merged,
    };
    let comparison = compare_in(versions, live, &new, version).unwrap_or_default();
    disown(versions, ObjectChange { live, new: &new, comparison }, writer, version, managers, force)?;
    Ok((!values_equal(live, &new)).then_some(new))
}

/// Removes the fields that the manager applied last time, does not apply now, and that no other manager owns.
fn prune<V: Versions>(versions: &V, merged: Value, managers: &Managers, version: &str, last: &Owned) -> Value {
    let pruned = versions.place(&last.api_version).and_then(|place| {
        let merged = versions.convert(&merged, &last.api_version)?;
        let pruned = remove(place, &merged, &last.set.with_declared_parents(Some(place)));
        let pruned = add_back_owned(versions, &merged, pruned, managers, &last.api_version);
        let pruned = add_back_dangling(versions, place, &merged, &pruned, last);
        Some(versions.convert(&pruned, version)?.into_owned())
    });
    pruned.unwrap_or(merged)
}

/// Adds back the fields that a manager owns, starting with the version of the pruning.
fn add_back_owned<V: Versions>(
    versions: &V,
    merged: &Value,
    mut pruned: Value,
    managers: &Managers,
    pruned_version: &str,
) -> Value {
    let mut owned_in: BTreeMap<&str, Set> = BTreeMap::new();
    for owned in managers.values() {
        let set = owned_in.entry(&owned.api_version).or_default();
        *set = std::mem::take(set).union(&owned.set);
    }
    let first = owned_in.remove(pruned_version).map(|set| (pruned_version, set));
    for (version, owned) in first.into_iter().chain(owned_in) {
        let kept = versions.place(version).and_then(|place| {
            let merged = versions.convert(merged, version)?;
            let in_version = versions.convert(&pruned, version)?;
            let place_of_set = Some(place);
            let pruned_set = field_set(place, &in_version).with_declared_parents(place_of_set);
            let kept = pruned_set.union(&owned.with_declared_parents(place_of_set));
            let dropped = field_set(place, &merged).with_declared_parents(place_of_set).difference(&kept);
            Some(remove(place, &merged, &dropped))
        });
        pruned = kept.unwrap_or(pruned);
    }
    pruned
}

/// Adds back the fields that the manager did not own last time.
fn add_back_dangling<V: Versions>(
    versions: &V,
    place: V::Place,
    merged: &Value,
    pruned: &Value,
    last: &Owned,
) -> Value {
    let Some(pruned) = versions.convert(pruned, &last.api_version) else { return merged.clone() };
    let pruned = field_set(place, &pruned).with_declared_parents(Some(place));
    let all = field_set(place, merged).with_declared_parents(Some(place));
    let gone = all.difference(&pruned).intersection(&last.set.with_declared_parents(Some(place)));
    remove(place, merged, &gone)
}

/// Adapts the sets to the schema; a set in an unknown version is dropped.
fn reconcile_all<V: Versions>(versions: &V, managers: &mut Managers) {
    managers.retain(|_, owned| match versions.place(&owned.api_version) {
        Some(place) => {
            owned.set = reconcile(place, std::mem::take(&mut owned.set));
            true
        }
        None => false,
    });
}
