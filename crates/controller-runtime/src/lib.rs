//! The building blocks of every controller: a reconciler, a queue of keys, workers, and caches of the cluster.
//!
//! ```text
//! informers --Notification--> Controller::watches (object to keys) --> WorkQueue --> worker --> Reconciler::reconcile
//!     ^                                     OwnWrites: not before the caches show my last writes --^       |
//!     \------------------------------- the API server <------------ Pass: recorded writes <----------------/
//! ```
//! Start at [`Controller`] and [`Reconciler`]; a [`Process`] holds what the controllers of one program share.
//! [`ownership`] claims children, [`EventRecorder`] records events, [`LeaderElection`] elects one of several
//! processes: see [`lead`]. In Kubernetes: `pkg/controller`, `client-go/tools/{record,events,leaderelection}`. Not
//! here: the controllers themselves (`controllers`, `scheduler`, `kubelet`).

mod controller;
mod event_correlator;
mod event_queue;
mod event_recorder;
mod event_series;
mod lanes;
mod lead;
mod leader_election;
mod lru;
mod mapping;
mod metrics;
mod own_writes;
pub mod ownership;
mod process;
mod reconciler;
mod series_recorder;
mod slow_start;
mod speaker;
mod stale_caches;
mod sync_outcome;
mod worker;
mod writes;

pub use controller::Controller;
/// The types of the event log, for components with stages of their own.
pub use coracle_journal::{Detail, EntryId, Recorder, Stage};
pub use event_recorder::{EventRecorder, EventType, reference_to};
pub use lead::{Ended, lead};
pub use leader_election::{LeaderElection, LeaderTimings};
pub use mapping::{controllers_of, key_of};
pub use metrics::ControllerMetrics;
pub use own_writes::{Caches, OwnWrites, Unseen};
pub use process::Process;
pub use reconciler::{Action, Pass, ReconcileError, Reconciler};
pub use series_recorder::{Note, SeriesRecorder};
pub use slow_start::slow_start;
pub use speaker::Speaker;
pub use stale_caches::StaleCaches;
pub use writes::unless_gone;
