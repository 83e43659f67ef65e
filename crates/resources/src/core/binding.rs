use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, GroupResource, GroupVersionResource, Object, Status, format_time};
use coracle_registry::{Action, BodyKind, Computed, KindSpec, Plan, Preconditions, Registry, Request, Verb};
use coracle_release::Release;
use serde_json::json;

use crate::built_in::built_in;
use crate::pod_condition::update_condition;
use crate::success_status::success;

/// `pods/binding`: binds a pod to a node. In Kubernetes: `BindingREST`.
pub(crate) struct Binding;

#[async_trait]
impl Action for Binding {
    fn name(&self) -> &str {
        "binding"
    }

    fn body(&self) -> BodyKind {
        BodyKind::built_in("", "v1", "Binding")
    }

    fn keeps_system_fields(&self) -> bool {
        true
    }

    fn check(&self, request: &Request, body: &Object) -> Result<(), Status> {
        if body.name() != request.at.name {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        check_target(body)
    }

    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status> {
        bind(registry, request, &body).await
    }
}

/// `bindings`, the older path of the same: the name of the binding is that of the pod.
/// In Kubernetes: `LegacyBindingREST`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec { computed: Some(Arc::new(LegacyBindings)), ..built_in(release, "", "v1", "bindings") }
}

struct LegacyBindings;

#[async_trait]
impl Computed for LegacyBindings {
    async fn create(&self, registry: &Registry, request: &Request, body: Object) -> Result<Object, Status> {
        check_target(&body)?;
        if body.name().is_empty() {
            return Err(Status::bad_request("Name parameter required."));
        }
        bind(registry, request, &body).await
    }
}

/// Refuses a binding whose target is not a node. Kubernetes returns these errors as a plain one, without a kind.
fn check_target(binding: &Object) -> Result<(), Status> {
    let wrong = wrong_target(binding);
    if wrong.is_empty() {
        return Ok(());
    }
    let texts: Vec<_> = wrong.iter().map(FieldError::message).collect();
    let text = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
    Err(Status { details: None, ..Status::failure(500, "", text) })
}

/// Binds the pod of the binding to its node.
async fn bind(registry: &Registry, request: &Request, binding: &Object) -> Result<Object, Status> {
    let name = binding.name().to_owned();
    let pods = GroupVersionResource::new("", "v1", "pods");
    let about = request.about(Verb::Update, pods.clone(), &request.at.namespace, &name);
    let set = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let preconditions = Preconditions { uid: set(binding.uid()), resource_version: set(binding.resource_version()) };
    let key = registry.kind(&pods).map(|kind| kind.store_key(&about)).unwrap_or_default();
    let now = format_time(request.now);
    let conflict = |with: &str, why: &str| Status::conflict(&GroupResource::new("", with), &name, why);
    registry
        .modify(&about, |pod| {
            preconditions.check_stored(&key, pod).map_err(|why| conflict("pods", &why))?;
            Plan::edit(pod, |pod| assign(pod, binding, &now).map_err(|why| conflict("pods/binding", &why)))
        })
        .await?;
    Ok(success())
}

fn wrong_target(binding: &Object) -> Vec<FieldError> {
    let kind = binding.text("target.kind");
    let mut wrong = Vec::new();
    if !matches!(kind, "" | "Node") {
        wrong.push(FieldError::not_supported("target.kind", kind, &["Node", "<empty>"]));
    }
    if binding.text("target.name").is_empty() {
        wrong.push(FieldError::required("target.name", ""));
    }
    wrong
}

/// Sets the node of the pod, or returns why it cannot be set.
fn assign(pod: &mut Object, binding: &Object, now: &str) -> Result<(), String> {
    let name = pod.name().to_owned();
    if pod.is_terminating() {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = pod.text("spec.nodeName");
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    if !pod.list("spec.schedulingGates").is_empty() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    pod.set("spec.nodeName", binding.text("target.name"));
    pod.remove("status.nominatedNodeName");
    for map in ["annotations", "labels"] {
        for (key, value) in binding.at("metadata").entries(map) {
            pod.set(&["metadata", map, key], value.clone());
        }
    }
    update_condition(pod, &json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_binding_names_the_pod_of_the_url() {
        let pods = GroupVersionResource::new("", "v1", "pods");
        let request = Request::new(Verb::Create, pods, coracle_ambient::Timestamp::UNIX_EPOCH).object("n", "a");
        let check = |binding: Value| {
            Binding
                .check(&request, &Object::from_value(binding).unwrap())
                .map_err(|status| (status.code, status.message))
        };
        let another = Err((400, "name in URL does not match name in Binding object".to_owned()));
        assert_eq!(check(json!({"metadata": {"name": "b"}, "target": {"name": "n1"}})), another);
        assert_eq!(check(json!({"target": {}})), another, "the name is compared before the target is looked at");
        assert_eq!(check(json!({"metadata": {"name": "a"}, "target": {"name": "n1"}})), Ok(()));
        let without = json!({"metadata": {"name": "a"}, "target": {"kind": "Node"}});
        assert_eq!(check(without), Err((500, "target.name: Required value".to_owned())));
    }

    #[test]
    fn a_pod_is_bound_once() {
        let binding = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}});
        let binding = Object::from_value(binding).unwrap();
        let mut pod = Object::from_value(json!({"metadata": {"name": "a"}, "spec": {}})).unwrap();
        assign(&mut pod, &binding, "now").unwrap();
        assert_eq!(pod.text("spec.nodeName"), "n1");
        assert_eq!(pod.list("status.conditions")[0].text("type"), "PodScheduled");
        assert_eq!(assign(&mut pod, &binding, "now"), Err("pod a is already assigned to node \"n1\"".to_owned()));
    }
}
