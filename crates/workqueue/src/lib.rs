//! A work queue of keys: deduplicated, delayed, rate-limited, with at most one worker per key.
//!
//! ```text
//! handler --add--------------> Keys { dirty, ready, processing } --get--> worker --done--> (again, if it got dirty)
//! worker  --add_after--------> Delays --------^
//!         --add_rate_limited-> RateLimiter --> Delays
//! ```
//! Start at [`WorkQueue`]. In Kubernetes: client-go `util/workqueue`, whose three nested types are one here. Not
//! here: what a key means, and the workers (`controller-runtime`).

mod delays;
mod keys;
mod queue;
mod rate_limiter;

pub use queue::{Key, QueueCounts, Work, WorkQueue};
pub use rate_limiter::RateLimiter;
