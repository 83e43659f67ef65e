use std::sync::Arc;

use coracle_meta::{Status, reason};
use coracle_registry::User;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::front::limits::Limits;

/// Counts the requests that are being answered, and refuses those that are too many.
///
/// In Kubernetes: `WithMaxInFlightLimit`. Unlike Kubernetes there are no queues: priority and fairness is not built.
#[derive(Debug)]
pub(crate) struct InFlight {
    limits: Limits,
    reads: Arc<Semaphore>,
    writes: Arc<Semaphore>,
}

/// A place among the requests that are being answered.
pub(crate) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
}

impl InFlight {
    pub(crate) fn new(limits: Limits) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self { limits, reads: places(limits.reads), writes: places(limits.writes) }
    }

    /// How many reads and how many writes are being answered.
    pub(crate) fn taken(&self) -> (usize, usize) {
        let taken = |limit: usize, places: &Semaphore| limit.saturating_sub(places.available_permits());
        (taken(self.limits.reads, &self.reads), taken(self.limits.writes, &self.writes))
    }

    /// Takes a place, or answers 429. Members of `system:masters` always find one.
    pub(crate) fn enter(&self, verb: &str, user: &User) -> Result<Place, Status> {
        let reads = matches!(verb, "get" | "list" | "watch" | "head" | "options");
        let places = if reads { &self.reads } else { &self.writes };
        match Arc::clone(places).try_acquire_owned() {
            Ok(permit) => Ok(Place { _permit: Some(permit) }),
            Err(_) if user.is_in("system:masters") => Ok(Place { _permit: None }),
            Err(_) => Err(too_many_requests()),
        }
    }
}

fn too_many_requests() -> Status {
    Status::failure(429, reason::TOO_MANY_REQUESTS, "Too many requests, please try again later.").with_retry_after(1)
}
