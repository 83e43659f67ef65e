//! Keys to work on: deduplicated, delayed, rate-limited, with one worker a key.
//!
//! ```text
//! handler --add--------------> Keys { dirty, ready, processing } --get--> worker --done--> (again, if it got dirty)
//! worker  --add_after--------> Delays --------^
//!         --add_rate_limited-> RateLimiter --> Delays
//! ```
//! Start at [`WorkQueue`]. In Kubernetes: client-go `util/workqueue`, whose three nested types are one here.
//! Not here: what a key means, and who works on it (`controller-runtime`).

mod delays;
mod keys;
mod queue;
mod rate_limiter;

pub use queue::{Key, QueueCounts, Work, WorkQueue};
pub use rate_limiter::RateLimiter;
