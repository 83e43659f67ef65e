//! The flow schema of a request. In Kubernetes: `matchesFlowSchema` of `apiserver/pkg/util/flowcontrol`.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, Status};
use coracle_registry::{Attributes, Derived, Flow, Flows, Lists, Registry};
use futures_util::future::BoxFuture;

use super::dangling::Outdated;
use super::flow_rule::FlowRule;
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
    rules: Vec<FlowRule>,
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
            let flow = Flow { schema: schema.uid().to_owned(), level: (*level).to_owned() };
            Some(Row { flow, rules: schema.list("spec.rules").iter().map(FlowRule::of).collect() })
        };
        Self { rows: schemas.into_iter().filter_map(row).collect(), outdated }
    }

    fn flow_of(&self, attributes: &Attributes) -> Option<Flow> {
        let row = self.rows.iter().find(|row| row.rules.iter().any(|rule| rule.matches(attributes)));
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

#[cfg(test)]
mod tests {
    use coracle_meta::{GroupVersionResource, ResourcePath};
    use coracle_registry::{Target, User};

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
