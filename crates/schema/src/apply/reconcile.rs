use super::path::PathElement;
use super::place::{Form, ListForm, MapForm, Place};
use super::set::Set;

/// Brings a field set up to a schema that has changed since: what was owned field by field and is atomic now, is owned as
/// a whole. In Kubernetes: `typed.ReconcileFieldSetWithSchema`.
pub(super) fn reconcile<P: Place>(place: P, set: Set) -> Set {
    let mut atomics = Set::new();
    collect(place, &set, &mut Vec::new(), &mut atomics);
    if atomics.is_empty() {
        return set;
    }
    set.recursive_difference(&atomics).union(&atomics)
}

/// Collects the atomic places below which the set has fields.
fn collect<P: Place>(place: P, set: &Set, path: &mut Vec<PathElement>, atomics: &mut Set) {
    match place.form() {
        Form::Scalar(_) | Form::Any => return,
        Form::Opaque | Form::Map(MapForm::Atomic) | Form::List(ListForm::Atomic) => return atomics.insert(path),
        Form::Map(MapForm::Granular) | Form::List(_) => {}
    }
    for (element, below) in &set.children {
        if below.is_empty() {
            continue;
        }
        let place_below = match element {
            PathElement::Field(name) => place.field(name).or_else(|| place.entry()),
            _ => place.item(),
        };
        let Some(place_below) = place_below else { continue };
        path.push(element.clone());
        collect(place_below, below, path, atomics);
        path.pop();
    }
}
