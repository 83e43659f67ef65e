use std::collections::{BTreeMap, BTreeSet, btree_map};

use super::path::{Path, PathElement, path_text};
use super::place::Place;

/// A set of fields, as a tree. In Kubernetes: `fieldpath.Set`.
///
/// Invariant: no child is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// The fields at this place that are in the set.
    pub(super) members: BTreeSet<PathElement>,
    /// The sets below the fields at this place, whether or not these are members themselves.
    pub(super) children: BTreeMap<PathElement, Set>,
}

impl Set {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A set of fields given by the names on the way to them.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| PathElement::field(*name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a field, but not its parents. The empty path, the whole object, is nobody's and is ignored.
    pub fn insert(&mut self, path: &Path) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut set = self;
        for step in parents {
            if !set.children.contains_key(step) {
                set.children.insert(step.clone(), Self::default());
            }
            set = set.children.get_mut(step).expect("it was there or has just been put there");
        }
        set.members.insert(last.clone());
    }

    /// Whether there is nothing in the set.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Whether a field is in the set.
    pub fn has(&self, path: &Path) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let set = parents.iter().try_fold(self, |set, step| set.children.get(step));
        set.is_some_and(|set| set.members.contains(last))
    }

    /// Whether a field at this place is in the set.
    pub fn has_member(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    /// What the set holds below a field, if it holds anything there.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.children.get(element).filter(|set| !set.is_empty())
    }

    /// The fields of either set.
    pub fn union(mut self, other: &Self) -> Self {
        self.add(other);
        self
    }

    fn add(&mut self, other: &Self) {
        for member in &other.members {
            if !self.members.contains(member) {
                self.members.insert(member.clone());
            }
        }
        for (element, child) in &other.children {
            match self.children.get_mut(element) {
                Some(own) => own.add(child),
                None => {
                    self.children.insert(element.clone(), child.clone());
                }
            }
        }
    }

    /// The fields of both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self.children.iter().filter_map(|(element, child)| {
            let both = child.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self { members, children: children.collect() }
    }

    /// The fields of this set that are not in the other; what lies below a field of the other stays.
    pub fn difference(mut self, other: &Self) -> Self {
        self.members.retain(|member| !other.members.contains(member));
        self.children = retain_children(self.children, |element, child| match other.children.get(element) {
            Some(theirs) => child.difference(theirs),
            None => child,
        });
        self
    }

    /// The fields of this set that are neither in the other nor below a field of it.
    pub fn recursive_difference(mut self, other: &Self) -> Self {
        self.members.retain(|member| !other.members.contains(member));
        self.children = retain_children(self.children, |element, child| {
            if other.members.contains(element) {
                return Self::new();
            }
            match other.children.get(element) {
                Some(theirs) => child.recursive_difference(theirs),
                None => child,
            }
        });
        self
    }

    /// The fields that have none of their own fields in the set.
    pub fn leaves(&self) -> Self {
        let members = self.members.iter().filter(|member| !self.children.contains_key(member)).cloned().collect();
        let children = self.children.iter().map(|(element, child)| (element.clone(), child.leaves()));
        Self { members, children: children.collect() }
    }

    /// The set with the declared fields of structs on the way to its fields, which are not tracked otherwise.
    pub fn with_declared_parents<P: Place>(&self, place: Option<P>) -> Self {
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (element, child) in &self.children {
            let declared = match element {
                PathElement::Field(name) => place.and_then(|place| place.field(name)),
                _ => None,
            };
            if declared.is_some() {
                members.insert(element.clone());
            }
            let below = match element {
                PathElement::Field(_) => declared.or_else(|| place.and_then(Place::entry)),
                _ => place.and_then(Place::item),
            };
            children.insert(element.clone(), child.with_declared_parents(below));
        }
        Self { members, children }
    }

    /// Calls `visit` for each field: those at one place first, then what lies below them.
    pub fn for_each(&self, mut visit: impl FnMut(&Path)) {
        self.walk(&mut Vec::new(), &mut visit);
    }

    fn walk(&self, path: &mut Vec<PathElement>, visit: &mut impl FnMut(&Path)) {
        for member in &self.members {
            path.push(member.clone());
            visit(path);
            path.pop();
        }
        for (element, child) in &self.children {
            path.push(element.clone());
            child.walk(path, visit);
            path.pop();
        }
    }

    /// The fields as texts, for tests and messages.
    pub fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        self.for_each(|path| texts.push(path_text(path)));
        texts
    }
}

fn retain_children(
    children: BTreeMap<PathElement, Set>,
    mut change: impl FnMut(&PathElement, Set) -> Set,
) -> BTreeMap<PathElement, Set> {
    let changed = btree_map::IntoIter::into_iter(children.into_iter()).filter_map(|(element, child)| {
        let child = change(&element, child);
        (!child.is_empty()).then_some((element, child))
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&[&str]]) -> Set {
        Set::of_fields(paths)
    }

    #[test]
    fn a_difference_leaves_what_lies_below_and_a_recursive_one_takes_it() {
        let own = set(&[&["a"], &["a", "b"], &["a", "b", "c"], &["d"]]);
        let other = set(&[&["a", "b"]]);
        assert_eq!(own.clone().difference(&other), set(&[&["a"], &["a", "b", "c"], &["d"]]));
        assert_eq!(own.recursive_difference(&other), set(&[&["a"], &["d"]]));
    }

    #[test]
    fn leaves_are_the_members_without_children() {
        let own = set(&[&["a"], &["a", "b"], &["c"]]);
        assert_eq!(own.leaves(), set(&[&["a", "b"], &["c"]]));
    }

    #[test]
    fn the_whole_object_belongs_to_nobody() {
        let mut own = Set::new();
        own.insert(&[]);
        assert!(own.is_empty());
        assert!(!own.has(&[]));
    }

    #[test]
    fn fields_at_one_place_come_before_those_below() {
        assert_eq!(set(&[&["b"], &["a", "x"]]).texts(), [".b", ".a.x"]);
    }
}
