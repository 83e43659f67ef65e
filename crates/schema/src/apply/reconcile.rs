use super::path::PathElement;
use super::place::{ListForm, MapForm, Place, ValueForm};
use super::set::Set;

/// Adapts a field set to a changed schema: fields below a place that became atomic are replaced by the place.
/// In Kubernetes: `typed.ReconcileFieldSetWithSchema`.
pub(super) fn reconcile<P: Place>(place: P, set: Set) -> Set {
    let atomics = atomics(place, &set).below;
    if atomics.is_empty() {
        return set;
    }
    set.recursive_difference(&atomics).union(&atomics)
}

/// The atomic places with fields of a set below them.
#[derive(Default)]
struct Atomics {
    /// Whether the place itself is atomic.
    is_one: bool,
    below: Set,
}

fn atomics<P: Place>(place: P, set: &Set) -> Atomics {
    let mut found = Atomics::default();
    match place.form() {
        ValueForm::Scalar(_) | ValueForm::Any => return found,
        ValueForm::Opaque | ValueForm::Map(MapForm::Atomic) | ValueForm::List(ListForm::Atomic) => {
            return Atomics { is_one: true, ..found };
        }
        ValueForm::Map(MapForm::Granular) | ValueForm::List(_) => {}
    }
    for step in set.steps().iter().filter(|step| !step.below.is_empty()) {
        let place_below = match &step.element {
            PathElement::Field(name) => place.field(name).or_else(|| place.entry()),
            _ => place.item(),
        };
        if let Some(place_below) = place_below {
            let Atomics { is_one, below } = atomics(place_below, &step.below);
            found.below.put(is_one, below, || step.element.clone());
        }
    }
    found
}
