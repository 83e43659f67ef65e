//! The seeded virtual world around a cluster: what it looks like at each revision, and what holds there.
//!
//! ```text
//! store --watch--> View (all objects at one revision) --> Invariant (expression | partial object) --> Finding
//! run_virtual(seed) --> a paused clock, one thread, one Cluster
//! ```
//! Start at [`World`].
//! Not here: the words of a scenario file (`scenario`), the cluster itself (`cluster`).

mod invariant;
mod latency;
mod partial;
mod runtime;
mod view;
mod world;

pub use invariant::{Answer, Invariant, Lists, Polarity, Question};
pub use latency::Latency;
pub use partial::{Mismatch, matches, mismatches};
pub use runtime::{ClockMode, run_in};
pub use view::{Change, View};
pub use world::{Broken, NotInTime, PluralOf, Verdict, World};
