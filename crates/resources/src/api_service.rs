//! `apiservices.apiregistration.k8s.io`: which server answers for a group and version.

use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut};
use coracle_meta::{FieldError, GroupVersionResource, Object, Status, format_time, names};
use coracle_registry::{Derived, KindSpec, Lists, Registry, Request, TableColumn, Verb};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::field_checks::Wrong;

/// `apiservices.apiregistration.k8s.io`. The objects are kept; requests are not passed on to other servers.
pub(crate) fn kind() -> KindSpec {
    KindSpec {
        set_defaults: |object| {
            coracle_meta::fields::edit_at(object, "spec.service", |service| service.fill("port", 443));
        },
        name: names::path_segment,
        validate: |object| {
            let spec = object.at("spec");
            let wanted = format!("{}.{}", spec.text("version"), spec.text("group"));
            let mut wrong = Wrong::new();
            if object.name() != wanted {
                let what = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
                wrong.push(FieldError::invalid("metadata.name", object.name(), what));
            }
            for (priority, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
                let value = spec.int(priority);
                if value <= 0 || value > most {
                    let what = format!("must be positive and less than {most}");
                    wrong.push(FieldError::invalid(format!("spec.{priority}"), value, what));
                }
            }
            wrong
        },
        reset_by_status: SPEC_AND_METADATA,
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in("apiregistration.k8s.io", "v1", "apiservices")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Service", "The reference to the service that hosts this API endpoint.", |object| {
            service(object).into()
        }),
        TableColumn::text("Available", "Whether this service is available.", |object| availability(object).into()),
        TableColumn::age(),
    ]
}

fn service(object: &Object) -> String {
    match object.at("spec.service") {
        Value::Null => "Local".to_owned(),
        service => format!("{}/{}", service.text("namespace"), service.text("name")),
    }
}

fn availability(object: &Object) -> String {
    let conditions = object.list("status.conditions");
    match conditions.iter().find(|condition| condition.text("type") == "Available") {
        Some(condition) if condition.text("status") == "True" => "True".to_owned(),
        Some(condition) => format!("{} ({})", condition.text("status"), condition.text("reason")),
        None => "Unknown".to_owned(),
    }
}

fn api_services() -> GroupVersionResource {
    GroupVersionResource::new("apiregistration.k8s.io", "v1", "apiservices")
}

fn services() -> GroupVersionResource {
    GroupVersionResource::new("", "v1", "services")
}

fn endpoint_slices() -> GroupVersionResource {
    GroupVersionResource::new("discovery.k8s.io", "v1", "endpointslices")
}

/// Each APIService with the condition `Available` that it should have.
///
/// In Kubernetes: `AvailableConditionController`, for local and for remote servers.
/// Unlike Kubernetes: the other server is not asked, because requests are not passed on to it.
pub(crate) fn conditions() -> Derived<Vec<(Arc<Object>, Condition)>> {
    Derived::new(reads, |lists, _| {
        let condition = |object: Arc<Object>| {
            let condition = match object.at("spec.service") {
                Value::Null => Condition::local(),
                reference => remote(lists, reference),
            };
            (object, condition)
        };
        lists.of(&api_services()).map(condition).collect()
    })
}

/// What is behind a service matters only if there is another server at all.
fn reads(lists: &Lists) -> Vec<GroupVersionResource> {
    let is_remote = lists.of(&api_services()).any(|service| service.at("spec.service").is_object());
    if is_remote { vec![api_services(), services(), endpoint_slices()] } else { vec![api_services()] }
}

/// Writes the conditions that are not as they should be.
pub(crate) fn write(
    registry: Registry,
    conditions: Arc<Vec<(Arc<Object>, Condition)>>,
) -> BoxFuture<'static, Result<(), Status>> {
    Box::pin(async move {
        for (object, condition) in conditions.iter() {
            let now = registry.ambient().clock.now();
            let mut new = Object::clone(object);
            new.set("status.conditions", condition.among(object.list("status.conditions"), &format_time(now)));
            if new == **object {
                continue;
            }
            let request =
                Request::new(Verb::Update, api_services(), now).object("", object.name()).subresource("status");
            match registry.update(&request, new).await {
                // Whoever came between has made another value, which is written in its turn.
                Err(status) if !status.is_not_found() && !status.is_conflict() => return Err(status),
                _ => {}
            }
        }
        Ok(())
    })
}

/// The condition `Available` as it should be.
pub(crate) struct Condition {
    is_true: bool,
    reason: &'static str,
    message: String,
}

impl Condition {
    fn local() -> Self {
        Self { is_true: true, reason: "Local", message: "Local APIServices are always available".to_owned() }
    }

    fn no(reason: &'static str, message: String) -> Self {
        Self { is_true: false, reason, message }
    }

    /// The conditions with this one; its time stays while its status does.
    fn among(&self, conditions: &[Value], now: &str) -> Value {
        let status = if self.is_true { "True" } else { "False" };
        let is_this = |condition: &&Value| condition.text("type") == "Available";
        let before = conditions.iter().find(is_this).filter(|condition| condition.text("status") == status);
        let since = before.map_or(now, |condition| condition.text("lastTransitionTime"));
        let this = json!({
            "type": "Available", "status": status, "lastTransitionTime": since,
            "reason": self.reason, "message": self.message,
        });
        let others = conditions.iter().filter(|condition| !is_this(condition)).cloned();
        others.chain([this]).collect()
    }
}

/// What there is of another server. In Kubernetes: `sync` of the remote controller, up to the request to the server.
fn remote(lists: &Lists, reference: &Value) -> Condition {
    let (namespace, name, port) = (reference.text("namespace"), reference.text("name"), reference.int("port"));
    let at = format!("service/{name} in {namespace:?}");
    let is_it = |service: &Arc<Object>| service.namespace() == namespace && service.name() == name;
    let Some(service) = lists.of(&services()).find(is_it) else {
        return Condition::no("ServiceNotFound", format!("{at} is not present"));
    };
    if service.at("spec.type").as_str() == Some("ClusterIP") {
        let Some(found) = service.list("spec.ports").iter().find(|candidate| candidate.int("port") == port) else {
            return Condition::no("ServicePortError", format!("{at} is not listening on port {port}"));
        };
        let slices: Vec<_> = lists
            .of(&endpoint_slices())
            .filter(|slice| slice.namespace() == namespace && slice.label("kubernetes.io/service-name") == Some(name))
            .collect();
        if slices.is_empty() {
            return Condition::no("EndpointsNotFound", format!("cannot find endpointslices for {at}"));
        }
        let port_name = found.text("name");
        if !slices.iter().any(|slice| has_ready_endpoint(slice, port_name)) {
            let message = format!("endpointslices for {at} have no addresses with port name {port_name:?}");
            return Condition::no("MissingEndpoints", message);
        }
    }
    let message = "requests for this group are not passed on to other servers".to_owned();
    Condition::no("FailedDiscoveryCheck", message)
}

fn has_ready_endpoint(slice: &Object, port_name: &str) -> bool {
    let is_ready = |endpoint: &Value| endpoint.at("conditions.ready").as_bool().unwrap_or(true);
    slice.list("endpoints").iter().any(is_ready)
        && slice.list("ports").iter().any(|port| port.text("name") == port_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_stays_while_its_status_does() {
        let before = json!([{"type": "Available", "status": "False", "lastTransitionTime": "then", "reason": "A"}]);
        let before = before.as_array().unwrap();
        let still_not = Condition::no("B", String::new()).among(before, "now");
        assert_eq!(still_not[0].text("lastTransitionTime"), "then");
        assert_eq!(still_not[0].text("reason"), "B");
        assert_eq!(Condition::local().among(before, "now")[0].text("lastTransitionTime"), "now");
    }
}
