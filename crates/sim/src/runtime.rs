use std::time::Duration;

use tokio::time::Instant;

/// The mode of a runtime's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockMode {
    /// Like the machine's clock.
    Real,
    /// This many times as fast.
    Scaled(f64),
    /// Jumps to the next timer whenever all tasks are idle.
    Virtual,
}

/// How often a scaled clock is adjusted, on the machine's clock.
const PACE: Duration = Duration::from_millis(5);

/// Runs a future to completion on one thread, with a clock of this mode.
///
/// # Errors
/// If the system cannot provide the resources of a runtime.
///
/// ```
/// use coracle_sim::{ClockMode, run_in};
/// use std::time::Duration;
/// use tokio::time::{Instant, sleep};
///
/// let year = Duration::from_secs(365 * 24 * 3600);
/// let passed = run_in(ClockMode::Virtual, async {
///     let start = Instant::now();
///     sleep(year).await;
///     start.elapsed()
/// });
/// assert_eq!(passed.unwrap(), year);
/// ```
pub fn run_in<F: Future>(mode: ClockMode, future: F) -> std::io::Result<F::Output> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all();
    if mode != ClockMode::Real {
        builder.start_paused(true);
    }
    let runtime = builder.build()?;
    Ok(runtime.block_on(async move {
        let pacer = match mode {
            ClockMode::Scaled(factor) => Some(tokio::spawn(pace(factor))),
            ClockMode::Real | ClockMode::Virtual => None,
        };
        let output = future.await;
        if let Some(pacer) = pacer {
            pacer.abort();
        }
        output
    }))
}

/// Limits a paused clock to `factor` times the speed of the machine's clock.
///
/// A blocking task that has not ended keeps tokio from advancing a paused clock. So the clock stands still while the
/// machine's clock advances a little. Then it is released until a sleep until the next target fires: all timers before
/// that fire in order.
pub(crate) async fn pace(factor: f64) {
    let origin = Instant::now();
    let mut elapsed = Duration::ZERO;
    loop {
        #[expect(clippy::disallowed_methods, reason = "the brake of the paused clock")]
        let brake = tokio::task::spawn_blocking(|| std::thread::sleep(PACE));
        let _ = brake.await;
        elapsed += PACE.mul_f64(factor);
        tokio::time::sleep_until(origin + elapsed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_hour_passes_at_once_and_a_scaled_one_takes_its_share() {
        let hour = Duration::from_secs(3600);
        let passed = run_in(ClockMode::Virtual, async {
            let start = Instant::now();
            tokio::time::sleep(hour).await;
            start.elapsed()
        });
        assert_eq!(passed.unwrap(), hour);
        let fired = run_in(ClockMode::Scaled(36_000.0), async {
            let mut beats = 0;
            let mut heart = tokio::time::interval(Duration::from_secs(10));
            let end = Instant::now() + hour;
            while heart.tick().await < end {
                beats += 1;
            }
            beats
        });
        assert_eq!(fired.unwrap(), 360);
    }
}
