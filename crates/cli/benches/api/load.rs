use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::connection::{Connection, Target};
use crate::server::Server;

/// What a load came to.
pub(crate) struct Outcome {
    /// How long each operation took, sorted.
    pub(crate) latencies: Vec<Duration>,
    /// From the first to the last.
    pub(crate) took: Duration,
    /// The server's CPU time meanwhile.
    pub(crate) cpu: Duration,
}

impl Outcome {
    pub(crate) fn rate(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn at(&self, share: f64) -> Duration {
        match self.latencies.len() {
            0 => Duration::ZERO,
            count => self.latencies[((count - 1) as f64 * share) as usize],
        }
    }

    /// The server's CPU time for one operation, in microseconds.
    pub(crate) fn cpu_each(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.latencies.len().max(1) as f64
    }
}

/// Lets each of some connections do one operation after the other, until `most` of them are done or the time is over.
/// `operation` is told which connection it is on and the how many-th it is.
pub(crate) async fn run<F>(
    server: &Server,
    connections: usize,
    time: Duration,
    most: impl Fn(usize) -> u64,
    operation: F,
) -> Vec<WorkerOutcome>
where
    F: AsyncFn(&mut Connection, usize, u64) + Clone + 'static,
{
    let target = Target::of(&server.running);
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(target.connect().await);
    }
    let local = tokio::task::LocalSet::new();
    let until = Instant::now() + time;
    let mut workers = JoinSet::new();
    for (worker, mut connection) in open.into_iter().enumerate() {
        let (most, operation) = (most(worker), operation.clone());
        workers.spawn_local_on(
            async move {
                let mut latencies = Vec::new();
                while (latencies.len() as u64) < most && Instant::now() < until {
                    let start = Instant::now();
                    operation(&mut connection, worker, latencies.len() as u64).await;
                    latencies.push(start.elapsed());
                }
                (worker, latencies)
            },
            &local,
        );
    }
    let mut done: Vec<WorkerOutcome> = local.run_until(workers.join_all()).await;
    done.sort_by_key(|(worker, _)| *worker);
    done
}

/// A worker's number, and how long each of its operations took.
pub(crate) type WorkerOutcome = (usize, Vec<Duration>);

/// The same, measured.
pub(crate) async fn measured<F>(
    server: &Server,
    connections: usize,
    time: Duration,
    most: impl Fn(usize) -> u64,
    operation: F,
) -> (Outcome, Vec<u64>)
where
    F: AsyncFn(&mut Connection, usize, u64) + Clone + 'static,
{
    let (cpu, start) = (server.cpu(), Instant::now());
    let done = run(server, connections, time, most, operation).await;
    let (took, cpu) = (start.elapsed(), server.cpu() - cpu);
    let counts = done.iter().map(|(_, latencies)| latencies.len() as u64).collect();
    let mut latencies: Vec<Duration> = done.into_iter().flat_map(|(_, latencies)| latencies).collect();
    latencies.sort();
    (Outcome { latencies, took, cpu }, counts)
}
