//! How many pods a second are given nodes, without an API server: `cargo bench -p coracle-scheduler`.
//!
//! ```text
//! nodes, pods that are there already -> the measured pods -> decide, count there, be told that it is bound
//! ```
//! Workloads and shapes are those of Kubernetes' `test/integration/scheduler_perf`, by the same names. With words as
//! arguments, only workloads whose names hold one of them run; `--nodes N` changes how many nodes there are. Rates are
//! those of CPU time, where the system tells it (`schedstat`): others may be at work on the same machine.

use std::sync::Arc;
use std::time::Duration;

use coracle_ambient::Random;
use coracle_api::core_v1::{Node, Pod};
use coracle_meta::LabelSelector;
use coracle_scheduler::{Assumed, Backoff, Budget, PodVolumes, Room, SchedulerState, SchedulingDecision, Surroundings};
use serde_json::{Value, json};
use tokio::time::Instant;

/// One row of the table.
struct Workload {
    name: &'static str,
    /// The zones over which nodes are spread.
    zones: &'static [&'static str],
    /// Pods that have their place when the measurement begins, and what they are like.
    before: (usize, fn(usize) -> Value),
    /// Pods that are waiting in vain when the measurement begins.
    in_vain: usize,
    /// The pods that are measured.
    measured: (usize, fn(usize) -> Value),
    /// Whether pods of one owner are spread by default.
    with_owner: bool,
    /// How many a second there should be.
    bar: f64,
}

const MOON: &[&str] = &["moon-1", "moon-2", "moon-3"];
const ONE: &[&str] = &["zone1"];
const PLAIN: Workload = Workload {
    name: "SchedulingBasic",
    zones: &[],
    before: (1000, default_pod),
    in_vain: 0,
    measured: (10_000, default_pod),
    with_owner: false,
    bar: 5000.0,
};
const WORKLOADS: [Workload; 11] = [
    PLAIN,
    Workload { name: "SchedulingBasic, 150,000 there", before: (150_000, light), ..PLAIN },
    Workload { name: "SchedulingBasic, spread by owner", with_owner: true, zones: MOON, bar: 1000.0, ..PLAIN },
    Workload { name: "SchedulingNodeAffinity", zones: ONE, measured: (10_000, node_affinity), bar: 3000.0, ..PLAIN },
    Workload {
        name: "SchedulingPodAntiAffinity",
        before: (1000, |at| apart("sched-0", at)),
        measured: (2000, |at| apart("sched-1", at)),
        bar: 1000.0,
        ..PLAIN
    },
    Workload {
        name: "SchedulingPodAffinity",
        zones: ONE,
        before: (5000, |at| together("sched-0", at)),
        measured: (5000, |at| together("sched-1", at)),
        bar: 1000.0,
        ..PLAIN
    },
    Workload {
        name: "SchedulingPreferredPodAffinity",
        before: (5000, |at| preferred("podAffinity", "sched-0", at)),
        measured: (5000, |at| preferred("podAffinity", "sched-1", at)),
        bar: 1000.0,
        ..PLAIN
    },
    Workload {
        name: "SchedulingPreferredPodAntiAffinity",
        before: (5000, |at| preferred("podAntiAffinity", "sched-0", at)),
        measured: (5000, |at| preferred("podAntiAffinity", "sched-1", at)),
        bar: 1000.0,
        ..PLAIN
    },
    Workload {
        name: "TopologySpreading",
        zones: MOON,
        before: (5000, default_pod),
        measured: (5000, spreading),
        bar: 1000.0,
        ..PLAIN
    },
    Workload {
        name: "PreemptionBasic",
        before: (20_000, |at| sized(at, "low", 0, "900m", "500Mi")),
        measured: (5000, |at| sized(at, "high", 10, "3", "500Mi")),
        bar: 1000.0,
        ..PLAIN
    },
    Workload { name: "Unschedulable", in_vain: 10_000, bar: 2000.0, ..PLAIN },
];

/// No volumes, no budgets, and one owner for all or none.
struct Alone {
    owner: Option<LabelSelector>,
}

impl Surroundings for Alone {
    fn siblings(&self, _: &Pod) -> Option<LabelSelector> {
        self.owner.clone()
    }

    fn volumes(&self, _: &Pod, _: &Assumed) -> PodVolumes {
        PodVolumes::default()
    }

    fn budgets(&self) -> Vec<Budget> {
        Vec::new()
    }
}

/// The scheduler and what stands in for the API server.
struct Bench {
    state: SchedulerState,
    around: Alone,
    now: Instant,
    made: usize,
    bound: usize,
    attempts: usize,
}

impl Bench {
    fn new(workload: &Workload, nodes: usize) -> Self {
        let owner = workload.with_owner.then(|| LabelSelector::parse("app=web").expect("a selector"));
        let mut bench = Self {
            state: SchedulerState::new(&[Arc::default()], Backoff::default(), &Random::from_seed(1)),
            around: Alone { owner },
            now: Instant::now(),
            made: 0,
            bound: 0,
            attempts: 0,
        };
        for at in 0..nodes {
            bench.state.node(&node(at, workload.zones), bench.now);
        }
        bench
    }

    fn add(&mut self, (count, template): (usize, fn(usize) -> Value)) {
        for _ in 0..count {
            let pod = pod(template(self.made));
            self.made += 1;
            self.state.pod(None, &Arc::new(pod), &[], self.now);
        }
    }

    /// Puts pods on the nodes in turn, as a scheduler before this one did.
    fn place(&mut self, (count, template): (usize, fn(usize) -> Value), nodes: usize) {
        for at in 0..count {
            let mut pod = pod(template(self.made));
            self.made += 1;
            pod.spec.node_name = node_name(at * 7 % nodes);
            self.state.pod(None, &Arc::new(pod), &[], self.now);
        }
    }

    /// Decides until nothing is due.
    fn run(&mut self) {
        while let Some(attempt) = self.state.next(self.now, &self.around) {
            self.attempts += 1;
            match attempt.decision {
                SchedulingDecision::Bind(choice, _) => {
                    let mut pod = attempt.pod.as_ref().clone();
                    pod.spec.node_name = choice.node;
                    self.state.bound(&attempt.info.key);
                    self.state.pod(Some(&attempt.pod), &Arc::new(pod), &[], self.now);
                    self.bound += 1;
                }
                SchedulingDecision::NoNodes => panic!("there are nodes"),
                SchedulingDecision::Unfit(_, Room { victims: Some(victims), .. }) => {
                    let mut pod = attempt.pod.as_ref().clone();
                    pod.status.nominated_node_name.clone_from(&victims.node);
                    self.state.pod(Some(&attempt.pod), &Arc::new(pod), &[], self.now);
                    for victim in &victims.pods {
                        self.state.pod_gone(&victim.key, self.now);
                    }
                }
                SchedulingDecision::Unfit(..) => {}
            }
        }
    }
}

/// What this thread took of the processor, in seconds; on systems that do not tell, what passed.
#[expect(clippy::disallowed_methods, reason = "a benchmark is about the time that passes outside")]
fn clock() -> impl Fn() -> f64 {
    let start = std::time::Instant::now();
    move || {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let told = told.and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
        told.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
    }
}

fn measure(workload: &Workload, nodes: usize) {
    let mut bench = Bench::new(workload, nodes);
    bench.place(workload.before, nodes);
    bench.add((workload.in_vain, |at| sized(at, "large", 10, "9", "500Mi")));
    bench.run();
    (bench.bound, bench.attempts) = (0, 0);
    bench.now += Duration::from_secs(20);
    bench.add(workload.measured);
    let clock = clock();
    let start = clock();
    bench.run();
    let took = clock() - start;
    let rate = bench.bound as f64 / took;
    let verdict = if rate >= workload.bar { "" } else { "below" };
    println!(
        "{:<36} {:>8} {:>8} {:>9} {:>10.0} {:>8.0} {verdict}",
        workload.name, workload.before.0, bench.bound, bench.attempts, rate, workload.bar
    );
    assert_eq!(bench.bound, workload.measured.0, "every measured pod gets a node");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut nodes, mut words) = (5000, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--nodes" => nodes = arguments.next().and_then(|count| count.parse().ok()).expect("--nodes takes a number"),
            "--bench" | "--test" => {}
            _ => words.push(argument),
        }
    }
    println!("{nodes} nodes");
    println!("{:<36} {:>8} {:>8} {:>9} {:>10} {:>8}", "workload", "before", "pods", "attempts", "pods/s", "bar");
    for workload in &WORKLOADS {
        if words.is_empty() || words.iter().any(|word| workload.name.contains(word)) {
            measure(workload, nodes);
        }
    }
}

fn node_name(at: usize) -> String {
    format!("scheduler-perf-{at:05}")
}

fn node(at: usize, zones: &[&str]) -> Node {
    let mut labels = json!({"kubernetes.io/hostname": node_name(at)});
    if !zones.is_empty() {
        labels["topology.kubernetes.io/zone"] = zones[at % zones.len()].into();
    }
    let amounts = json!({"pods": "110", "cpu": "4", "memory": "32Gi"});
    let node = json!({
        "metadata": {"name": node_name(at), "labels": labels},
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["registry.k8s.io/pause:3.10.1"], "sizeBytes": 742_080}],
        },
    });
    serde_json::from_value(node).expect("a node")
}

fn pod(pod: Value) -> Pod {
    serde_json::from_value(pod).expect("a pod")
}

fn template(namespace: &str, at: usize, labels: Value, cpu: &str, memory: &str) -> Value {
    let amounts = json!({"cpu": cpu, "memory": memory});
    json!({
        "metadata": {"name": format!("pod-{at:06}"), "namespace": namespace, "uid": format!("uid-{at}"), "labels": labels},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{
                "name": "pause", "image": "registry.k8s.io/pause:3.10.1", "ports": [{"containerPort": 80}],
                "resources": {"requests": amounts, "limits": amounts},
            }],
        },
    })
}

fn default_pod(at: usize) -> Value {
    template("default", at, json!({"app": "web"}), "100m", "500Mi")
}

fn light(at: usize) -> Value {
    template("default", at, json!({"app": "db"}), "10m", "10Mi")
}

fn sized(at: usize, label: &str, priority: i64, cpu: &str, memory: &str) -> Value {
    let mut pod = template("default", at, json!({"app": label}), cpu, memory);
    pod["spec"]["priority"] = priority.into();
    pod
}

fn node_affinity(at: usize) -> Value {
    let zones = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone1", "zone2"]});
    let mut pod = default_pod(at);
    pod["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [zones]}],
    }}});
    pod
}

fn near(namespace: &str, at: usize, color: &str, affinity: Value) -> Value {
    let mut pod = template(namespace, at, json!({"color": color}), "100m", "500Mi");
    pod["spec"]["affinity"] = affinity;
    pod
}

fn term(color: &str, key: &str) -> Value {
    json!({
        "labelSelector": {"matchLabels": {"color": color}}, "topologyKey": key, "namespaces": ["sched-1", "sched-0"],
    })
}

fn together(namespace: &str, at: usize) -> Value {
    let terms = [term("blue", "topology.kubernetes.io/zone")];
    near(namespace, at, "blue", json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}))
}

fn apart(namespace: &str, at: usize) -> Value {
    let terms = [term("green", "kubernetes.io/hostname")];
    near(namespace, at, "green", json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}))
}

fn preferred(what: &str, namespace: &str, at: usize) -> Value {
    let terms = [json!({"weight": 1, "podAffinityTerm": term("red", "kubernetes.io/hostname")})];
    let mut affinity = json!({});
    affinity[what] = json!({"preferredDuringSchedulingIgnoredDuringExecution": terms});
    near(namespace, at, "red", affinity)
}

fn spreading(at: usize) -> Value {
    let mut pod = template("default", at, json!({"color": "blue"}), "100m", "500Mi");
    pod["spec"]["topologySpreadConstraints"] = json!([{
        "maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }]);
    pod
}
