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
    /// Longer than the work of a user takes.
    pub(crate) throughout: &'static str,
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
        throughout: "24h",
    };

    /// Real time, for programs.
    pub(crate) const REAL: Self = Self {
        clock: ClockMode::Real,
        between: settle(700, 20),
        at_rest: settle(3_000, 60),
        latency: Latency { request: Duration::ZERO, watch: Duration::ZERO },
        delays: &[("1s", "3s"), ("100ms", "1s")],
        long: "4s",
        throughout: "10m",
    };

    /// The same for a controller that acts this late, at most: in real time, it waits as long as that takes, and not longer
    /// than before.
    pub(crate) fn for_reaction(self, reaction: Duration) -> Self {
        if self.clock == ClockMode::Virtual {
            return self;
        }
        let quiet = |settle: Settle, factor: u32, least: Duration| {
            let quiet = (reaction * factor / 2).max(least).min(settle.quiet);
            Settle { quiet, ..settle }
        };
        let between = quiet(self.between, 3, LEAST_BETWEEN);
        Self { between, at_rest: quiet(self.at_rest, 6, LEAST_AT_REST), ..self }
    }

    /// The same with more patience at the end of a run: it separates what is late from what never happens.
    pub(crate) fn patient(self, careful: Self) -> Self {
        let at_rest = Settle { quiet: careful.at_rest.quiet * 3, ..careful.at_rest };
        Self { at_rest, ..self }
    }

    /// The clock and the randomness of a run.
    pub(crate) fn ambient(self, seed: u64) -> Ambient {
        match self.clock {
            ClockMode::Virtual => Ambient::seeded(seed),
            ClockMode::Real | ClockMode::Scaled(_) => Ambient { random: Random::from_seed(seed), ..Ambient::system() },
        }
    }
}

/// The shortest time in which a cluster is quiet, between two acts and at rest, for programs.
pub(crate) const LEAST_BETWEEN: Duration = Duration::from_millis(150);
const LEAST_AT_REST: Duration = Duration::from_millis(500);

const fn settle(quiet_millis: u64, within_seconds: u64) -> Settle {
    Settle {
        quiet: Duration::from_millis(quiet_millis),
        horizon: Duration::from_secs(600),
        within: Duration::from_secs(within_seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_controller_is_awaited_shortly_and_a_slow_one_as_long_as_without_knowledge() {
        let quiet = |reaction: u64| {
            let pace = Pace::REAL.for_reaction(Duration::from_millis(reaction));
            (pace.between.quiet.as_millis(), pace.at_rest.quiet.as_millis())
        };
        let virtual_pace = Pace::VIRTUAL.for_reaction(Duration::ZERO);
        assert_eq!(virtual_pace.at_rest, Pace::VIRTUAL.at_rest);
        assert_eq!(quiet(10), (150, 500));
        assert_eq!(quiet(300), (450, 900));
        assert_eq!(quiet(60_000), (Pace::REAL.between.quiet.as_millis(), Pace::REAL.at_rest.quiet.as_millis()));
    }
}
