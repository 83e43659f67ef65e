use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use coracle_meta::Status;

/// One turn of work.
pub(crate) type Turn = Pin<Box<dyn Future<Output = Result<(), Status>> + Send>>;

/// How many are woken when the work can go on: one is enough, unless nobody polls it.
const WOKEN: usize = 4;

/// Work that many wait for, turn by turn, without a task of its own: whoever of them is polled drives it.
///
/// So it cannot be held up by one of them that nobody polls any more, such as the watch of a client that does not read.
/// When it can go on, those are woken who were polled last; they are the likeliest to be polled again.
#[derive(Default)]
pub(crate) struct Relay {
    turn: Mutex<Option<Turn>>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting(Mutex<Waiters>);

#[derive(Default)]
struct Waiters {
    /// By the order in which they were polled.
    wakers: BTreeMap<u64, Waker>,
    polls: u64,
    /// How many wait, asleep or woken.
    count: usize,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_some(&self) {
        let woken: Vec<Waker> = {
            let mut waiters = self.lock();
            std::iter::from_fn(|| waiters.wakers.pop_last()).take(WOKEN).map(|(_, waker)| waker).collect()
        };
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_some();
    }
}

impl Relay {
    /// Waits until a turn is over, and is told what came of it if it was he who drove it to its end; `start` begins one
    /// if none is under way.
    pub(crate) fn join<F: Fn() -> Turn + Unpin>(&self, start: F) -> Joined<'_, F> {
        self.waiting.lock().count += 1;
        Joined { relay: self, start, place: None, has_driven: false }
    }

    fn turn(&self) -> MutexGuard<'_, Option<Turn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits for a turn.
pub(crate) struct Joined<'a, F> {
    relay: &'a Relay,
    start: F,
    /// Under which number his waker is kept, unless it was used.
    place: Option<u64>,
    /// Whether he drove a turn to its end: somebody has to begin the next.
    has_driven: bool,
}

impl<F: Fn() -> Turn + Unpin> Future for Joined<'_, F> {
    type Output = Result<(), Status>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let relay = self.relay;
        {
            let mut waiters = relay.waiting.lock();
            if let Some(place) = self.place.take() {
                waiters.wakers.remove(&place);
            }
            waiters.polls += 1;
            let place = waiters.polls;
            waiters.wakers.insert(place, context.waker().clone());
            self.place = Some(place);
        }
        let waker = Waker::from(Arc::clone(&relay.waiting));
        let mut turn = relay.turn();
        let running = turn.get_or_insert_with(&self.start);
        let Poll::Ready(outcome) = running.as_mut().poll(&mut Context::from_waker(&waker)) else {
            return Poll::Pending;
        };
        let over = turn.take();
        drop(turn);
        drop(over);
        self.has_driven = true;
        Poll::Ready(outcome)
    }
}

impl<F> Drop for Joined<'_, F> {
    fn drop(&mut self) {
        let (is_last, was_woken) = {
            let mut waiters = self.relay.waiting.lock();
            waiters.count -= 1;
            let was_woken = self.place.is_some_and(|place| waiters.wakers.remove(&place).is_none());
            (waiters.count == 0, was_woken)
        };
        if is_last {
            // A turn that nobody waits for is given up, and with it what it holds.
            let given_up = self.relay.turn().take();
            drop(given_up);
        } else if was_woken || self.has_driven {
            // Others have to do what he was woken for, or to begin the next turn.
            self.relay.waiting.wake_some();
        }
    }
}
