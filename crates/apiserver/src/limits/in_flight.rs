use std::sync::Arc;

use coracle_meta::Status;
use coracle_registry::User;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;
use crate::limits::fairness::{FLOWS, flow, too_many_requests};

/// Counts the requests in flight, and refuses those beyond the limit. A request takes a place only when its body is
/// complete.
///
/// In Kubernetes: `WithMaxInFlightLimit`. Unlike Kubernetes: there are no queues. Instead of priority and fairness, one
/// user can take at most half of the places, so that the requests of one user do not block those of others.
#[derive(Debug)]
pub(crate) struct InFlight {
    reads: Places,
    writes: Places,
}

/// A place among the requests in flight.
pub(crate) struct Place {
    _permits: Option<[OwnedSemaphorePermit; 2]>,
}

/// The places for reads or for writes.
#[derive(Debug)]
struct Places {
    count: usize,
    all: Arc<Semaphore>,
    /// Groups of users, each with half of the places; several users may share a group.
    of_users: Vec<Arc<Semaphore>>,
}

impl Places {
    fn new(count: usize) -> Self {
        let semaphore = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        let of_users = (0..FLOWS).map(|_| semaphore(count.div_ceil(2))).collect();
        Self { count, all: semaphore(count), of_users }
    }

    fn taken(&self) -> usize {
        self.count.saturating_sub(self.all.available_permits())
    }

    fn enter(&self, user: &str) -> Option<Place> {
        let of_user = Arc::clone(&self.of_users[flow(user)]).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(Place { _permits: Some([of_user, of_all]) })
    }
}

impl InFlight {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { reads: Places::new(limits.reads), writes: Places::new(limits.writes) }
    }

    /// The numbers of reads and writes in flight.
    pub(crate) fn taken(&self) -> (usize, usize) {
        (self.reads.taken(), self.writes.taken())
    }

    /// Takes a place, or returns 429. Members of `system:masters` have no limit.
    pub(crate) fn enter(&self, verb: &str, user: &User) -> Result<Place, Status> {
        let reads = matches!(verb, "get" | "list" | "watch" | "head" | "options");
        let places = if reads { &self.reads } else { &self.writes };
        match places.enter(&user.name) {
            Some(place) => Ok(place),
            None if user.is_in("system:masters") => Ok(Place { _permits: None }),
            None => Err(too_many_requests()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, groups: &[&str]) -> User {
        User {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..User::default()
        }
    }

    #[test]
    fn one_user_gets_half_of_the_places_and_administrators_have_no_limit() {
        let in_flight = InFlight::new(Limits { reads: 1, writes: 9, ..Limits::default() });
        let (carol, dave) = (user("carol", &[]), user("dave", &[]));
        let enter = |user: &User| in_flight.enter("create", user).ok();
        let of_carol: Vec<_> = (0..20).filter_map(|_| enter(&carol)).collect();
        assert_eq!((of_carol.len(), in_flight.taken()), (5, (0, 5)));
        let of_dave: Vec<_> = (0..20).filter_map(|_| enter(&dave)).collect();
        assert_eq!((of_dave.len(), in_flight.taken()), (4, (0, 9)));
        assert!(enter(&user("erin", &[])).is_none(), "no place is left");
        assert!(enter(&user("admin", &["system:masters"])).is_some());
        drop(of_carol);
        assert!(enter(&dave).is_some(), "a place that is given back is another's");
        assert!(in_flight.enter("get", &carol).is_ok(), "reads have places of their own, at least one for each user");
    }
}
