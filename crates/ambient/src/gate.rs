use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

tokio::task_local! {
    /// The gate of the task that is polled.
    static CURRENT: Gate;
}

/// Whether the tasks of a component may run. Behind a closed gate no task is polled, as no thread of a process runs that
/// was stopped by SIGSTOP: nothing is sent or received, and no timer fires. When the gate opens, the tasks continue, and
/// timers that are due fire at once. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate {
    state: Arc<State>,
    /// The gate of the process in which the component runs.
    outer: Option<Arc<Gate>>,
}

#[derive(Default)]
struct State {
    is_closed: AtomicBool,
    /// What waits until the gate opens.
    waiting: Mutex<Vec<Waker>>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("is_open", &self.is_open()).finish()
    }
}

impl Gate {
    /// The gate of the task that calls this; an open one, if it has none.
    pub fn current() -> Self {
        CURRENT.try_with(Self::clone).unwrap_or_default()
    }

    /// A gate of a part: it is closed while it or this one is.
    #[must_use]
    pub fn within(&self) -> Self {
        Self { state: Arc::default(), outer: Some(Arc::new(self.clone())) }
    }

    /// Closes the gate; false if it was closed.
    pub fn close(&self) -> bool {
        !self.state.is_closed.swap(true, Ordering::Relaxed)
    }

    /// Opens the gate; false if it was open.
    pub fn open(&self) -> bool {
        let was_closed = self.state.is_closed.swap(false, Ordering::Relaxed);
        let waiting = std::mem::take(&mut *self.state.waiting.lock());
        waiting.into_iter().for_each(Waker::wake);
        was_closed
    }

    /// Whether tasks may run.
    pub fn is_open(&self) -> bool {
        !self.state.is_closed.load(Ordering::Relaxed) && self.outer.as_ref().is_none_or(|outer| outer.is_open())
    }

    /// Waits until the gate is open.
    pub async fn opened(&self) {
        std::future::poll_fn(|context| if self.lets_pass(context.waker()) { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }

    /// A future that is polled while the gate is open only.
    pub fn guard<F: Future>(&self, future: F) -> Gated<F> {
        Gated { gate: Some(self.clone()), future: Box::pin(future) }
    }

    /// Whether the gate is open; if it is not, `waker` is woken when it opens.
    fn lets_pass(&self, waker: &Waker) -> bool {
        if let Some(outer) = &self.outer
            && !outer.lets_pass(waker)
        {
            return false;
        }
        if !self.state.is_closed.load(Ordering::Relaxed) {
            return true;
        }
        let mut waiting = self.state.waiting.lock();
        // Opening takes the lock after it has changed the flag.
        let is_closed = self.state.is_closed.load(Ordering::Relaxed);
        if is_closed && !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
        !is_closed
    }
}

/// A future for a new task of the component whose task calls this: it has the same gate.
pub fn gated<F: Future>(future: F) -> Gated<F> {
    Gated { gate: CURRENT.try_with(Gate::clone).ok(), future: Box::pin(future) }
}

/// A future behind a gate.
#[must_use = "futures do nothing unless they are polled"]
pub struct Gated<F> {
    gate: Option<Gate>,
    future: Pin<Box<F>>,
}

impl<F> fmt::Debug for Gated<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gated").field("gate", &self.gate).finish_non_exhaustive()
    }
}

impl<F: Future> Future for Gated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(gate) = self.gate.clone() else { return self.future.as_mut().poll(context) };
        if !gate.lets_pass(context.waker()) {
            return Poll::Pending;
        }
        CURRENT.sync_scope(gate, || self.future.as_mut().poll(context))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    async fn count(ticks: Arc<AtomicU32>) {
        loop {
            sleep(SECOND).await;
            ticks.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn behind_a_closed_gate_no_timer_fires_also_in_tasks_that_a_task_has_spawned() {
        let (gate, began) = (Gate::default(), Instant::now());
        let ticks = [Arc::<AtomicU32>::default(), Arc::default()];
        let [own, of_a_child] = ticks.clone();
        let task = gate.guard(async move {
            tokio::spawn(gated(count(of_a_child)));
            count(own).await;
        });
        tokio::spawn(task);
        let counted = || ticks.each_ref().map(|ticks| ticks.load(Ordering::Relaxed));
        sleep(SECOND * 5 / 2).await;
        assert_eq!(counted(), [2, 2]);
        assert!(gate.close() && !gate.close());
        sleep(10 * SECOND).await;
        assert_eq!(counted(), [2, 2]);
        assert!(gate.open() && !gate.open());
        // The timer that was due fires at once, and the next one begins with it.
        sleep(SECOND / 4).await;
        assert_eq!(counted(), [3, 3]);
        assert_eq!(began.elapsed(), SECOND * 51 / 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_runs_while_its_own_gate_and_the_outer_one_are_open() {
        let outer = Gate::default();
        let inner = outer.within();
        let ticks = Arc::<AtomicU32>::default();
        tokio::spawn(inner.guard(count(Arc::clone(&ticks))));
        for (gate, expected) in [(&outer, 2), (&inner, 5)] {
            sleep(SECOND * 5 / 2).await;
            gate.close();
            assert!(!inner.is_open());
            sleep(10 * SECOND).await;
            assert_eq!(ticks.load(Ordering::Relaxed), expected);
            gate.open();
        }
        assert!(inner.is_open());
    }
}
