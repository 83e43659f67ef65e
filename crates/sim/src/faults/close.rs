use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, nothing};
use crate::wire::Effect;

pub(super) const CLOSE: FaultKind = FaultKind {
    word: "close",
    argument: "`{}`",
    forms: &[ArgumentForm::Empty],
    about: "The open watches end without an error. Events that were not delivered are lost to them.",
    contract: "The API server may end a watch at any time; a client opens it again after the last revision that it \
               has seen.",
    target: FaultTarget::OpenWatches,
    effect: FaultEffect::Wire(|argument, now| nothing(argument).map(|()| Effect::Close(now.at))),
};
