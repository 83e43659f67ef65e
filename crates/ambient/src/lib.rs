//! Wall clock and randomness: the two things a program cannot compute; and what a panic leads to.
//!
//! ```text
//! tokio's clock (may be paused) --Clock--> Timestamp          seed --Random::split(name)--> uids, suffixes, jitter
//! ```
//! Start at [`Ambient`]. Durations and sleeps are not here: they go through `tokio::time`, which a test can pause.

mod clock;
mod panics;
mod random;
mod time_shift;

pub use clock::Clock;
pub use jiff::{SignedDuration, Timestamp};
pub use panics::Panics;
pub use random::Random;
pub use time_shift::TimeShift;

/// What a component may know of the outside world: the time of day and a source of randomness.
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
    /// The time of day.
    pub clock: Clock,
    /// This component's own stream of random numbers.
    pub random: Random,
    /// What a panic leads to.
    pub panics: Panics,
}

impl Ambient {
    /// The real world: the epoch is now, the seed comes from the operating system.
    pub fn system() -> Self {
        Self { clock: Clock::system(), random: Random::from_os(), panics: Panics::default() }
    }

    /// A reproducible world: the clock starts at a fixed date, every draw follows from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { clock: Clock::fixed(), random: Random::from_seed(seed), panics: Panics::default() }
    }

    /// The same clock, and a stream of randomness of its own for the component called `name`.
    pub fn split(&self, name: &str) -> Self {
        Self { clock: self.clock.clone(), random: self.random.split(name), panics: self.panics.clone() }
    }
}
