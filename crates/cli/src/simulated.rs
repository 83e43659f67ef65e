//! Which Nodes are simulated.

use coracle_client::{Api, Client, ListParams};
use coracle_meta::{GroupVersionResource, Object};
use serde_json::Value;

/// The annotations that mark a Node as simulated; the second one is KWOK's.
pub(crate) const SIMULATED: [&str; 2] = ["coracle.dev/simulated", "kwok.x-k8s.io/node"];

/// The Nodes of a cluster.
pub(crate) fn nodes(client: &Client) -> Api<Object> {
    Api::dynamic(client, GroupVersionResource::new("", "v1", "nodes"))
}

/// Whether a Node is simulated.
pub(crate) fn is_simulated(node: &Object) -> bool {
    let annotations = node.field("metadata.annotations").and_then(Value::as_object);
    annotations.is_some_and(|found| SIMULATED.iter().any(|name| found.contains_key(*name)))
}

/// The names of the simulated Nodes in the API, sorted.
///
/// # Errors
/// The error of the API.
pub(crate) async fn simulated_nodes(client: &Client) -> coracle_client::Result<Vec<String>> {
    let all = nodes(client).list_all(&ListParams::default()).await?.items;
    let mut names: Vec<String> =
        all.iter().filter(|node| is_simulated(node)).map(|node| node.name().to_owned()).collect();
    names.sort_unstable();
    Ok(names)
}
