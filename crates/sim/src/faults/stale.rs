use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, requester};
use crate::wire::Effect;

pub(super) const STALE: FaultKind = FaultKind {
    word: "stale",
    argument: "a component or a user",
    forms: &[ArgumentForm::Requester],
    about: "It talks to an API server whose watch cache has stopped at the moment at which the fault begins: reads that \
            permit it are answered from the past, watches deliver nothing newer, and consistent reads take three \
            seconds longer. Writes and permissions are not affected.",
    contract: "A read with a resourceVersion, including `0`, may be answered by any state that is not older than it, and \
               API servers differ in how much they have seen.",
    target: FaultTarget::Requester,
    effect: FaultEffect::Wire(|argument, now| requester(argument).map(|()| Effect::Stale(now.revision))),
};
