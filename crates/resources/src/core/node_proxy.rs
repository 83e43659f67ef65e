//! `nodes/proxy`: a proxy to the kubelet API of a node.

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Status, percent};
use coracle_registry::{Connect, Destination, GetOptions, Registry, Request, Verb};
use serde_json::Value;

use super::pod_connect::NoProxy;

/// Forwards requests to a node. In Kubernetes: `pkg/registry/core/node/rest.ProxyREST`.
pub(crate) struct NodeProxy;

/// The default port of a kubelet, which every simulated node has in addition to the one in its status.
const KUBELET_PORT: &str = "10250";

/// The streaming paths of the kubelet API.
const STREAMS: [&str; 4] = ["attach", "exec", "portForward", "run"];

#[async_trait]
impl Connect for NodeProxy {
    fn name(&self) -> &str {
        "proxy"
    }

    fn verbs(&self) -> &[Verb] {
        NoProxy.verbs()
    }

    fn options(&self, request: &Request, path: &str, query: &[(String, String)]) -> Option<Value> {
        NoProxy.options(request, path, query)
    }

    async fn connect(
        &self,
        registry: &Registry,
        request: &Request,
        path: &str,
        query: &[(String, String)],
    ) -> Result<Destination, Status> {
        let (name, port) = name_and_port(&request.at.name);
        let nodes = GroupVersionResource::new("", "v1", "nodes");
        let asked = request.about(Verb::Get, nodes, "", name);
        let node = registry.get(&asked, &GetOptions::default()).await?.object();
        let own_port = node.at("status.daemonEndpoints.kubeletEndpoint.Port").as_u64().unwrap_or_default().to_string();
        if !["", KUBELET_PORT, &own_port].contains(&port) {
            return Err(not_supported(&format!("simulated nodes do not listen on port {port}")));
        }
        let first = path.split('/').next().unwrap_or_default();
        if STREAMS.contains(&first) {
            return Err(not_supported(&format!("{first} goes by way of the pod")));
        }
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{}={}", percent::component(name), percent::component(value)))
            .collect();
        let path = format!(
            "/{}",
            path.split('/').map(|step| percent::component(step).to_string()).collect::<Vec<_>>().join("/")
        );
        Ok(Destination {
            node: name.to_owned(),
            path_and_query: if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) },
            is_stream: false,
        })
    }
}

fn not_supported(why: &str) -> Status {
    Status::failure(501, "NotImplemented", format!("nodes/proxy is not supported: {why}"))
}

/// The name of the node, and the port. In Kubernetes: `SplitSchemeNamePort`.
fn name_and_port(name: &str) -> (&str, &str) {
    match name.split(':').collect::<Vec<_>>().as_slice() {
        [name, port] | [_, name, port] => (name, port),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_be_named_with_its_scheme_and_port() {
        assert_eq!(name_and_port("node-1"), ("node-1", ""));
        assert_eq!(name_and_port("node-1:10250"), ("node-1", "10250"));
        assert_eq!(name_and_port("https:node-1:"), ("node-1", ""));
        assert_eq!(name_and_port("https:node-1:10250"), ("node-1", "10250"));
    }
}
