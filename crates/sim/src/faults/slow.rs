use std::time::Duration;

use serde_json::Value;

use super::argument_form::ArgumentForm;
use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, duration};
use crate::wire::Effect;

pub(super) const SLOW: FaultKind = FaultKind {
    word: "slow",
    argument: "a duration, or `{answer: DURATION}`",
    forms: &[ArgumentForm::Duration, ArgumentForm::Field("answer", &ArgumentForm::Duration)],
    about: "The request arrives at the API server this much later. With `answer`, the API server carries out the request \
            at once, and the answer arrives at the sender this much later.",
    contract: "The API promises no time within which a request is answered, and no order among requests that are sent \
               at the same time.",
    target: FaultTarget::Requests,
    effect: FaultEffect::Wire(|argument, _| match argument {
        Value::Object(fields) => match (fields.get("answer"), fields.len()) {
            (Some(back), 1) => duration(back).map(|back| Effect::Slow { there: Duration::ZERO, back }),
            _ => Err(format!("expected a duration or `{{answer: DURATION}}`, found {argument}")),
        },
        there => duration(there).map(|there| Effect::Slow { there, back: Duration::ZERO }),
    }),
};
