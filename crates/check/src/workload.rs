use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::{Error, WorkloadUser};

/// The work of a user, written by the author of a controller.
#[derive(Clone)]
pub(crate) enum Workload {
    /// A function.
    Code(Arc<dyn WorkloadCode>),
    /// The steps of a scenario.
    Scenario(Arc<coracle_scenario::Workload>),
}

/// An asynchronous function of a user.
pub(crate) trait WorkloadCode: Send + Sync {
    fn run<'a>(&'a self, user: &'a WorkloadUser<'a>) -> LocalBoxFuture<'a, Result<(), Error>>;
}

impl<F: AsyncFn(&WorkloadUser<'_>) -> Result<(), Error> + Send + Sync> WorkloadCode for F {
    fn run<'a>(&'a self, user: &'a WorkloadUser<'a>) -> LocalBoxFuture<'a, Result<(), Error>> {
        self(user).boxed_local()
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Code(_) => "Code",
            Self::Scenario(_) => "Scenario",
        })
    }
}
