//! When a pod must leave a tainted node.

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::core_v1::{Taint, Toleration};
use coracle_meta::format_time;
use jiff::SignedDuration;

use crate::taints::matching;

/// A pod whose eviction is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// It is evicted at this time.
    Running(Timestamp),
    /// It has been evicted.
    Fired,
}

/// What to do about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaintDecision {
    /// It may stay; a running timer is cancelled.
    Stay,
    /// It may stay until then; a running timer continues.
    StayUntil(Timestamp),
    /// It is evicted now.
    Leave,
    /// It has been evicted already.
    Done,
}

impl TaintDecision {
    /// The decision as a sentence, for the event log.
    pub(super) fn sentence(&self) -> String {
        match self {
            Self::Stay => "it may stay".to_owned(),
            Self::StayUntil(at) => format!("it may stay until {}", format_time(*at)),
            Self::Leave => "it does not tolerate a taint of its node: evict it".to_owned(),
            Self::Done => "it has been evicted".to_owned(),
        }
    }
}

/// What to do about a pod with these tolerations on a node with these `NoExecute` taints.
///
/// In Kubernetes: `processPodOnNode`.
pub(super) fn decide(
    tolerations: &[Toleration],
    taints: &[Taint],
    timer: Option<Timer>,
    now: Timestamp,
) -> TaintDecision {
    if taints.is_empty() {
        return TaintDecision::Stay;
    }
    let stay = match matching(tolerations, taints) {
        None => Some(SignedDuration::ZERO),
        Some(used) => shortest(&used),
    };
    match (stay, timer) {
        (None, _) => TaintDecision::Stay,
        (Some(_), Some(Timer::Fired)) => TaintDecision::Done,
        (Some(stay), _) if !stay.is_positive() => TaintDecision::Leave,
        (Some(_), Some(Timer::Running(at))) if at <= now => TaintDecision::Leave,
        (Some(_), Some(Timer::Running(at))) => TaintDecision::StayUntil(at),
        (Some(stay), None) => TaintDecision::StayUntil(now.later(stay)),
    }
}

/// The shortest time that the tolerations grant; `None` if it is unlimited.
fn shortest(tolerations: &[&Toleration]) -> Option<SignedDuration> {
    if tolerations.is_empty() {
        return Some(SignedDuration::ZERO);
    }
    let seconds = tolerations.iter().filter_map(|toleration| toleration.toleration_seconds);
    seconds.min().map(|seconds| SignedDuration::from_secs(seconds.max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn toleration(key: &str, value: &str, seconds: Option<i64>) -> Toleration {
        let operator = if value.is_empty() { "Exists" } else { "Equal" };
        Toleration {
            key: key.to_owned(),
            operator: operator.to_owned(),
            value: value.to_owned(),
            effect: "NoExecute".to_owned(),
            toleration_seconds: seconds,
            ..Toleration::default()
        }
    }

    fn taint() -> Taint {
        let text = |text: &str| text.to_owned();
        Taint { key: text("k"), value: text("v"), effect: text("NoExecute"), ..Taint::default() }
    }

    #[test]
    fn a_pod_goes_at_once_after_its_time_or_never() {
        let decide = |tolerations: &[Toleration]| decide(tolerations, &[taint()], None, at(0));
        assert_eq!(decide(&[]), TaintDecision::Leave);
        assert_eq!(decide(&[toleration("k", "w", None)]), TaintDecision::Leave);
        assert_eq!(decide(&[toleration("k", "v", None)]), TaintDecision::Stay);
        assert_eq!(decide(&[toleration("k", "", Some(2))]), TaintDecision::StayUntil(at(2)));
        assert_eq!(decide(&[toleration("k", "", Some(0))]), TaintDecision::Leave);
    }

    #[test]
    fn a_running_timer_continues_and_expires() {
        let tolerations = [toleration("k", "", Some(300))];
        let timer = Some(Timer::Running(at(300)));
        assert_eq!(decide(&tolerations, &[taint()], timer, at(100)), TaintDecision::StayUntil(at(300)));
        assert_eq!(decide(&tolerations, &[taint()], timer, at(300)), TaintDecision::Leave);
        assert_eq!(decide(&tolerations, &[], timer, at(100)), TaintDecision::Stay);
        assert_eq!(decide(&tolerations, &[taint()], Some(Timer::Fired), at(400)), TaintDecision::Done);
    }
}
