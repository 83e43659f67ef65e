use std::fmt;
use std::sync::Arc;

use coracle_cluster::{ApiServerOptions, Transport};
use futures_util::future::BoxFuture;

use crate::Connection;

/// A controller in this process. The function is called for each of its starts.
pub(crate) type Start = Arc<dyn Fn(Connection) -> BoxFuture<'static, ()> + Send + Sync>;

/// What is checked.
#[derive(Clone)]
pub(crate) enum Subject {
    /// A controller in this process.
    InProcess(Start),
    /// A program, in real time.
    Program(ProgramHost),
}

/// Opens a socket for a run, and starts the program there. The error is a sentence.
pub type ProgramHost = Arc<dyn Fn() -> BoxFuture<'static, Result<ServedProgram, String>> + Send + Sync>;

/// A program, and the socket at which it finds the API server of one run.
pub struct ServedProgram {
    /// The options with which the API server authenticates the program.
    pub options: ApiServerOptions,
    /// Serves the API server until the future is dropped.
    pub serve: Box<dyn FnOnce(Transport) -> BoxFuture<'static, ()> + Send>,
    /// Starts the program. The future ends with it, and kills it when it is dropped.
    pub run: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
    /// Its process.
    pub process: Arc<dyn ProgramProcess>,
}

/// The process of a program. While no process runs, nothing happens.
pub trait ProgramProcess: Send + Sync {
    /// Stops it, as SIGSTOP does.
    fn pause(&self);

    /// Continues it.
    fn resume(&self);

    /// Whether a thread of it computes now. A system that does not show this returns false.
    fn computes(&self) -> bool;
}

impl fmt::Debug for ServedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServedProgram")
    }
}
