//! What controllers have done so far, and what it took.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use coracle_cluster::controllers::ControllerMetrics;

/// Reads what controllers count of themselves.
pub(crate) struct Readings(ControllerMetrics);

/// What controllers have done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    /// What their thread has used.
    pub(crate) cpu: Duration,
    pub(crate) controllers: BTreeMap<String, Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) syncs: u64,
    pub(crate) writes: u64,
    pub(crate) unchanged: u64,
}

impl Readings {
    pub(crate) fn of(metrics: &ControllerMetrics) -> Self {
        Self(metrics.clone())
    }

    /// How many keys were worked on.
    pub(crate) fn syncs(&self) -> u64 {
        self.controllers().values().map(|counts| counts.syncs).sum()
    }

    /// The work of this thread.
    pub(crate) fn take(&self, thread: &str) -> Work {
        Work { cpu: cpu_of(thread), controllers: self.controllers() }
    }

    fn controllers(&self) -> BTreeMap<String, Counts> {
        let mut controllers: BTreeMap<String, Counts> = BTreeMap::new();
        for line in self.0.text().lines() {
            let Some((metric, rest)) = line.split_once("{controller=\"") else { continue };
            let Some((name, rest)) = rest.split_once('"') else { continue };
            let count = rest.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
            let counts = controllers.entry(name.to_owned()).or_default();
            match metric {
                "coracle_controller_syncs_total" => counts.syncs += count,
                "coracle_controller_writes_total" => counts.writes += count,
                "coracle_controller_unchanged_writes_total" => counts.unchanged += count,
                _ => {}
            }
        }
        controllers
    }
}

impl Work {
    /// What was done since then.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let difference = |(name, now): (&String, &Counts)| {
            let before = before.controllers.get(name).copied().unwrap_or_default();
            let counts = Counts {
                syncs: now.syncs - before.syncs,
                writes: now.writes - before.writes,
                unchanged: now.unchanged - before.unchanged,
            };
            (name.clone(), counts)
        };
        Self { cpu: self.cpu - before.cpu, controllers: self.controllers.iter().map(difference).collect() }
    }
}

/// The CPU time of this process's threads of a name.
fn cpu_of(thread: &str) -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let named =
        tasks.filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == thread));
    let nanos = named.filter_map(|task| {
        let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
