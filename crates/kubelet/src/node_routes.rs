//! What a node answers to who reads: how it fares, what it uses, which pods it has. Each path in one table.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::{ApiObject, ObjectKey};
use http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::statistics::{Statistics, cadvisor, kubelet_metrics, resource_metrics, summary};
use crate::view::BY_NODE;

/// An answer that is all there at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What else a kubelet answers, by the first step of its path, and nobody here can.
const NOT_BUILT: [&str; 9] =
    ["checkpoint", "configz", "cri", "debug", "flagz", "logs", "run", "runningpods", "portForward"];

impl Page {
    fn of(media_type: &'static str, text: String) -> Self {
        Self { status: StatusCode::OK, media_type, text }
    }

    fn json(value: &Value) -> Self {
        Self::of(JSON, value.to_string())
    }

    /// A refusal, and why.
    pub(crate) fn refusal(status: StatusCode, text: String) -> Self {
        Self { status, media_type: PLAIN, text }
    }
}

/// The answer to a path that begins neither a log nor a stream.
pub(crate) fn page(machine: &Machine, path: &[&str], query: &str, now: Timestamp) -> Page {
    let of_statistics = |tell: &dyn Fn(&Statistics) -> Page| match statistics(machine, moment(query, now), now) {
        Some(statistics) => tell(&statistics),
        None => Page::refusal(StatusCode::INTERNAL_SERVER_ERROR, "the node has not registered yet\n".to_owned()),
    };
    match path {
        ["healthz"] | ["healthz", "ping" | "log" | "syncloop"] => Page::of(PLAIN, "ok".to_owned()),
        ["stats", "summary"] => {
            let only_two = query.split('&').any(|pair| pair == "only_cpu_and_memory=true");
            of_statistics(&|statistics| Page::json(&summary(statistics, only_two)))
        }
        ["metrics"] => of_statistics(&|statistics| Page::of(METRICS, kubelet_metrics(statistics))),
        ["metrics", "resource"] => of_statistics(&|statistics| Page::of(METRICS, resource_metrics(statistics))),
        ["metrics", "cadvisor"] => of_statistics(&|statistics| Page::of(METRICS, cadvisor(statistics))),
        ["metrics", "probes"] => refused("metrics/probes"),
        ["pods"] => Page::json(&json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods(machine)})),
        [first, ..] if NOT_BUILT.contains(first) => refused(first),
        _ => Page::refusal(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
    }
}

fn refused(what: &str) -> Page {
    Page::refusal(StatusCode::NOT_IMPLEMENTED, format!("/{what} is not supported: simulated nodes do not have it\n"))
}

/// The pods that are bound to the node, in the order of their names.
fn pods(machine: &Machine) -> Vec<Value> {
    let mut pods: Vec<Arc<Pod>> =
        machine.reach().map_or_else(Vec::new, |reach| reach.pods.by_index(BY_NODE, &reach.node));
    pods.sort_by_cached_key(|pod| pod.object_key());
    pods.iter().filter_map(|pod| serde_json::to_value(&**pod).ok()).collect()
}

/// The moment that is asked about, at most a minute ago: `at`, in milliseconds. Unlike Kubernetes, where what is asked is
/// always how it is now, so that who wants to know what was used meanwhile has to ask twice.
fn moment(query: &str, now: Timestamp) -> Timestamp {
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("at=")?.parse().ok());
    let asked = asked.and_then(|millis| Timestamp::from_millisecond(millis).ok());
    asked.map_or(now, |asked| asked.clamp(now - SignedDuration::from_secs(60), now))
}

fn statistics(machine: &Machine, at: Timestamp, now: Timestamp) -> Option<Statistics> {
    let reach = machine.reach()?;
    let node = reach.nodes.get(&ObjectKey::cluster(reach.node.as_str()))?;
    machine.meters.observe_node(&node, now);
    let reading = machine.meters.read(at)?;
    let pods = reading.pods.iter().filter_map(|pod| Some((pod.key.clone(), reach.pods.get(&pod.key)?)));
    Some(Statistics { node, pods: pods.collect(), reading })
}
