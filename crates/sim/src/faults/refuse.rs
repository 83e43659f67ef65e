use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget};
use crate::wire::Effect;

pub(super) const REFUSE: FaultKind = FaultKind {
    word: "refuse",
    argument: "`409`, `429`, `500`, `503` or `504`",
    forms: &[
        ArgumentForm::Number(409),
        ArgumentForm::Number(429),
        ArgumentForm::Number(500),
        ArgumentForm::Number(503),
        ArgumentForm::Number(504),
    ],
    about: "The request is not carried out, and the answer is a Status with this code: too many requests, internal \
            error, service unavailable, or timeout. With `409`, the API server itself answers Conflict: just before an \
            update, patch or deletion with a resourceVersion is carried out, another writer sets the annotation \
            `coracle.dev/conflict` of the object. Other requests cannot conflict, and are not selected.",
    contract: "The API server may refuse any request while it is overloaded, starts, stops, or cannot reach its store; \
               a client has to retry with a back-off. It refuses a write at an old resourceVersion with 409; a client \
               has to read the object and decide again.",
    target: FaultTarget::Requests,
    effect: FaultEffect::Wire(|argument, _| match argument.as_u64() {
        Some(409) => Ok(Effect::Conflict),
        Some(429) => Ok(Effect::Refuse(429)),
        Some(500) => Ok(Effect::Refuse(500)),
        Some(503) => Ok(Effect::Refuse(503)),
        Some(504) => Ok(Effect::Refuse(504)),
        _ => Err(format!("expected one of 409, 429, 500, 503 and 504, found {argument}")),
    }),
};
