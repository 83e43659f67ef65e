use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::runtime::pace;

/// The machine's clock. A stepped clock stands still while clients in other processes react, and they live in real time.
type RealInstant = std::time::Instant;

/// The stack size of the thread: several times what the deepest accepted objects need.
const STACK_BYTES: usize = 16 << 20;

/// How a clock that is not the machine's advances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// It stands still, except while a [`RunningClock`] exists.
    Stepped,
    /// It advances this many times as fast as the machine's clock.
    Scaled(f64),
}

/// A runtime on a thread of its own whose clock others advance: for a cluster whose clients are in other processes.
///
/// ```text
/// RunningClock (a caller advances)  --\
/// Hold (a call to another process) --> Brake --inhibits--> the paused clock of tokio --> timers, in their order
/// touch (a client may react)   --/
/// ```
/// The clock advances only while a [`RunningClock`] exists, no [`Hold`] exists, and no client was touched a moment ago. It
/// jumps from timer to timer, and only when all tasks of the runtime are idle. Clones are the same clock. The runtime
/// ends with [`Self::end`], or with the last clone.
#[derive(Clone)]
pub struct SteppedClock {
    runtime: Handle,
    brake: Arc<Brake>,
    _life: Arc<Life>,
}

impl std::fmt::Debug for SteppedClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SteppedClock")
    }
}

/// Ends the runtime when the last clone of a clock is dropped.
struct Life(Arc<Brake>);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What keeps the clock from advancing.
#[derive(Default)]
struct Brake {
    state: Mutex<BrakeState>,
    /// The state has changed, for the thread that waits until the clock may advance.
    changed: Condvar,
    /// The clock may no longer advance.
    pressed: Notify,
    /// All tasks of the runtime are idle.
    idle: Notify,
    ended: Notify,
}

#[derive(Default)]
struct BrakeState {
    running: usize,
    holds: usize,
    quiet_at: Option<RealInstant>,
    /// Whether tokio may advance its clock.
    is_open: bool,
    has_ended: bool,
}

impl BrakeState {
    /// How long the clock must stand still; `None` until the state changes.
    fn stands_for(&self, now: RealInstant) -> Option<Duration> {
        match self.quiet_at {
            _ if self.has_ended => Some(Duration::ZERO),
            _ if self.running == 0 || self.holds > 0 => None,
            Some(quiet_at) => Some(quiet_at.saturating_duration_since(now)),
            None => Some(Duration::ZERO),
        }
    }
}

impl Brake {
    /// Blocks its thread while the clock must stand still.
    fn wait(&self) {
        let mut state = self.state.lock();
        loop {
            match state.stands_for(real_now()) {
                Some(Duration::ZERO) => break,
                Some(time) => drop(self.changed.wait_for(&mut state, time)),
                None => self.changed.wait(&mut state),
            }
        }
        state.is_open = true;
    }

    /// Changes the state, so that the clock stands still if it must.
    fn change(&self, change: impl FnOnce(&mut BrakeState)) {
        let mut state = self.state.lock();
        change(&mut state);
        if std::mem::take(&mut state.is_open) {
            self.pressed.notify_one();
        }
        self.changed.notify_all();
    }

    fn end(&self) {
        self.change(|state| state.has_ended = true);
        self.ended.notify_one();
    }

    /// Lets tokio advance its clock whenever the state allows it. A blocking task that has not ended keeps tokio from
    /// advancing a paused clock.
    async fn drive(self: Arc<Self>) {
        while !self.state.lock().has_ended {
            let brake = Arc::clone(&self);
            #[expect(clippy::disallowed_methods, reason = "the brake of the paused clock")]
            let wait = tokio::task::spawn_blocking(move || brake.wait());
            let _ = wait.await;
            self.pressed.notified().await;
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "clients in other processes live in the machine's time")]
fn real_now() -> RealInstant {
    RealInstant::now()
}

/// The clock advances while it exists.
#[derive(Debug)]
#[must_use = "the clock advances only while it exists"]
pub struct RunningClock(SteppedClock);

impl Drop for RunningClock {
    fn drop(&mut self) {
        self.0.brake.change(|state| state.running -= 1);
    }
}

/// The clock stands still while it exists.
#[derive(Debug)]
#[must_use = "the clock stands still only while it exists"]
pub struct Hold(SteppedClock);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.brake.change(|state| state.holds -= 1);
    }
}

impl SteppedClock {
    /// Starts a runtime on a thread with this name.
    ///
    /// # Errors
    /// If the system cannot provide the thread.
    pub fn start(name: &str, pacing: Pace) -> std::io::Result<Self> {
        let brake = Arc::<Brake>::default();
        let idle = Arc::clone(&brake);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .on_thread_park(move || idle.idle.notify_waiters())
            .build()?;
        let (handle, driven) = (runtime.handle().clone(), Arc::clone(&brake));
        std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(move || {
            runtime.block_on(async {
                let driving = match pacing {
                    Pace::Stepped => tokio::spawn(Arc::clone(&driven).drive()),
                    Pace::Scaled(factor) => tokio::spawn(pace(factor)),
                };
                driven.ended.notified().await;
                driving.abort();
            });
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, _life: Arc::new(Life(Arc::clone(&brake))), brake })
    }

    /// The runtime whose clock it is.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Lets the clock advance.
    pub fn run(&self) -> RunningClock {
        self.brake.change(|state| state.running += 1);
        RunningClock(self.clone())
    }

    /// Keeps the clock from advancing, because another process works.
    pub fn hold(&self) -> Hold {
        self.brake.change(|state| state.holds += 1);
        Hold(self.clone())
    }

    /// Keeps the clock from advancing for a time of the machine's clock, because a client in another process may react
    /// to what it has just read.
    pub fn touch(&self, time: Duration) {
        let until = real_now() + time;
        self.brake.change(|state| state.quiet_at = state.quiet_at.max(Some(until)));
    }

    /// How long a client that was touched may still react.
    pub fn quiet_in(&self) -> Duration {
        let quiet_at = self.brake.state.lock().quiet_at;
        quiet_at.map_or(Duration::ZERO, |quiet_at| quiet_at.saturating_duration_since(real_now()))
    }

    /// Advances the clock by a time: all timers up to then fire in their order. Returns when the tasks that they woke
    /// are idle. Call it on the [runtime](Self::runtime).
    pub async fn advance(&self, time: Duration) {
        let target = Instant::now() + time;
        {
            let _running = self.run();
            sleep_until(target).await;
        }
        self.idle().await;
    }

    /// Waits until all tasks of the runtime are idle. The clock does not advance for that. Call it on the
    /// [runtime](Self::runtime).
    pub async fn idle(&self) {
        loop {
            self.brake.idle.notified().await;
            if self.brake.state.lock().holds == 0 {
                return;
            }
        }
    }

    /// Ends the runtime with all its tasks.
    pub fn end(&self) {
        self.brake.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Runs a future on the runtime of a clock, from a thread of the machine's time.
    fn on<T: Send + 'static>(clock: &SteppedClock, future: impl Future<Output = T> + Send + 'static) -> T {
        let (sender, receiver) = std::sync::mpsc::channel();
        clock.runtime().spawn(async move { drop(sender.send(future.await)) });
        receiver.recv().unwrap()
    }

    #[test]
    fn a_stepped_clock_stands_still_until_it_is_advanced_and_then_all_timers_fire_in_their_order() {
        let clock = SteppedClock::start("test", Pace::Stepped).unwrap();
        let ticks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&ticks);
        clock.runtime().spawn(async move {
            let mut beat = tokio::time::interval(Duration::from_secs(10));
            loop {
                beat.tick().await;
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let own = clock.clone();
        let passed = on(&clock, async move {
            own.idle().await;
            let start = Instant::now();
            own.advance(Duration::from_secs(24 * 3600)).await;
            start.elapsed()
        });
        assert_eq!(passed, Duration::from_secs(24 * 3600));
        assert_eq!(ticks.load(Ordering::Relaxed), 8641, "the first tick is at once, and the last at the target");
        let own = clock.clone();
        on(&clock, async move { own.idle().await });
        assert_eq!(ticks.load(Ordering::Relaxed), 8641, "the clock stands still again");
    }

    #[test]
    fn a_clock_waits_for_a_call_to_another_process() {
        let clock = SteppedClock::start("test", Pace::Stepped).unwrap();
        let (hold, own) = (clock.hold(), clock.clone());
        let done = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&done);
        clock.runtime().spawn(async move {
            own.advance(Duration::from_secs(1)).await;
            seen.store(1, Ordering::Relaxed);
        });
        let began = on(&clock, async { Instant::now() });
        assert_eq!(on(&clock, async { Instant::now() }), began);
        assert_eq!(done.load(Ordering::Relaxed), 0);
        drop(hold);
        let own = clock.clone();
        on(&clock, async move { own.advance(Duration::from_secs(2)).await });
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_touched_client_has_its_time_on_the_clock_of_the_machine() {
        let clock = SteppedClock::start("test", Pace::Stepped).unwrap();
        let time = Duration::from_millis(30);
        let began = real_now();
        clock.touch(time);
        let own = clock.clone();
        on(&clock, async move { own.advance(Duration::from_secs(3600)).await });
        assert!(began.elapsed() >= time);
        assert_eq!(clock.quiet_in(), Duration::ZERO);
    }

    #[test]
    fn tasks_are_dropped_with_the_last_clone() {
        let clock = SteppedClock::start("test", Pace::Stepped).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        clock.runtime().spawn(async move {
            let _kept = sender;
            std::future::pending::<()>().await;
        });
        drop(clock);
        assert!(receiver.recv().is_err(), "the sender is dropped");
    }
}
