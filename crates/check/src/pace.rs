use std::time::Duration;

use coracle_ambient::{Ambient, Random};
use coracle_sim::{ClockMode, Latency, Settle};

/// How time passes in the runs of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The clock.
    pub(crate) clock: ClockMode,
    /// When a cluster counts as settled between two acts, while faults may still last.
    pub(crate) between: Settle,
    /// When it counts as settled after all faults have ended.
    pub(crate) at_rest: Settle,
    /// How long a request and an event take without a fault.
    pub(crate) latency: Latency,
    /// Delays that faults cause, likeliest first, each with a time in which a controller reacts to what is delayed.
    pub(crate) delays: &'static [(&'static str, &'static str)],
    /// How long a watch hangs, and a view is stale.
    pub(crate) long: &'static str,
}

impl Pace {
    /// Virtual time: waiting costs nothing.
    pub(crate) const VIRTUAL: Self = Self {
        clock: ClockMode::Virtual,
        between: settle(60_000, 600),
        at_rest: settle(60_000, 1800),
        latency: Latency { request: Duration::from_millis(2), watch: Duration::from_millis(1) },
        delays: &[("1s", "5s"), ("20ms", "1s"), ("20s", "60s"), ("320s", "600s")],
        long: "90s",
    };

    /// Real time, for programs.
    pub(crate) const REAL: Self = Self {
        clock: ClockMode::Real,
        between: settle(700, 20),
        at_rest: settle(3_000, 60),
        latency: Latency { request: Duration::ZERO, watch: Duration::ZERO },
        delays: &[("1s", "3s"), ("100ms", "1s")],
        long: "4s",
    };

    /// The same with more patience: it separates what is late from what never happens.
    pub(crate) fn patient(self) -> Self {
        let longer = |settle: Settle| Settle { quiet: settle.quiet * 3, ..settle };
        Self { between: longer(self.between), at_rest: longer(self.at_rest), ..self }
    }

    /// The clock and the randomness of a run.
    pub(crate) fn ambient(self, seed: u64) -> Ambient {
        match self.clock {
            ClockMode::Virtual => Ambient::seeded(seed),
            ClockMode::Real | ClockMode::Scaled(_) => Ambient { random: Random::from_seed(seed), ..Ambient::system() },
        }
    }
}

const fn settle(quiet_millis: u64, within_seconds: u64) -> Settle {
    Settle {
        quiet: Duration::from_millis(quiet_millis),
        horizon: Duration::from_secs(600),
        within: Duration::from_secs(within_seconds),
    }
}
