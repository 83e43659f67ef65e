use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget};
use crate::wire::{Effect, Leg};

pub(super) const LOSE: FaultKind = FaultKind {
    word: "lose",
    argument: "`request` or `answer`",
    forms: &[ArgumentForm::Word("request"), ArgumentForm::Word("answer")],
    about: "The connection is reset. With `request`, the request does not reach the API server. With `answer`, the API \
            server carries out the request, and the sender does not get the answer.",
    contract: "A client cannot know whether a request whose answer it did not get was carried out; it has to read \
               the state, or to repeat the request in a way that is safe to repeat.",
    target: FaultTarget::Requests,
    effect: FaultEffect::Wire(|argument, _| match argument.as_str() {
        Some("request") => Ok(Effect::Lose(Leg::Request)),
        Some("answer") => Ok(Effect::Lose(Leg::Answer)),
        _ => Err(format!("expected `request` or `answer`, found {argument}")),
    }),
};
