use super::path::PathElement;
use super::set::Set;

/// The fields that a request may own. In Kubernetes: `fieldpath.Filter`, from a strategy's `GetResetFields`.
///
/// The client never owns the fields that an endpoint resets: `status` on the main endpoint, `spec` on `/status`.
#[derive(Clone, Debug, Default)]
pub enum Filter {
    /// Every field.
    #[default]
    All,
    /// Every field except these and the fields below them.
    Except(Set),
    /// Only fields whose path begins with one of these patterns, in which `*` matches any step.
    Only(Vec<Vec<String>>),
}

impl Filter {
    /// Every field except these, given by the names in their paths: `Filter::except(&[&["status"]])`.
    pub fn except(paths: &[&[&str]]) -> Self {
        Self::Except(Set::of_fields(paths))
    }

    /// Only fields whose path begins with one of the patterns: `Filter::only(&[&["spec", "containers", "*",
    /// "resources"]])`.
    pub fn only(patterns: &[&[&str]]) -> Self {
        Self::Only(patterns.iter().map(|pattern| pattern.iter().map(|step| (*step).to_owned()).collect()).collect())
    }

    /// The fields of the set that pass the filter.
    pub fn apply(&self, set: Set) -> Set {
        match self {
            Self::All => set,
            Self::Except(fields) => set.recursive_difference(fields),
            Self::Only(patterns) => {
                let patterns: Vec<_> = patterns.iter().map(Vec::as_slice).collect();
                matching(&set, &patterns)
            }
        }
    }
}

fn matching(set: &Set, patterns: &[&[String]]) -> Set {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set.clone();
    }
    let fits = |element: &PathElement, step: &String| {
        step == "*" || matches!(element, PathElement::Field(name) if name == step)
    };
    let mut passing = Set::new();
    for step in set.steps() {
        let fitting = patterns.iter().filter(|pattern| fits(&step.element, &pattern[0]));
        let rests: Vec<_> = fitting.map(|pattern| &pattern[1..]).collect();
        passing.put(step.is_member && !rests.is_empty(), matching(&step.below, &rests), || step.element.clone());
    }
    passing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_passes_what_leads_to_it_and_what_lies_below_it() {
        let set = Set::of_fields(&[
            &["spec"],
            &["spec", "a", "x"],
            &["spec", "b", "x", "y"],
            &["spec", "b", "z"],
            &["status"],
        ]);
        let filter = Filter::only(&[&["spec", "*", "x"]]);
        assert_eq!(filter.apply(set.clone()).texts(), [".spec", ".spec.a.x", ".spec.b.x.y"]);
        assert_eq!(Filter::except(&[&["spec"]]).apply(set.clone()).texts(), [".status"]);
        assert_eq!(Filter::All.apply(set.clone()), set);
    }
}
