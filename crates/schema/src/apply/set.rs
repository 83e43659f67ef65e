use super::path::{Path, PathElement, path_text};
use super::place::Place;

/// A set of fields, as a tree. In Kubernetes: `fieldpath.Set`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by their elements, without duplicates.
    steps: Vec<SetChild>,
}

/// One step down from a place of a [`Set`].
///
/// Invariant: the field or a field below it is in the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetChild {
    pub(super) element: PathElement,
    /// Whether the field itself is in the set.
    pub(super) is_member: bool,
    /// The fields of the set below it.
    pub(super) below: Set,
}

impl Set {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// A set of fields, given by the names in their paths.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| PathElement::field(*name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a field, but not its parents. The empty path, the whole object, has no owner and is ignored.
    pub fn insert(&mut self, path: &Path) {
        match path {
            [] => {}
            [last] => self.put(true, Self::new(), || last.clone()),
            [step, rest @ ..] => {
                let mut below = Self::new();
                below.insert(rest);
                self.put(false, below, || step.clone());
            }
        }
    }

    /// Adds the field of `element` if it `is_member`, and the fields `below` it.
    pub(super) fn put(&mut self, is_member: bool, below: Self, element: impl FnOnce() -> PathElement) {
        if !is_member && below.is_empty() {
            return;
        }
        let step = SetChild { element: element(), is_member, below };
        // Most sets are built in order.
        match self.steps.last() {
            Some(last) if last.element >= step.element => self.add_step(step),
            _ => self.steps.push(step),
        }
    }

    fn add_step(&mut self, step: SetChild) {
        match self.find(&step.element) {
            Ok(at) => {
                let own = &mut self.steps[at];
                own.is_member |= step.is_member;
                own.below = std::mem::take(&mut own.below).union(&step.below);
            }
            Err(at) => self.steps.insert(at, step),
        }
    }

    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.steps.binary_search_by(|step| step.element.cmp(element))
    }

    fn step(&self, element: &PathElement) -> Option<&SetChild> {
        Some(&self.steps[self.find(element).ok()?])
    }

    /// The steps down from here, sorted by their elements.
    pub(super) fn steps(&self) -> &[SetChild] {
        &self.steps
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether a field is in the set.
    pub fn has(&self, path: &Path) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let set = parents.iter().try_fold(self, |set, element| set.below(element));
        set.is_some_and(|set| set.has_member(last))
    }

    /// Whether a field at this place is in the set.
    pub fn has_member(&self, element: &PathElement) -> bool {
        self.step(element).is_some_and(|step| step.is_member)
    }

    /// The fields of the set below a field, if there are any.
    pub fn below(&self, element: &PathElement) -> Option<&Self> {
        self.step(element).map(|step| &step.below).filter(|set| !set.is_empty())
    }

    /// The fields of either set.
    pub fn union(mut self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        other.steps.iter().for_each(|step| self.add_step(step.clone()));
        self
    }

    /// The fields of both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::new();
        // The smaller set is looked up in the larger one.
        let (few, many) = if self.steps.len() < other.steps.len() { (self, other) } else { (other, self) };
        for step in &few.steps {
            if let Some(found) = many.step(&step.element) {
                let below = step.below.intersection(&found.below);
                both.put(step.is_member && found.is_member, below, || step.element.clone());
            }
        }
        both
    }

    /// The fields of this set that are not in the other; fields below a field of the other stay.
    pub fn difference(self, other: &Self) -> Self {
        self.without(other, |below, theirs| below.difference(&theirs.below))
    }

    /// The fields of this set that are neither in the other nor below a field of it.
    pub fn recursive_difference(self, other: &Self) -> Self {
        self.without(
            other,
            |below, theirs| if theirs.is_member { Self::new() } else { below.recursive_difference(&theirs.below) },
        )
    }

    fn without(mut self, other: &Self, below: fn(Self, &SetChild) -> Self) -> Self {
        if other.is_empty() {
            return self;
        }
        self.steps.retain_mut(|step| {
            let Some(theirs) = other.step(&step.element) else { return true };
            step.is_member &= !theirs.is_member;
            step.below = below(std::mem::take(&mut step.below), theirs);
            step.is_member || !step.below.is_empty()
        });
        self
    }

    /// The fields without fields below them in the set.
    pub fn leaves(&self) -> Self {
        let leaf = |step: &SetChild| SetChild {
            element: step.element.clone(),
            is_member: step.below.is_empty(),
            below: step.below.leaves(),
        };
        Self { steps: self.steps.iter().map(leaf).collect() }
    }

    /// The set with the declared struct fields on the paths of its fields, which are not tracked otherwise.
    pub fn with_declared_parents<P: Place>(&self, place: Option<P>) -> Self {
        let with_parent = |step: &SetChild| {
            let declared = match &step.element {
                PathElement::Field(name) => place.and_then(|place| place.field(name)),
                _ => None,
            };
            let below = match &step.element {
                PathElement::Field(_) => declared.or_else(|| place.and_then(Place::entry)),
                _ => place.and_then(Place::item),
            };
            SetChild {
                element: step.element.clone(),
                is_member: step.is_member || declared.is_some(),
                below: step.below.with_declared_parents(below),
            }
        };
        Self { steps: self.steps.iter().map(with_parent).collect() }
    }

    /// Calls `visit` for each field: first those at one place, then those below them.
    pub fn for_each(&self, mut visit: impl FnMut(&Path)) {
        self.walk(&mut Vec::new(), &mut visit);
    }

    fn walk(&self, path: &mut Vec<PathElement>, visit: &mut impl FnMut(&Path)) {
        for step in self.steps.iter().filter(|step| step.is_member) {
            path.push(step.element.clone());
            visit(path);
            path.pop();
        }
        for step in &self.steps {
            path.push(step.element.clone());
            step.below.walk(path, visit);
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
    fn the_whole_object_has_no_owner() {
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
