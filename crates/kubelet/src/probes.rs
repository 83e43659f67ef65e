//! What probes find out about a container, and when they ask next.
//!
//! What a probe is answered is behaviour ([`crate::Behaviour`]); when it asks, and how often it has to hear the same before
//! that counts, is the probe's. A probe whose answer has counted and stays as it is asks no more, because it would change
//! nothing; one that is refused goes on, because each refusal is told.
//!
//! In Kubernetes: `pkg/kubelet/prober`.

use coracle_ambient::{TimeShift, Timestamp};
use coracle_api::core_v1::Probe;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::written;

/// What one probe has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Heard {
    /// When it last asked.
    #[serde(with = "written::maybe_time")]
    pub(crate) at: Option<Timestamp>,
    /// What it heard then.
    pub(crate) is_well: bool,
    /// How often in a row.
    pub(crate) times: i32,
}

/// Whether what a probe has heard counts: `Some(true)` after so many successes in a row, `Some(false)` after so many
/// failures, none before.
pub(crate) fn verdict(probe: &Probe, heard: Heard) -> Option<bool> {
    let enough = if heard.is_well { probe.success_threshold } else { probe.failure_threshold };
    (heard.at.is_some() && heard.times >= enough.max(1)).then_some(heard.is_well)
}

/// When the probe of a container that has run since `started` asks next, if that can change anything.
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
    // A probe that was content for a while goes on in its rhythm.
    let slept = if verdict(probe, heard) == Some(true) { now.duration_since(last).as_secs().max(0) } else { 0 };
    let periods = slept.saturating_add(period - 1) / period;
    Some(last.later(SignedDuration::from_secs(period.saturating_mul(periods.max(1)))))
}

impl Heard {
    /// What is known after the probe has been answered.
    pub(crate) fn and(self, is_well: bool, at: Timestamp) -> Self {
        let times = if self.at.is_some() && self.is_well == is_well { self.times.saturating_add(1) } else { 1 };
        Self { at: Some(at), is_well, times }
    }
}

fn seconds(seconds: i32) -> SignedDuration {
    SignedDuration::from_secs(i64::from(seconds.max(0)))
}
