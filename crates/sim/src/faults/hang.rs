use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, nothing};
use crate::wire::Effect;

pub(super) const HANG: FaultKind = FaultKind {
    word: "hang",
    argument: "`{}`",
    forms: &[ArgumentForm::Empty],
    about: "The watches stay open and deliver nothing. When the fault ends, they deliver what they held. A watch ends when \
            the API server ends it, for example after its `timeoutSeconds`: what it held is lost to it.",
    contract: "A watch that delivers nothing cannot be distinguished from one of objects that do not change.",
    target: FaultTarget::Watches,
    effect: FaultEffect::Wire(|argument, _| nothing(argument).map(|()| Effect::Hang)),
};
