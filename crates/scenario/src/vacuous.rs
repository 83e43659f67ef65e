//! Vacuous checks: they would pass whatever the step does.

use std::collections::BTreeMap;

use coracle_sim::{Awaited, Polarity, World};
use coracle_yaml::Spanned;

use crate::file::{Assert, Operation, Step};
use crate::question::question;
use crate::wait;

/// The results of a step's checks before the step acts: of an `assert` and an `error` at the beginning of the step, of
/// a `wait` at the beginning of the group of checks that it belongs to, because several consecutive waits wait for one
/// process to end.
///
/// A check is vacuous if it held then and at every revision since.
pub(crate) struct Baselines<'s> {
    step: &'s Step,
    namespace: &'s str,
    /// By the index of the operation in the step.
    lapses: BTreeMap<usize, Awaited>,
    /// Whether every round of the step found a check vacuous.
    vacuous: BTreeMap<usize, bool>,
}

impl<'s> Baselines<'s> {
    /// Evaluates the step's asserts on the current world, which must be caught up.
    pub(crate) fn of(step: &'s Step, namespace: &'s str, world: &World) -> Self {
        let lapse = |(place, operation): (usize, &Spanned<Operation>)| {
            let (assert, wanted) = asserted(&operation.value)?;
            let question = question(assert.resource.as_ref(), assert.cel.as_ref());
            Some((place, world.await_lapse(&question, wanted)))
        };
        let lapses = step.operations.iter().enumerate().filter_map(lapse).collect();
        Self { step, namespace, lapses, vacuous: BTreeMap::new() }
    }

    /// Whether a group of checks begins with the operation at an index; its waits have to be evaluated then.
    pub(crate) fn begins_checks(&self, place: usize) -> bool {
        let is_check = |place: usize| self.step.operations.get(place).is_some_and(|one| is_check(&one.value));
        is_check(place) && !place.checked_sub(1).is_some_and(is_check)
    }

    /// Evaluates the waits from an index on, up to the next action, on the current world.
    pub(crate) fn begin_checks(&mut self, place: usize, world: &World) {
        let checks = self.step.operations.iter().enumerate().skip(place);
        for (place, operation) in checks.take_while(|(_, operation)| is_check(&operation.value)) {
            if let Operation::Wait(wait) = &operation.value {
                let namespace = wait.namespace.as_deref().unwrap_or(self.namespace);
                let (wait, namespace) = (wait.clone(), namespace.to_owned());
                let lapse = world.await_lapse_of(move |cluster| wait::look(&wait, &namespace, cluster));
                self.lapses.insert(place, lapse);
            }
        }
    }

    /// The first revision since then at which a check did not hold.
    pub(crate) fn lapse(&self, place: usize) -> Option<i64> {
        self.lapses.get(&place).and_then(Awaited::met)
    }

    /// Records that a check held at a revision.
    pub(crate) fn held(&mut self, place: usize, revision: i64) {
        let is_vacuous = !self.is_still(place) && self.lapse(place).is_none_or(|lapse| lapse > revision);
        self.vacuous.entry(place).and_modify(|all| *all &= is_vacuous).or_insert(is_vacuous);
    }

    /// Which checks were vacuous and why, as a sentence; `None` if none was.
    pub(crate) fn reason(&self) -> Option<String> {
        let reason = |place: &usize| {
            let operation = &self.step.operations[*place].value;
            let (number, word) = (place + 1, operation.word());
            match operation {
                Operation::Wait(_) => format!("operation {number}, {word}, did not wait"),
                _ => format!("operation {number}, {word}, would have passed before the step"),
            }
        };
        let vacuous = self.vacuous.iter().filter(|(_, vacuous)| **vacuous).map(|(place, _)| reason(place));
        let reasons = vacuous.collect::<Vec<_>>().join("; ");
        (!reasons.is_empty()).then_some(reasons)
    }

    fn is_still(&self, place: usize) -> bool {
        asserted(&self.step.operations[place].value).is_some_and(|(assert, _)| assert.still)
    }
}

fn is_check(operation: &Operation) -> bool {
    matches!(operation, Operation::Wait(_) | Operation::Assert(_) | Operation::Error(_))
}

fn asserted(operation: &Operation) -> Option<(&Assert, Polarity)> {
    match operation {
        Operation::Assert(assert) => Some((assert, Polarity::Always)),
        Operation::Error(assert) => Some((assert, Polarity::Never)),
        _ => None,
    }
}
