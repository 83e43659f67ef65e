use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use coracle_registry::User;

use crate::limits::fairness::{FLOWS, flow};

/// The bytes that clients hold in memory, in total and for each user, and their limit.
///
/// One user may hold at most half of the limit, as with [`InFlight`](crate::limits::in_flight::InFlight).
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    held: Arc<Counts>,
}

#[derive(Debug)]
struct Counts {
    all: AtomicUsize,
    of_users: Vec<AtomicUsize>,
}

/// Bytes that one user holds until this value is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    counts: Arc<Counts>,
    flow: usize,
    bytes: usize,
    /// The limit in bytes; `None` for users without a limit.
    most: Option<usize>,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Self {
        let of_users = (0..FLOWS).map(|_| AtomicUsize::new(0)).collect();
        Self { most, held: Arc::new(Counts { all: AtomicUsize::new(0), of_users }) }
    }

    /// An empty account of a user. Members of `system:masters` have no limit.
    pub(crate) fn account(&self, user: &User) -> Held {
        let most = (!user.is_in("system:masters")).then_some(self.most);
        Held { counts: Arc::clone(&self.held), flow: flow(&user.name), bytes: 0, most }
    }
}

impl Held {
    /// Adds bytes if the limits of the user and of all users permit. Returns whether they do.
    #[must_use]
    pub(crate) fn try_add(&mut self, bytes: usize) -> bool {
        self.add(bytes);
        let has_room = !self.is_over();
        if !has_room {
            self.give_back(bytes);
        }
        has_room
    }

    /// Whether the user or all users together exceed the limit.
    pub(crate) fn is_over(&self) -> bool {
        let Some(most) = self.most else { return false };
        let (all, user) = (self.counts.all.load(Ordering::Relaxed), self.of_user().load(Ordering::Relaxed));
        all > most || user > most.div_ceil(2)
    }

    /// Adds bytes that are already held, without a check.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.counts.all.fetch_add(bytes, Ordering::Relaxed);
        self.of_user().fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }

    /// Moves this number of bytes, or all if there are fewer, to a new account.
    pub(crate) fn take(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { counts: Arc::clone(&self.counts), flow: self.flow, bytes, most: self.most }
    }

    /// Releases this number of bytes.
    pub(crate) fn give_back(&mut self, bytes: usize) {
        self.counts.all.fetch_sub(bytes, Ordering::Relaxed);
        self.of_user().fetch_sub(bytes, Ordering::Relaxed);
        self.bytes -= bytes;
    }

    fn of_user(&self) -> &AtomicUsize {
        &self.counts.of_users[self.flow]
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_holds_at_most_half_of_the_bytes_and_administrators_have_no_limit() {
        let budget = Budget::new(100);
        let (carol, dave) = (User::new("carol", ["devs"]), User::new("dave", ["devs"]));
        let admin = User::new("admin", ["system:masters"]);
        let mut of_carol = budget.account(&carol);
        assert!(of_carol.try_add(30) && of_carol.try_add(20) && !of_carol.try_add(1));
        assert!(!budget.account(&carol).try_add(1), "what a user holds is counted together");
        let mut of_dave = budget.account(&dave);
        assert!(!of_dave.try_add(51) && of_dave.try_add(50));
        assert!(!budget.account(&User::new("erin", ["devs"])).try_add(1), "nothing is left");
        assert!(budget.account(&admin).try_add(1000));
        drop(of_carol);
        assert!(budget.account(&carol).try_add(50), "what is dropped is given back");
    }
}
