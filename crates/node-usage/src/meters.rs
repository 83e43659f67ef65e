use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::{Container, Node, Pod};
use coracle_kubelet_api::UsageOverrides;
use coracle_meta::{ApiObject, ObjectKey};
use jiff::SignedDuration;
use parking_lot::Mutex;

use crate::meter::Meter;
use crate::reading::{ContainerReading, NodeReading, PodReading};
use crate::usage::Usage;

/// How long past values can be read.
const KEPT: SignedDuration = SignedDuration::from_secs(60);

/// The meters of a node: the usage of its pods, and of the system next to them.
#[derive(Debug, Default)]
pub struct Meters {
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// The usage of the system, without pods; none before the node was first observed.
    system: Option<Meter>,
    pods: BTreeMap<ObjectKey, PodMeter>,
    /// CPU time of runs that were dropped.
    gone: u64,
    /// The last runs of pods that are gone.
    going: Vec<Meter>,
    /// What is wrong with the Node's annotations.
    faults: Vec<String>,
}

/// A run of a container.
#[derive(Clone, Copy, Debug)]
pub struct ContainerRun<'p> {
    /// The container.
    pub container: &'p Container,
    /// Whether it is one of the pod's init containers.
    pub is_init: bool,
    /// Since when it runs, if it does.
    pub since: Option<Timestamp>,
    /// When it ended, if it does not run.
    pub ended: Timestamp,
}

/// The runs of one pod's containers.
#[derive(Debug)]
struct PodMeter {
    uid: Box<str>,
    seen: Timestamp,
    runs: Vec<Meter>,
    /// CPU time of runs that were dropped.
    gone: u64,
    /// What is wrong with its annotations.
    faults: Vec<String>,
}

impl Meters {
    /// Updates the runs of a pod that was first seen at `seen`, and their usage from annotations and usage objects.
    /// Returns what is wrong with these, if it is new.
    pub fn observe(
        &self,
        pod: &Pod,
        seen: Timestamp,
        runs: &[ContainerRun<'_>],
        overrides: &UsageOverrides,
        now: Timestamp,
    ) -> Vec<String> {
        let key = pod.object_key();
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let mut counted = self.counted.lock();
        if counted.pods.get(&key).is_some_and(|known| *known.uid != *uid) {
            counted.forget(&key, now);
        }
        counted.prune(now);
        let known = counted.pods.entry(key).or_insert_with(|| PodMeter {
            uid: uid.into(),
            seen,
            runs: Vec::new(),
            gone: 0,
            faults: Vec::new(),
        });
        let faults = known.observe(pod, runs, overrides, now);
        let is_new = faults != known.faults;
        known.faults.clone_from(&faults);
        if is_new { faults } else { Vec::new() }
    }

    /// Starts the meter of the system if it does not run yet. The informer may not have the Node that was just
    /// registered.
    pub fn begin(&self, node: &Node, now: Timestamp) {
        let usage = Usage::of_system(node, &mut Vec::new());
        self.counted.lock().system.get_or_insert_with(|| Meter::new("", now, usage));
    }

    /// Updates the usage of the system from a Node's annotations. Returns what is wrong with them, if it is new.
    pub fn observe_node(&self, node: &Node, now: Timestamp) -> Vec<String> {
        let mut faults = Vec::new();
        let usage = Usage::of_system(node, &mut faults);
        let mut counted = self.counted.lock();
        match &mut counted.system {
            Some(system) => {
                system.change(&usage, now);
                system.forget_before(now - KEPT);
            }
            system => *system = Some(Meter::new("", now, usage)),
        }
        let is_new = faults != counted.faults;
        counted.faults.clone_from(&faults);
        if is_new { faults } else { Vec::new() }
    }

    /// Whether annotations of the Node set the usage of the system, now or before.
    pub fn is_system_usage_set(&self) -> bool {
        let counted = self.counted.lock();
        let default = Usage::of_system(&Node::default(), &mut Vec::new());
        counted.system.as_ref().is_some_and(|system| *system.usage() != default) || !counted.faults.is_empty()
    }

    /// When the usage of anything except CPU time changes next without a change of an object.
    pub fn changes_after(&self, now: Timestamp) -> Option<Timestamp> {
        let counted = self.counted.lock();
        let runs = counted.pods.values().flat_map(|pod| &pod.runs).chain(&counted.system);
        runs.filter_map(|run| run.changes_after(now)).min()
    }

    /// Forgets a pod that is gone.
    pub fn forget(&self, key: &ObjectKey, now: Timestamp) {
        self.counted.lock().forget(key, now);
    }

    /// The usage of the node at a moment that is at most a minute in the past; none before the node was first observed.
    pub fn read(&self, at: Timestamp) -> Option<NodeReading> {
        let counted = self.counted.lock();
        let system = counted.system.as_ref().filter(|system| system.read(at).is_some())?;
        let own = system.read(at)?;
        let pods: Vec<PodReading> = counted.pods.iter().filter_map(|(key, pod)| pod.read(key, at)).collect();
        let all = |amount: fn(&ContainerReading) -> u64| {
            pods.iter().map(|pod| pod.total(amount)).sum::<u64>().saturating_add(amount(&own))
        };
        let runs = counted.pods.values().flat_map(|pod| &pod.runs).chain(&counted.going).chain([system]);
        let gone = counted.pods.values().map(|pod| pod.gone).fold(counted.gone, u64::saturating_add);
        let cpu = runs.map(|run| run.cpu(at)).fold(gone, u64::saturating_add);
        Some(NodeReading {
            at,
            started: own.started,
            cpu,
            cpu_now: all(|own| own.cpu_now),
            memory: all(|own| own.memory),
            storage: all(|own| own.storage),
            pids: all(|own| own.pids),
            pods,
        })
    }

    /// The usage of one pod at a moment that is at most a minute in the past; none if no container of it ran then.
    pub fn read_pod(&self, key: &ObjectKey, at: Timestamp) -> Option<PodReading> {
        self.counted.lock().pods.get(key)?.read(key, at)
    }
}

impl Counted {
    fn forget(&mut self, key: &ObjectKey, now: Timestamp) {
        if let Some(mut pod) = self.pods.remove(key) {
            pod.runs.iter_mut().for_each(|run| run.end(now));
            self.going.append(&mut pod.runs);
            self.gone = self.gone.saturating_add(pod.gone);
        }
        self.prune(now);
    }

    /// Drops pods whose last moments cannot be requested any more.
    fn prune(&mut self, now: Timestamp) {
        let gone = &mut self.gone;
        self.going.retain(|run| keeps(run, gone, now));
    }
}

impl PodMeter {
    fn observe(
        &mut self,
        pod: &Pod,
        runs: &[ContainerRun<'_>],
        overrides: &UsageOverrides,
        now: Timestamp,
    ) -> Vec<String> {
        let mut faults = overrides.faults.clone();
        for &ContainerRun { container, is_init, since, ended } in runs {
            let own = overrides.of_containers.get(&container.name).copied().filter(|_| !is_init).unwrap_or_default();
            let usage = Usage::told(pod, container, is_init, &mut faults).but(own);
            let known = self.runs.iter_mut().rev().find(|run| *run.container == *container.name);
            match known {
                Some(run) if since.is_some_and(|since| run.counts(since)) => run.change(&usage, now),
                known => {
                    known.into_iter().for_each(|run| run.end(ended));
                    self.runs.extend(since.map(|since| Meter::new(&container.name, since, usage)));
                }
            }
        }
        let gone = &mut self.gone;
        self.runs.retain_mut(|run| {
            run.forget_before(now - KEPT);
            keeps(run, gone, now)
        });
        faults
    }

    fn read(&self, key: &ObjectKey, at: Timestamp) -> Option<PodReading> {
        let mut containers: Vec<ContainerReading> = self.runs.iter().filter_map(|run| run.read(at)).collect();
        containers.sort_by(|a, b| a.name.cmp(&b.name));
        let cpu = self.runs.iter().map(|run| run.cpu(at)).fold(self.gone, u64::saturating_add);
        let (uid, started) = (self.uid.to_string(), self.seen);
        (!containers.is_empty()).then(|| PodReading { key: key.clone(), uid, started, cpu, containers })
    }
}

/// Whether a run is kept; the CPU time of a dropped run is added to `gone`.
fn keeps(run: &Meter, gone: &mut u64, now: Timestamp) -> bool {
    let is_past = run.ended_before(now - KEPT);
    if is_past {
        *gone = gone.saturating_add(run.cpu(now));
    }
    !is_past
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn pod(uid: &str, cpu: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "default", "uid": uid, "annotations": {"coracle.dev/cpu": cpu}},
            "spec": {"containers": [{"name": "c"}]},
        }))
        .unwrap()
    }

    fn running(pod: &Pod, since: Timestamp) -> [ContainerRun<'_>; 1] {
        [ContainerRun { container: &pod.spec.containers[0], is_init: false, since: Some(since), ended: since }]
    }

    fn observe(meters: &Meters, pod: &Pod, seen: Timestamp, runs: &[ContainerRun<'_>], now: Timestamp) -> Vec<String> {
        meters.observe(pod, seen, runs, &Default::default(), now)
    }

    fn node(annotations: serde_json::Value) -> Node {
        serde_json::from_value(json!({"metadata": {"name": "n", "annotations": annotations}})).unwrap()
    }

    fn seconds(nanos: u64) -> u64 {
        nanos / 1_000_000_000
    }

    #[test]
    fn a_nodes_counter_continues_after_its_pods_are_deleted() {
        let meters = Meters::default();
        assert_eq!(meters.read(at(0)), None, "nobody has looked at the node");
        meters.observe_node(&node(json!({"coracle.dev/cpu": "1", "coracle.dev/memory": "1Gi"})), at(0));
        let web = pod("1", "2");
        observe(&meters, &web, at(0), &running(&web, at(0)), at(0));
        let reading = meters.read(at(10)).unwrap();
        assert_eq!((seconds(reading.cpu), reading.cpu_now, reading.pods.len()), (30, 3_000_000_000, 1));
        assert_eq!(seconds(meters.read_pod(&web.object_key(), at(10)).unwrap().cpu), 20);
        meters.forget(&web.object_key(), at(20));
        assert!(meters.read(at(20)).unwrap().pods.is_empty());
        assert_eq!(seconds(meters.read(at(10)).unwrap().cpu), 30, "what is past stays");
        for later in [30, 500] {
            meters.forget(&web.object_key(), at(later));
            assert_eq!(seconds(meters.read(at(later)).unwrap().cpu), 40 + later as u64);
        }
    }

    #[test]
    fn a_pod_of_the_same_name_starts_at_zero_and_an_error_is_reported_once() {
        let meters = Meters::default();
        let (one, two) = (pod("1", "1"), pod("2", "much"));
        assert_eq!(observe(&meters, &one, at(0), &running(&one, at(0)), at(0)), [""; 0]);
        let told = |second| observe(&meters, &two, at(10), &running(&two, at(10)), at(second)).len();
        assert_eq!((told(10), told(11)), (1, 0));
        let reading = meters.read_pod(&two.object_key(), at(20)).unwrap();
        assert_eq!((reading.uid.as_str(), reading.cpu), ("2", 10_000_000), "a thousandth of a core");
    }
}
