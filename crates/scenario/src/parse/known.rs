use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::file::{Fault, Operation, Scenario, Step};
use crate::object_file::{read_objects, take_apart};

/// The `apiVersion` and the kind of objects.
pub(crate) type Kind = (String, String);

/// The names that a scenario itself defines.
#[derive(Default)]
pub(crate) struct Known {
    /// The names that steps give to objects, with their kinds; `None` if objects of several kinds have the name.
    pub(crate) bound: BTreeMap<String, Option<Kind>>,
    /// The kinds of the CustomResourceDefinitions that it creates, with their plurals. Their fields are not checked.
    pub(crate) custom: BTreeMap<Kind, String>,
    /// The simulated nodes.
    pub(crate) nodes: BTreeSet<String>,
    /// The Node objects that it creates, which are not simulated.
    pub(crate) node_objects: BTreeSet<String>,
    /// The users of steps.
    pub(crate) users: BTreeSet<String>,
    /// The names of steps.
    pub(crate) steps: Vec<String>,
    /// The components that there are in addition to those of the cluster.
    pub(crate) components: BTreeSet<String>,
    /// The names of faults.
    pub(crate) faults: BTreeSet<String>,
    /// Of a running cluster, the controllers and nodes that share informers, so that no fault acts on them alone.
    pub(crate) sharing: BTreeSet<String>,
}

impl Known {
    /// The names that the steps of a scenario define. Files that they refer to are relative to `path`.
    pub(crate) fn of(scenario: &Scenario, path: &Path) -> Self {
        let nodes = scenario.spec.cluster.nodes.value.shapes().into_iter().map(|shape| shape.name).collect();
        let mut known = Self {
            bound: BTreeMap::new(),
            custom: BTreeMap::new(),
            nodes,
            node_objects: BTreeSet::new(),
            users: BTreeSet::new(),
            steps: Vec::new(),
            components: BTreeSet::new(),
            faults: scenario.spec.faults.iter().filter_map(|fault| named(&fault.value)).collect(),
            sharing: BTreeSet::new(),
        };
        scenario.spec.steps.iter().for_each(|step| known.add(step, path));
        known
    }

    /// Adds the names that one more step defines.
    pub(crate) fn add(&mut self, step: &Step, path: &Path) {
        self.steps.push(step.name.clone());
        self.users.extend(step.user.clone());
        for operation in &step.operations {
            if let Some((name, kind)) = bound(&operation.value) {
                let other = self.bound.get(&name).is_some_and(|known| *known != kind);
                self.bound.insert(name, kind.filter(|_| !other));
            }
            if let Operation::Fault(fault) = &operation.value {
                self.faults.extend(named(fault));
            }
            created(&operation.value, path).iter().for_each(|object| self.create(object));
        }
    }

    fn create(&mut self, object: &Value) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        match text("/kind").as_str() {
            "Node" => drop(self.node_objects.insert(text("/metadata/name"))),
            "CustomResourceDefinition" => {
                let (group, kind, plural) = (text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"));
                for version in object.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
                    let version = version.get("name").and_then(Value::as_str).unwrap_or_default();
                    self.custom.insert((format!("{group}/{version}"), kind.clone()), plural.clone());
                }
            }
            _ => {}
        }
    }
}

fn named(fault: &Fault) -> Option<String> {
    fault.name.as_ref().map(|name| name.value.clone())
}

/// The name that an operation gives to an object, and the object's kind.
pub(crate) fn bound(operation: &Operation) -> Option<(String, Option<Kind>)> {
    let (name, kind) = match operation {
        Operation::Patch(patch) => {
            let word = |name: &str| Some(patch.resource.value.get(name)?.as_str()?.to_owned());
            (patch.binding.as_ref()?, word("apiVersion").zip(word("kind")))
        }
        Operation::Delete(delete) => (delete.binding.as_ref()?, Some(delete.reference.kind())),
        Operation::Evict(evict) => (evict.binding.as_ref()?, Some(evict.reference.kind())),
        Operation::Get(get) => (&get.binding, Some(get.reference.kind())),
        _ => return None,
    };
    Some((name.value.clone(), kind))
}

/// The objects that an operation creates. A file that cannot be read is reported by the check of the operation.
fn created(operation: &Operation, path: &Path) -> Vec<Value> {
    let (resource, file) = match operation {
        Operation::Create(create) => (&create.resource, &create.file),
        Operation::Apply(apply) => (&apply.resource, &apply.file),
        _ => return Vec::new(),
    };
    match (resource, file) {
        (Some(object), _) => take_apart(object.value.clone()),
        (None, Some(file)) => {
            read_objects(&path.parent().unwrap_or(Path::new(".")).join(&file.value)).unwrap_or_default()
        }
        (None, None) => Vec::new(),
    }
}
