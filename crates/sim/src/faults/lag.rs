use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, duration};
use crate::wire::Effect;

pub(super) const LAG: FaultKind = FaultKind {
    word: "lag",
    argument: "a duration",
    forms: &[ArgumentForm::Duration],
    about: "Each event is delivered this much later. Events stay in order.",
    contract: "A watch delivers events some time after the write, in order within the watch, and without any order \
               between the watches of two kinds.",
    target: FaultTarget::Watches,
    effect: FaultEffect::Wire(|argument, _| duration(argument).map(Effect::Lag)),
};
