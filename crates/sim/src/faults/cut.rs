use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, requester};
use crate::wire::Effect;

pub(super) const CUT: FaultKind = FaultKind {
    word: "cut",
    argument: "a component or a user",
    forms: &[ArgumentForm::Requester],
    about: "It has no route to the API server: its requests fail, and its watches stay open and deliver nothing.",
    contract: "The network between a component and the API server may be partitioned for any time. A component \
               continues with what it has seen, and has to catch up afterwards.",
    target: FaultTarget::Requester,
    effect: FaultEffect::Wire(|argument, _| requester(argument).map(|()| Effect::Cut)),
};
