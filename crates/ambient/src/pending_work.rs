use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::time::Instant;

/// The queues and caches of a process, so that a test can find out whether any of them has work left.
///
/// Clones share the list. It does not keep its members alive.
#[derive(Clone, Default)]
pub struct PendingWork {
    holders: Arc<Holders>,
}

#[derive(Default)]
struct Holders(Mutex<Vec<Weak<dyn HoldsWork>>>);

/// A queue or a cache.
pub trait HoldsWork: Send + Sync {
    /// Work that it has left, at least one item if there is any.
    fn pending(&self, horizon: &Horizon) -> Vec<Pending>;
}

/// Which work counts as left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// A cache has work left until it shows all changes up to this revision of the store.
    pub revision: i64,
    /// A delayed key counts if its delay was set by this time. Periodic work sets delays for ever.
    pub set_by: Instant,
    /// A delayed key counts if it is due by this time.
    pub due_by: Instant,
}

/// Work that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The queue or cache, and what it waits for: `queue job: default/pi is due`.
    pub what: String,
    /// When it is due, if it is not due yet.
    pub due: Option<Instant>,
}

impl PendingWork {
    /// Adds a queue or a cache.
    pub fn add(&self, holder: Weak<dyn HoldsWork>) {
        let mut holders = self.holders.0.lock();
        // Amortized: the list is scanned once for each time that it doubles.
        if holders.len() == holders.capacity() {
            holders.retain(|holder| holder.strong_count() > 0);
        }
        holders.push(holder);
    }

    /// All work that is left, in the order in which its holders were added.
    pub fn pending(&self, horizon: &Horizon) -> Vec<Pending> {
        self.holders.all().iter().flat_map(|holder| holder.pending(horizon)).collect()
    }

    /// The list of a part of the process. Its members count until the last clone of it is dropped, even if another part
    /// keeps them alive.
    #[must_use]
    pub fn part(&self) -> Self {
        let part = Self::default();
        let holders: Weak<Holders> = Arc::downgrade(&part.holders);
        self.add(holders);
        part
    }
}

impl Holders {
    /// The members. A member takes its own lock, so the lock of the list is not held meanwhile.
    fn all(&self) -> Vec<Arc<dyn HoldsWork>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

impl HoldsWork for Holders {
    fn pending(&self, horizon: &Horizon) -> Vec<Pending> {
        self.all().iter().flat_map(|holder| holder.pending(horizon)).collect()
    }
}

impl fmt::Debug for PendingWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingWork").field("holders", &self.holders.0.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Always(&'static str);

    impl HoldsWork for Always {
        fn pending(&self, _: &Horizon) -> Vec<Pending> {
            vec![Pending { what: self.0.to_owned(), due: None }]
        }
    }

    #[test]
    fn a_dropped_holder_has_no_work_and_leaves_the_list() {
        let now = Instant::now();
        let horizon = Horizon { revision: 1, set_by: now, due_by: now };
        let work = PendingWork::default();
        let holders: Vec<Arc<dyn HoldsWork>> = vec![Arc::new(Always("a")), Arc::new(Always("b"))];
        holders.iter().for_each(|holder| work.clone().add(Arc::downgrade(holder)));
        let names = || work.pending(&horizon).into_iter().map(|pending| pending.what).collect::<Vec<_>>();
        assert_eq!(names(), ["a", "b"]);
        drop(holders);
        assert!(names().is_empty());
        let kept: Arc<dyn HoldsWork> = Arc::new(Always("c"));
        for _ in 0..100 {
            work.add(Arc::downgrade(&(Arc::new(Always("short")) as Arc<dyn HoldsWork>)));
        }
        work.add(Arc::downgrade(&kept));
        assert_eq!(names(), ["c"]);
        assert!(work.holders.0.lock().len() < 10);
    }

    #[test]
    fn members_of_a_part_count_as_long_as_the_part_exists() {
        let now = Instant::now();
        let horizon = Horizon { revision: 1, set_by: now, due_by: now };
        let work = PendingWork::default();
        let (part, member) = (work.part(), Arc::new(Always("a")));
        let holder: Weak<dyn HoldsWork> = Arc::downgrade(&member) as Weak<dyn HoldsWork>;
        part.add(holder);
        assert_eq!(work.pending(&horizon), part.pending(&horizon));
        drop(part);
        assert!(work.pending(&horizon).is_empty(), "the member is alive, and its part is gone");
    }
}
