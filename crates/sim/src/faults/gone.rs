use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, nothing};
use crate::wire::Effect;

pub(super) const GONE: FaultKind = FaultKind {
    word: "gone",
    argument: "`{}`",
    forms: &[ArgumentForm::Empty],
    about: "The open watches end with the error 410 Expired, so their readers have to list again.",
    contract: "The API server keeps a limited history; a watch that needs more of it ends with 410, and the client lists \
               again. Changes in between are seen as their result only.",
    target: FaultTarget::OpenWatches,
    effect: FaultEffect::Wire(|argument, now| nothing(argument).map(|()| Effect::Gone(now.at))),
};
