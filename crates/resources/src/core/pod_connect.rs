//! The subresources of a pod that connect to its node: `log`, `exec`, `attach`, `portforward` and `proxy`.

use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Object, Status, percent};
use coracle_registry::{Attributes, Connect, Decision, Destination, GetOptions, Registry, Request, Verb};

use coracle_meta::fields::Fields;
use serde_json::{Value, json};

/// `pods/log`. In Kubernetes: `LogLocation`.
pub(crate) struct Log;

/// The flags of a stream, and their names in the kubelet API. In Kubernetes: `streamParams`.
const STREAM_FLAGS: [(&str, &str); 4] = [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];

/// The parameters of a log request.
const LOG_PARAMETERS: [&str; 8] =
    ["follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream"];

#[async_trait]
impl Connect for Log {
    fn name(&self) -> &str {
        "log"
    }

    async fn connect(
        &self,
        registry: &Registry,
        request: &Request,
        _path: &str,
        query: &[(String, String)],
    ) -> Result<Destination, Status> {
        let pod = pod(registry, request).await?;
        let container = container(&pod, query)?;
        let parameters: Vec<String> = query
            .iter()
            .filter(|(name, _)| LOG_PARAMETERS.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}={}", percent::component(value)))
            .collect();
        let path = format!("/containerLogs/{}/{}/{container}", pod.namespace(), pod.name());
        Ok(Destination {
            node: node_of(registry, request, &pod).await?,
            path_and_query: if parameters.is_empty() { path } else { format!("{path}?{}", parameters.join("&")) },
            is_stream: false,
        })
    }
}

/// `pods/exec`, `pods/attach`, `pods/portforward`: streams to a container. Nothing listens on a simulated pod's ports.
pub(crate) struct Stream {
    name: &'static str,
}

impl Stream {
    /// `exec`
    pub(crate) const EXEC: Self = Self { name: "exec" };
    /// `attach`
    pub(crate) const ATTACH: Self = Self { name: "attach" };
    /// `portforward`
    pub(crate) const PORT_FORWARD: Self = Self { name: "portforward" };
}

#[async_trait]
impl Connect for Stream {
    fn name(&self) -> &str {
        self.name
    }

    fn verbs(&self) -> &[Verb] {
        &[Verb::Create, Verb::Get]
    }

    fn options(&self, _request: &Request, _path: &str, query: &[(String, String)]) -> Option<Value> {
        Some(options(self.name, query))
    }

    async fn connect(
        &self,
        registry: &Registry,
        request: &Request,
        _path: &str,
        query: &[(String, String)],
    ) -> Result<Destination, Status> {
        authorize_create(registry, request).await?;
        let pod = pod(registry, request).await?;
        let container = if self.name == "portforward" { String::new() } else { container(&pod, query)? };
        let node = node_of(registry, request, &pod).await?;
        if node.is_empty() {
            return Err(Status::bad_request(format!("pod {} does not have a host assigned", pod.name())));
        }
        if self.name == "portforward" {
            return Err(not_supported(request, "simulated pods listen on no ports"));
        }
        let flags = STREAM_FLAGS.into_iter().filter(|(flag, _)| is_set(query, flag));
        let flags = flags.map(|(_, at_node)| format!("{at_node}=1"));
        let command = values(query, "command").into_iter().map(|word| format!("command={}", percent::component(word)));
        let parameters: Vec<String> = flags.chain(command).collect();
        let path = format!("/{}/{}/{}/{container}", self.name, pod.namespace(), pod.name());
        Ok(Destination { node, path_and_query: format!("{path}?{}", parameters.join("&")), is_stream: true })
    }
}

/// A WebSocket is a GET, but permission to get a pod must not permit running commands in it, so `create` is authorized.
/// In Kubernetes: `ensureAuthorizedForVerb`, with `AuthorizePodWebsocketUpgradeCreatePermission`.
async fn authorize_create(registry: &Registry, request: &Request) -> Result<(), Status> {
    if request.verb == Verb::Create {
        return Ok(());
    }
    let attributes = Attributes::of_resource(&request.user, "create", Arc::clone(&request.at));
    match registry.authorize(&attributes).await? {
        Decision::Allow(_) => Ok(()),
        Decision::Deny(why) | Decision::NoOpinion(why) => {
            Err(Status::forbidden(&request.group_resource(), &request.at.name, &why))
        }
    }
}

/// The options of a stream as an object. In Kubernetes: `PodExecOptions`, `PodAttachOptions`, `PodPortForwardOptions`.
fn options(subresource: &str, query: &[(String, String)]) -> Value {
    if subresource == "portforward" {
        let ports = values(query, "ports")
            .into_iter()
            .flat_map(|list| list.split(','))
            .filter_map(|port| port.parse::<i32>().ok());
        let mut options = json!({"apiVersion": "v1", "kind": "PodPortForwardOptions"});
        let ports: Vec<i32> = ports.collect();
        if !ports.is_empty() {
            options["ports"] = ports.into();
        }
        return options;
    }
    let command = values(query, "command");
    let command = if command.is_empty() { Value::Null } else { command.into() };
    let mut options = match subresource {
        "exec" => json!({"apiVersion": "v1", "kind": "PodExecOptions", "command": command}),
        _ => json!({"apiVersion": "v1", "kind": "PodAttachOptions"}),
    };
    for flag in ["stdin", "stdout", "stderr", "tty"] {
        if is_set(query, flag) {
            options[flag] = true.into();
        }
    }
    if let Some(container) = values(query, "container").into_iter().next().filter(|name| !name.is_empty()) {
        options["container"] = container.into();
    }
    options
}

/// Every value except false means true.
fn is_set(query: &[(String, String)], flag: &str) -> bool {
    values(query, flag).first().is_some_and(|text| !["false", "0"].contains(&text.to_lowercase().as_str()))
}

fn values<'q>(query: &'q [(String, String)], name: &str) -> Vec<&'q str> {
    query.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).collect()
}

/// Unlike Kubernetes: there is no program behind a simulated object to connect to.
fn not_supported(request: &Request, why: &str) -> Status {
    let what = format!("{}/{}", request.at.resource.resource, request.at.subresource);
    Status::failure(501, "NotImplemented", format!("{what} is not supported: {why}"))
}

async fn pod(registry: &Registry, request: &Request) -> Result<Object, Status> {
    let pods = GroupVersionResource::new("", "v1", "pods");
    let request = request.about(Verb::Get, pods, &request.at.namespace, &request.at.name);
    let stored = registry.get(&request, &GetOptions::default()).await?;
    Ok(Object::clone(&stored.object()))
}

/// The node of the pod; empty if the pod is not scheduled. In Kubernetes, too, the error for a missing node has the
/// resource `pods`.
async fn node_of(registry: &Registry, request: &Request, pod: &Object) -> Result<String, Status> {
    let node = pod.text("spec.nodeName");
    if !node.is_empty() {
        let nodes = GroupVersionResource::new("", "v1", "nodes");
        let asked = request.about(Verb::Get, nodes, "", node);
        let found = registry.get(&asked, &GetOptions::default()).await;
        found.map_err(
            |error| if error.code == 404 { Status::not_found(&request.group_resource(), node) } else { error },
        )?;
    }
    Ok(node.to_owned())
}

/// The requested container, or the only one. In Kubernetes: `validateContainer`.
fn container(pod: &Object, query: &[(String, String)]) -> Result<String, Status> {
    let asked = query.iter().find(|(name, _)| name == "container").map_or("", |(_, value)| value.as_str());
    let name = pod.name();
    let all: Vec<&str> = ["initContainers", "containers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|list| pod.at("spec").list(list))
        .map(|container| container.text("name"))
        .collect();
    if !asked.is_empty() {
        if all.contains(&asked) {
            return Ok(asked.to_owned());
        }
        return Err(Status::bad_request(format!("container {asked} is not valid for pod {name}")));
    }
    match pod.list("spec.containers") {
        [only] => Ok(only.text("name").to_owned()),
        [] => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
        _ => Err(Status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
    }
}

/// `proxy` of pods and Services: no program serves HTTP there.
pub(crate) struct NoProxy;

#[async_trait]
impl Connect for NoProxy {
    fn name(&self) -> &str {
        "proxy"
    }

    fn verbs(&self) -> &[Verb] {
        &[Verb::Create, Verb::Delete, Verb::Get, Verb::Patch, Verb::Update]
    }

    fn options(&self, request: &Request, path: &str, _query: &[(String, String)]) -> Option<Value> {
        let kind = match request.at.resource.resource.as_str() {
            "pods" => "PodProxyOptions",
            "services" => "ServiceProxyOptions",
            _ => "NodeProxyOptions",
        };
        let mut options = json!({"apiVersion": "v1", "kind": kind});
        if !path.is_empty() {
            options["path"] = format!("/{}", path.trim_start_matches('/')).into();
        }
        Some(options)
    }

    async fn connect(
        &self,
        _registry: &Registry,
        request: &Request,
        _path: &str,
        _query: &[(String, String)],
    ) -> Result<Destination, Status> {
        let why = format!("simulated {} serve no HTTP of their own", request.at.resource.resource);
        Err(not_supported(request, &why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_stream_are_an_object() {
        let query = [("command", "ls"), ("command", "-l"), ("stdin", "true"), ("tty", "false"), ("container", "c")];
        let query: Vec<_> = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let exec = json!({
            "apiVersion": "v1", "kind": "PodExecOptions", "command": ["ls", "-l"], "stdin": true, "container": "c"
        });
        assert_eq!(options("exec", &query), exec);
        assert_eq!(options("attach", &[]), json!({"apiVersion": "v1", "kind": "PodAttachOptions"}));
        let ports = [("ports".to_owned(), "80,443".to_owned())];
        let forward = json!({"apiVersion": "v1", "kind": "PodPortForwardOptions", "ports": [80, 443]});
        assert_eq!(options("portforward", &ports), forward);
    }

    #[test]
    fn a_container_has_to_be_named_where_there_are_several() {
        let pod = |containers| {
            Object::from_value(json!({"metadata": {"name": "p"}, "spec": {"containers": containers}})).unwrap()
        };
        assert_eq!(container(&pod(json!([{"name": "a"}])), &[]).unwrap(), "a");
        let several = pod(json!([{"name": "a"}, {"name": "b"}]));
        let status = container(&several, &[]).unwrap_err();
        assert_eq!(status.message, "a container name must be specified for pod p, choose one of: [a b]");
        let asked = [("container".to_owned(), "c".to_owned())];
        assert!(container(&several, &asked).is_err());
    }
}
