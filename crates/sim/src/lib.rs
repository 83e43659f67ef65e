//! The seeded, virtual world around a cluster: its objects at each revision, and the invariants that are checked on
//! them.
//!
//! ```text
//! store --watch--> ClusterState (all objects at one revision) --> Invariant (expression | partial object) --> Finding
//!                      \--> event log: objects as they change, invariants where they break
//! component, user --request--> Wire (rules: delay, lose, hold) --> API server
//! run_in(mode) --> the clock of a runtime       until, settle --> waits on the cluster's clock
//! ```
//! Start at [`World`]; for faults of requests and watches at [`faults`], and below them at [`Wire`].
//! Not here: the format of scenario files (`scenario`), the cluster itself (`cluster`).

mod awaited;
mod change_selector;
/// What no correct controller does, as functions of an event log.
pub mod checks;
mod cluster_state;
/// Faults of requests and watches, as data.
pub mod faults;
mod follow;
mod followed_object;
mod heartbeat;
mod invariant;
mod latency;
mod members;
mod merge_patch;
mod named;
mod near_miss;
mod object_changes;
mod partial;
mod runtime;
mod seen;
mod settle;
mod shown_parts;
mod starting_objects;
mod stepped_clock;
mod stepped_runtime;
mod store_changes;
mod until;
mod wire;
mod world;

pub use change_selector::{ChangeKind, ChangeSelector};
pub use cluster_state::{ClusterState, ObjectChange, PluralOf};
pub use follow::{record_changes, record_objects};
pub use followed_object::FollowedObject;
pub use invariant::{Invariant, InvariantAnswer, InvariantQuestion, Lists, Polarity};
pub use latency::Latency;
pub use merge_patch::patch_map;
pub use partial::{Mismatch, matches, mismatches};
pub use runtime::{ClockMode, run_in};
pub use settle::{NotSettled, Settle, Settled, settle, settle_work};
pub use starting_objects::StartingObjects;
pub use stepped_clock::{Hold, Pace, RunningClock, SteppedClock};
pub use stepped_runtime::SteppedRuntime;
pub use until::{NotMet, until};
pub use wire::{
    Asked, Effect, LastSent, Leg, Moment, Observer, Rule, RuleId, Selected, Selector, Senders, Strike, Turns, Wire,
};
pub use world::{Awaited, Broken, Held, InvariantVerdict, NotInTime, World};
