use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::Type;

/// The types that were inferred for type parameters. In Kubernetes: `checker.mapping`.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    found: BTreeMap<Arc<str>, Type>,
    /// The previous state before each step of an attempt, for backtracking.
    trail: Vec<(Arc<str>, Option<Type>)>,
}

impl Substitution {
    fn find(&self, of: &Type) -> Option<&Type> {
        match of {
            Type::Parameter(name) => self.found.get(name),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, parameter: &Type, to: Type) {
        if let Type::Parameter(name) = parameter {
            let before = self.found.insert(Arc::clone(name), to);
            self.trail.push((Arc::clone(name), before));
        }
    }

    /// A type with all inferred types inserted; remaining parameters become `dyn` if `closed`.
    pub(super) fn apply(&self, to: &Type, closed: bool) -> Type {
        match self.find(to) {
            Some(found) => self.apply(found, closed),
            None if closed && to.is_parameter() => Type::Dyn,
            None => to.with_parameters(|part| self.apply(part, closed)),
        }
    }

    /// Whether a value of type `from` can be assigned to `to`; infers type parameters.
    pub(super) fn assign(&mut self, to: &Type, from: &Type) -> bool {
        self.assign_all([to].into_iter(), [from].into_iter())
    }

    pub(super) fn assign_all<'t>(
        &mut self,
        to: impl Iterator<Item = &'t Type>,
        from: impl Iterator<Item = &'t Type>,
    ) -> bool {
        self.trail.clear();
        let fits = to.zip(from).all(|(to, from)| self.fits(to, from));
        while let Some((name, before)) = self.trail.pop().filter(|_| !fits) {
            match before {
                Some(before) => self.found.insert(name, before),
                None => self.found.remove(&name),
            };
        }
        fits
    }

    fn fits(&mut self, to: &Type, from: &Type) -> bool {
        if from.is_parameter() {
            match self.settle(to, from) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if to.is_parameter() {
            return self.settle(from, to).0;
        }
        if to.is_dyn_or_error() || from.is_dyn_or_error() {
            return true;
        }
        match (to, from) {
            (Type::Null, other) | (other, Type::Null) => matches!(
                other,
                Type::Null
                    | Type::Optional(_)
                    | Type::Opaque(_)
                    | Type::Named(_)
                    | Type::Object(_)
                    | Type::Message(_)
                    | Type::Timestamp
                    | Type::Duration
            ),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(_) | Type::Map(..) | Type::Optional(_), _) => {
                to.is_like(from)
                    && to.parameters().into_iter().zip(from.parameters()).all(|(to, from)| self.fits(to, from))
            }
            (to, from) => to == from,
        }
    }

    /// Whether a type parameter can be `to`, and whether its type was inferred before.
    fn settle(&mut self, to: &Type, open: &Type) -> (bool, bool) {
        if to == open {
            return (true, true);
        }
        if let Some(known) = self.find(open).cloned() {
            if *to == known {
                return (true, true);
            }
            if self.fits(to, &known) {
                let general = most_general(to, &known);
                if self.is_free_of(open, &general) {
                    self.set(open, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.is_free_of(open, to) {
            self.set(open, to.clone());
            return (true, false);
        }
        (false, false)
    }

    /// Whether a type parameter does not occur in another type.
    fn is_free_of(&self, open: &Type, within: &Type) -> bool {
        if open == within {
            return false;
        }
        match within {
            Type::Parameter(_) => self.find(within).is_none_or(|known| self.is_free_of(open, known)),
            _ => within.parameters().into_iter().all(|part| self.is_free_of(open, part)),
        }
    }
}

pub(super) fn most_general(one: &Type, other: &Type) -> Type {
    if is_less_specific(one, other) { one.clone() } else { other.clone() }
}

fn is_less_specific(one: &Type, other: &Type) -> bool {
    if one.is_dyn() || one.is_parameter() {
        return true;
    }
    if other.is_dyn() || other.is_parameter() || !one.is_like(other) {
        return false;
    }
    match one {
        Type::Type(_) => true,
        Type::List(_) | Type::Map(..) | Type::Optional(_) => {
            one.parameters().into_iter().zip(other.parameters()).all(|(one, other)| is_less_specific(one, other))
        }
        _ => one == other,
    }
}
