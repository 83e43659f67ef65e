//! The GET endpoints of a node's API: health, usage, pods. One table lists all paths.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::{ApiObject, ObjectKey};
use coracle_node_usage::{Statistics, cadvisor, kubelet_metrics, resource_metrics, summary};
use http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::node::machine::Machine;
use crate::node::pod_view::BY_NODE;

/// A complete response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) media_type: &'static str,
    pub(crate) text: String,
}

const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Endpoints of a kubelet, by the first part of their path, that are not implemented here.
const NOT_BUILT: [&str; 9] =
    ["checkpoint", "configz", "cri", "debug", "flagz", "logs", "run", "runningpods", "portForward"];

impl Page {
    fn of(media_type: &'static str, text: String) -> Self {
        Self { status: StatusCode::OK, media_type, text }
    }

    fn json(value: &Value) -> Self {
        Self::of(JSON, value.to_string())
    }

    /// An error response with its message.
    pub(crate) fn refusal(status: StatusCode, text: String) -> Self {
        Self { status, media_type: PLAIN, text }
    }
}

/// The response for a path that is neither a log nor a stream.
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
        machine.exec_context().map_or_else(Vec::new, |context| context.pods.by_index(BY_NODE, &context.node));
    pods.sort_by_cached_key(|pod| pod.object_key());
    pods.iter().filter_map(|pod| serde_json::to_value(&**pod).ok()).collect()
}

/// The moment that a request is about, at most a minute in the past: the parameter `at`, in milliseconds. Unlike
/// Kubernetes, whose endpoints only return current values, so that a client has to ask twice to compute a rate.
fn moment(query: &str, now: Timestamp) -> Timestamp {
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("at=")?.parse().ok());
    let asked = asked.and_then(|millis| Timestamp::from_millisecond(millis).ok());
    asked.map_or(now, |asked| asked.clamp(now - SignedDuration::from_secs(60), now))
}

fn statistics(machine: &Machine, at: Timestamp, now: Timestamp) -> Option<Statistics> {
    let context = machine.exec_context()?;
    let node = context.nodes.get(&ObjectKey::cluster(context.node.as_str()))?;
    machine.meters.observe_node(&node, now);
    let reading = machine.meters.read(at)?;
    let pods = reading.pods.iter().filter_map(|pod| Some((pod.key.clone(), context.pods.get(&pod.key)?)));
    Some(Statistics { node, pods: pods.collect(), reading })
}
