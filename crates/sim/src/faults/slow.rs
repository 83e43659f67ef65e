use std::time::Duration;

use super::fault_kind::{FaultEffect, FaultKind, FaultTarget, duration};
use crate::wire::Effect;

pub(super) const SLOW: FaultKind = FaultKind {
    word: "slow",
    argument: "a duration",
    about: "The request arrives at the API server this much later.",
    contract: "The API promises no time within which a request is answered, and no order among requests that are sent \
               at the same time.",
    target: FaultTarget::Requests,
    effect: FaultEffect::Wire(|argument, _| {
        duration(argument).map(|there| Effect::Slow { there, back: Duration::ZERO })
    }),
};
