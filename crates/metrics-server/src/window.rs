use coracle_ambient::Timestamp;
use coracle_kubelet::{ContainerReading, NodeReading, PodReading};
use jiff::SignedDuration;

/// How often metrics are taken. In Kubernetes: `--metric-resolution=15s` of its manifests.
const RESOLUTION: SignedDuration = SignedDuration::from_secs(15);
/// How old a container has to be to be measured since its start. In Kubernetes: `freshContainerMinMetricsResolution`.
const FRESH: SignedDuration = SignedDuration::from_secs(10);

/// The last two moments at which metrics are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beats {
    pub(crate) before: Timestamp,
    pub(crate) last: Timestamp,
}

/// Average use in the window that ended at the last beat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    /// In billionths of a core.
    pub(crate) cpu: u64,
    /// In bytes, at its end.
    pub(crate) memory: u64,
    /// The length of the window.
    pub(crate) window: SignedDuration,
}

impl Beats {
    /// The beats are the same for all clients: whole quarters of minutes.
    pub(crate) fn before(now: Timestamp) -> Self {
        let second = now.as_second();
        let last = Timestamp::from_second(second - second.rem_euclid(RESOLUTION.as_secs())).unwrap_or(now);
        Self { before: last - RESOLUTION, last }
    }

    /// What a node used between the beats.
    pub(crate) fn node(self, before: &NodeReading, last: &NodeReading) -> Used {
        Used { cpu: rate(last.cpu.saturating_sub(before.cpu), RESOLUTION), memory: last.memory, window: RESOLUTION }
    }

    /// What the containers of a pod used; `None` unless it is known of all.
    ///
    /// In Kubernetes: `podStorage`.
    pub(crate) fn pod(self, before: Option<&PodReading>, last: &PodReading) -> Option<Vec<(String, Used)>> {
        let used = last.containers.iter().map(|own| Some((own.name.clone(), self.container(before, own)?)));
        used.collect()
    }

    fn container(self, before: Option<&PodReading>, last: &ContainerReading) -> Option<Used> {
        let age = self.last.duration_since(last.started);
        if age >= FRESH && age < RESOLUTION {
            return Some(Used { cpu: rate(last.cpu, age), memory: last.memory, window: age });
        }
        let before = before?.containers.iter().find(|own| own.name == last.name && own.started == last.started)?;
        Some(Used {
            cpu: rate(last.cpu.saturating_sub(before.cpu), RESOLUTION),
            memory: last.memory,
            window: RESOLUTION,
        })
    }
}

fn rate(nanos: u64, window: SignedDuration) -> u64 {
    let rate = u128::from(nanos) * 1_000_000_000 / window.as_nanos().unsigned_abs().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use coracle_meta::ObjectKey;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn reading(started: i64, seconds: u64) -> PodReading {
        let cpu = seconds * 1_000_000_000;
        let own = ContainerReading {
            name: "c".to_owned(),
            started: at(started),
            cpu,
            cpu_now: 0,
            memory: 5,
            storage: 0,
            pids: 1,
        };
        PodReading { key: ObjectKey::new("a", "b"), uid: String::new(), started: at(0), cpu, containers: vec![own] }
    }

    #[test]
    fn samples_are_at_multiples_of_15_seconds() {
        assert_eq!(Beats::before(at(44)), Beats { before: at(15), last: at(30) });
        assert_eq!(Beats::before(at(45)), Beats { before: at(30), last: at(45) });
    }

    #[test]
    fn a_container_is_measured_between_two_beats_or_from_its_start_if_that_is_long_enough_ago() {
        let beats = Beats::before(at(30));
        let of = |before: Option<&PodReading>, last: &PodReading| {
            let used = beats.pod(before, last)?.remove(0).1;
            Some((used.cpu / 1_000_000, used.window.as_secs()))
        };
        assert_eq!(of(Some(&reading(0, 3)), &reading(0, 6)), Some((200, 15)));
        assert_eq!(of(None, &reading(18, 6)), Some((500, 12)), "fresh");
        assert_eq!(of(None, &reading(21, 6)), None, "too fresh");
        assert_eq!(of(Some(&reading(0, 3)), &reading(16, 7)), Some((500, 14)), "started again");
        assert_eq!(of(Some(&reading(0, 3)), &reading(21, 7)), None, "started again just now");
    }
}
