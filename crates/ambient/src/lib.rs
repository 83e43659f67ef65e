//! The wall clock, randomness, the handling of panics, and when the tasks of a program may run: a program's
//! dependencies on its environment.
//!
//! ```text
//! tokio's clock (may be paused) --Clock--> Timestamp
//! seed --Random::split(component)--> its stream --Random::keyed(requester, kind, name)--> uids, suffixes, jitter
//! ```
//! Start at [`Ambient`]. Not here: durations and sleeps, which use `tokio::time`, so that a test can pause them.

mod clock;
mod gate;
mod keyed_draws;
mod mix;
mod panics;
mod pending_work;
mod random;
mod skew;
mod stable_hash;
mod time_shift;

pub use clock::Clock;
pub use gate::{Gate, Gated, gated};
pub use jiff::{SignedDuration, Timestamp};
pub use panics::Panics;
pub use pending_work::{HoldsWork, Horizon, Pending, PendingWork};
pub use random::Random;
pub use skew::Skew;
pub use stable_hash::stable_hash;
pub use time_shift::TimeShift;

/// A component's access to its environment: the wall clock and a source of randomness.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(async {
/// use coracle_ambient::Ambient;
///
/// let (one, other) = (Ambient::seeded(7), Ambient::seeded(7));
/// assert_eq!(one.random.uuid(), other.random.uuid());
/// assert_ne!(one.split("a").random.uuid(), one.split("b").random.uuid());
/// let before = one.clock.now();
/// tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
/// assert_eq!(one.clock.now().as_second(), before.as_second() + 3600);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Ambient {
    /// The wall clock.
    pub clock: Clock,
    /// This component's own stream of random numbers.
    pub random: Random,
    /// How panics are handled.
    pub panics: Panics,
    /// The queues and caches that use this environment.
    pub work: PendingWork,
}

impl Ambient {
    /// The real environment: the system's clock, and a seed from the operating system.
    pub fn system() -> Self {
        Self::of(Clock::system(), Random::from_os())
    }

    /// A reproducible environment: the clock starts at a fixed date, and all randomness derives from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self::of(Clock::fixed(), Random::from_seed(seed))
    }

    /// A reproducible environment whose clock shows `time` at this moment.
    pub fn seeded_at(seed: u64, time: Timestamp) -> Self {
        Self::of(Clock::starting_at(time), Random::from_seed(seed))
    }

    fn of(clock: Clock, random: Random) -> Self {
        Self { clock, random, panics: Panics::default(), work: PendingWork::default() }
    }

    /// The same environment on a machine whose clock has this skew.
    #[must_use]
    pub fn skewed_by(&self, skew: &Skew) -> Self {
        Self { clock: self.clock.skewed_by(skew), ..self.clone() }
    }

    /// The same clock, with a separate stream of randomness for the component `name`.
    pub fn split(&self, name: &str) -> Self {
        Self { random: self.random.split(name), ..self.clone() }
    }
}
