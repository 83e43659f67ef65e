//! The template functions of KWOK, in addition to those of Go and sprig. In KWOK: `gotpl.defaultFuncs`, and those of
//! its controllers.

use coracle_meta::{ObjectKey, go_json, go_quote};
use coracle_template::Host;
use serde_json::{Value as Json, json};

use crate::yaml::to_yaml;

/// The names.
pub(crate) const NAMES: &[&str] = &[
    "Quote",
    "Now",
    "StartTime",
    "YAML",
    "Version",
    "NodeConditions",
    "NodeName",
    "NodeIP",
    "NodePort",
    "NodeIPWith",
    "NodeIPsWith",
    "PodIP",
    "PodIPWith",
    "PodIPsWith",
];

/// Knows the addresses of nodes and pods.
pub(crate) trait Addresses {
    /// The addresses of a node.
    fn of_node(&self, node: &str) -> Vec<String>;
    /// The addresses of a pod of `node`.
    fn of_pod(&self, node: &str, pod: &ObjectKey) -> Vec<String>;
}

/// The functions, for one object at one time.
pub(crate) struct Functions<'a> {
    pub(crate) key: &'a ObjectKey,
    /// In RFC 3339.
    pub(crate) now: String,
    /// When the stage runner started.
    pub(crate) started: &'a str,
    pub(crate) addresses: &'a dyn Addresses,
}

impl Host for Functions<'_> {
    fn call(&self, name: &str, arguments: &[Json]) -> Result<Json, String> {
        let text = |at: usize| arguments.get(at).and_then(Json::as_str).unwrap_or_default();
        let node = || self.addresses.of_node(text(0));
        let pod = || {
            let is_on_host_network = arguments.get(1).and_then(Json::as_bool).unwrap_or_default();
            if is_on_host_network { self.addresses.of_node(text(0)) } else { self.addresses.of_pod(text(0), self.key) }
        };
        let first = |addresses: Vec<String>| Json::from(addresses.into_iter().next().unwrap_or_default());
        Ok(match name {
            "Now" => self.now.clone().into(),
            "StartTime" => self.started.into(),
            "NodeName" => self.key.name.clone().into(),
            "NodeIP" => first(self.addresses.of_node(&self.key.name)),
            // A node whose status is written by stages has no port of its own.
            "NodePort" => Json::from(0),
            "NodeIPWith" => first(node()),
            "NodeIPsWith" => node().into(),
            "PodIP" => first(self.addresses.of_pod("", self.key)),
            "PodIPWith" => first(pod()),
            "PodIPsWith" => pod().into(),
            _ => return pure(name, arguments),
        })
    }
}

/// The functions that only need their arguments.
pub(crate) fn pure(name: &str, arguments: &[Json]) -> Result<Json, String> {
    match (name, arguments) {
        ("Quote", [value]) => Ok(quoted(value).into()),
        ("YAML", [value]) => Ok(to_yaml(value).into()),
        ("YAML", [value, indent]) => {
            let indent = indent.as_u64().filter(|indent| *indent < 100).ok_or("indents by no such number")?;
            let text = to_yaml(value);
            Ok(match indent {
                0 => text,
                indent => {
                    let pad = " ".repeat(usize::try_from(indent).unwrap_or_default() * 2);
                    format!("\n{text}").replace('\n', &format!("\n{pad}"))
                }
            }
            .into())
        }
        ("Version", []) => Ok(env!("CARGO_PKG_VERSION").into()),
        ("NodeConditions", []) => Ok(node_conditions()),
        _ => Err(format!("{name} takes other arguments")),
    }
}

fn quoted(value: &Json) -> String {
    let text = go_json(&value.to_string());
    if value.is_string() { text } else { go_quote(&text) }
}

fn node_conditions() -> Json {
    let conditions = [
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    ];
    let condition = |(name, status, reason, message)| {
        json!({
            "type": name, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": null, "lastTransitionTime": null,
        })
    };
    conditions.into_iter().map(condition).collect()
}
