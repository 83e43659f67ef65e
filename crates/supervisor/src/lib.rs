//! Starts the tasks of a control plane and supervises them: restarts after panics, stops, pauses and kills.
//!
//! ```text
//! Tasks --Running::start, Running::supervised--> Running { a task, its StopSignal, its Instance }
//!     panic --> the task is restarted after a pause, or all tasks end and their callers get a TaskPanic
//! ```
//! Start at [`Tasks`]; at [`Instance`] for one start of a component, which can be paused. In Kubernetes:
//! `wait.BackoffUntil`, and the restarts of a static pod.
//! Not here: which tasks run, and in which order (`cluster`).

mod background_tasks;
mod in_flight;
mod instance;
mod running;
mod stop_signal;
mod task_panic;
mod tasks;

pub use background_tasks::BackgroundTasks;
pub use in_flight::{InFlight, Reader};
pub use instance::Instance;
pub use running::{ComponentWork, Running};
pub use stop_signal::StopSignal;
pub use task_panic::TaskPanic;
pub use tasks::{TaskEnd, Tasks};
