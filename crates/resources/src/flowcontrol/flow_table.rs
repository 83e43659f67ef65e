//! The flow schema of a request. In Kubernetes: `matchesFlowSchema` of `apiserver/pkg/util/flowcontrol`.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Attributes, Derived, Flow, Flows, Lists, Registry, Target};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::dangling::Outdated;
use super::{GROUP, flow_schemas};

/// The flow schemas in the order of matching.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    rows: Vec<Row>,
    /// The outdated conditions of schemas.
    outdated: Vec<Outdated>,
}

#[derive(Debug)]
struct Row {
    flow: Flow,
    schema: Arc<Object>,
}

/// The current flow table. In Kubernetes: `configController`'s `flowSchemas`.
pub(crate) fn flow_table() -> Derived<FlowTable> {
    let make = |lists: &Lists, _: &FlowTable| {
        FlowTable::new(lists.of(&flow_schemas()).collect(), &lists.of(&priority_levels()).collect::<Vec<_>>())
    };
    Derived::new(|_| vec![flow_schemas(), priority_levels()], make)
}

fn priority_levels() -> GroupVersionResource {
    GroupVersionResource::new(GROUP, "v1", "prioritylevelconfigurations")
}

impl FlowTable {
    /// Schemas without a level match nothing.
    fn new(mut schemas: Vec<Arc<Object>>, levels: &[Arc<Object>]) -> Self {
        schemas.sort_by_key(|schema| (schema.int("spec.matchingPrecedence"), schema.name().to_owned()));
        let levels: BTreeMap<&str, &str> = levels.iter().map(|level| (level.name(), level.uid())).collect();
        let outdated = schemas.iter().filter_map(|schema| Outdated::of(schema, |level| levels.contains_key(level)));
        let outdated = outdated.collect();
        let row = |schema: Arc<Object>| {
            let level = levels.get(schema.text("spec.priorityLevelConfiguration.name"))?;
            Some(Row { flow: Flow { schema: schema.uid().to_owned(), level: (*level).to_owned() }, schema })
        };
        Self { rows: schemas.into_iter().filter_map(row).collect(), outdated }
    }

    fn flow_of(&self, attributes: &Attributes) -> Option<Flow> {
        let row = self.rows.iter().find(|row| {
            let rules = row.schema.list("spec.rules");
            rules.iter().any(|rule| is_about(rule, attributes) && is_subject(rule, attributes))
        });
        row.map(|row| row.flow.clone())
    }
}

/// Writes the outdated conditions of schemas.
pub(crate) fn write_conditions(registry: Registry, table: Arc<FlowTable>) -> BoxFuture<'static, Result<(), Status>> {
    Box::pin(async move {
        let mut result = Ok(());
        for outdated in &table.outdated {
            // A failed write of one schema does not prevent the others.
            result = result.and(outdated.write(&registry).await);
        }
        result
    })
}

/// Classifies requests with the last computed table.
pub(crate) struct ByFlowTable(pub(crate) Arc<Derived<FlowTable>>);

impl Flows for ByFlowTable {
    fn flow_of(&self, attributes: &Attributes) -> Option<Flow> {
        self.0.latest().flow_of(attributes)
    }
}

fn lists(rule: &Value, field: &str, wanted: &str) -> bool {
    let listed = rule.get(field).and_then(Value::as_array);
    listed.into_iter().flatten().any(|value| value == "*" || value == wanted)
}

fn is_subject(rule: &Value, attributes: &Attributes) -> bool {
    let user = &attributes.user;
    rule.list("subjects").iter().any(|subject| match subject.text("kind") {
        "User" => matches!(subject.text("user.name"), name if name == "*" || name == user.name),
        "Group" => matches!(subject.text("group.name"), name if name == "*" || user.is_in(name)),
        "ServiceAccount" => {
            let account = user.name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
            let name = subject.text("serviceAccount.name");
            account.is_some_and(|(namespace, own)| {
                namespace == subject.text("serviceAccount.namespace") && (name == "*" || name == own)
            })
        }
        _ => false,
    })
}

fn is_about(rule: &Value, attributes: &Attributes) -> bool {
    match &attributes.target {
        Target::Resource(at) => rule.list("resourceRules").iter().any(|rule| {
            lists(rule, "verbs", &attributes.verb)
                && lists(rule, "apiGroups", &at.resource.group)
                && is_resource(rule, at)
        }),
        Target::Path(path) => rule.list("nonResourceRules").iter().any(|rule| {
            lists(rule, "verbs", &attributes.verb) && rule.list("nonResourceURLs").iter().any(|url| covers(url, path))
        }),
    }
}

fn is_resource(rule: &Value, at: &ResourcePath) -> bool {
    let in_place = match at.namespace.as_str() {
        "" => rule.at("clusterScope") == &Value::Bool(true),
        namespace => lists(rule, "namespaces", namespace),
    };
    let is_listed = match at.subresource.as_str() {
        "" => lists(rule, "resources", &at.resource.resource),
        subresource => lists(rule, "resources", &format!("{}/{subresource}", at.resource.resource)),
    };
    in_place && is_listed
}

/// Whether a URL of a rule matches a path: exactly, or as the prefix before a star.
fn covers(url: &Value, path: &str) -> bool {
    let url = url.as_str().unwrap_or("");
    url == path || url.strip_suffix('*').is_some_and(|start| path.starts_with(start))
}

#[cfg(test)]
mod tests {
    use coracle_meta::GroupVersionResource;
    use coracle_registry::User;

    use super::*;
    use crate::flowcontrol::every_cluster_has;

    /// The names of the schema that a request matches in a new cluster, where an object's uid is its name.
    fn matched(user: User, verb: &str, target: Target) -> String {
        let (mut schemas, mut levels) = (Vec::new(), Vec::new());
        for mut object in every_cluster_has() {
            let name = object.name().to_owned();
            object.set("metadata.uid", name);
            if object.kind() == "FlowSchema" { schemas.push(Arc::new(object)) } else { levels.push(Arc::new(object)) }
        }
        let table = FlowTable::new(schemas, &levels);
        table.flow_of(&Attributes::new(&Arc::new(user), verb, target)).unwrap().schema
    }

    #[test]
    fn requests_are_sorted_as_in_kubernetes() {
        let of = |resource: &str, group: &str| {
            let at = ResourcePath::new(GroupVersionResource::new(group, "v1", resource)).object("kube-system", "");
            Target::Resource(at.into())
        };
        let everybody = ["system:authenticated"];
        assert_eq!(matched(User::new("root", ["system:masters"]), "get", of("pods", "")), "exempt");
        assert_eq!(matched(User::new("ann", everybody), "get", of("pods", "")), "global-default");
        assert_eq!(matched(User::new("ann", everybody), "get", Target::Path("/readyz".to_owned())), "probes");
        let scheduler = User::new("system:kube-scheduler", everybody);
        assert_eq!(matched(scheduler.clone(), "update", of("leases", "coordination.k8s.io")), "system-leader-election");
        assert_eq!(matched(scheduler, "update", of("pods", "")), "kube-scheduler");
        let account = User::new("system:serviceaccount:kube-system:x", ["system:serviceaccounts"]);
        assert_eq!(matched(account, "get", of("pods", "")), "kube-system-service-accounts");
    }
}
