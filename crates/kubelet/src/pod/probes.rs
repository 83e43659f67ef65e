//! Probe results of a container, and when its probes run next.
//!
//! [`crate::Behaviour`] decides whether a probe succeeds. The probe's own fields set its period and its thresholds. A
//! probe whose result has reached its threshold and stays the same does not run again, because it would change nothing.
//! A failing probe keeps running, because each failure is recorded.
//!
//! In Kubernetes: `pkg/kubelet/prober`.

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::core_v1::Probe;
use coracle_kubelet_api::save_format;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// The results of one probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Heard {
    /// When it last ran.
    #[serde(with = "save_format::maybe_time")]
    pub(crate) at: Option<Timestamp>,
    /// Its last result.
    pub(crate) is_well: bool,
    /// How often in a row it had this result.
    pub(crate) times: i32,
}

/// The verdict of a probe: `Some(true)` after enough successes in a row, `Some(false)` after enough failures, none
/// before that.
pub(crate) fn verdict(probe: &Probe, heard: Heard) -> Option<bool> {
    let enough = if heard.is_well { probe.success_threshold } else { probe.failure_threshold };
    (heard.at.is_some() && heard.times >= enough.max(1)).then_some(heard.is_well)
}

/// When the probe of a container that has run since `started` runs next, if that can change anything.
pub(crate) fn next_at(
    probe: &Probe,
    heard: Heard,
    answer: bool,
    started: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let Some(last) = heard.at else { return Some(started.later(seconds(probe.initial_delay_seconds))) };
    if answer && verdict(probe, heard) == Some(true) {
        return None;
    }
    let period = i64::from(probe.period_seconds.max(1));
    // A probe that was skipped for a while keeps its rhythm.
    let slept = if verdict(probe, heard) == Some(true) { now.duration_since(last).as_secs().max(0) } else { 0 };
    let periods = slept.saturating_add(period - 1) / period;
    Some(last.later(SignedDuration::from_secs(period.saturating_mul(periods.max(1)))))
}

impl Heard {
    /// The results after one more run.
    pub(crate) fn and(self, is_well: bool, at: Timestamp) -> Self {
        let times = if self.at.is_some() && self.is_well == is_well { self.times.saturating_add(1) } else { 1 };
        Self { at: Some(at), is_well, times }
    }
}

fn seconds(seconds: i32) -> SignedDuration {
    SignedDuration::from_secs(i64::from(seconds.max(0)))
}
