use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Column, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::conditions::wrong_conditions;
use crate::field_checks::{IMMUTABLE, Wrong, same};

const RESOURCE: &str = "spec.resource.resource";
const GROUP: &str = "spec.resource.group";
const VERSION: &str = "status.resourceVersion";
const CONDITIONS: &str = "status.conditions";

/// `storageversionmigrations.storagemigration.k8s.io`. In Kubernetes: `pkg/registry/storagemigration`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        reset_by_status: SPEC_AND_METADATA,
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| wrong_change(new, old),
        validate_status: wrong_status,
        columns: columns(),
        ..built_in(release, "storagemigration.k8s.io", "v1", "storageversionmigrations")
    }
}

fn columns() -> Vec<TableColumn> {
    let name = Column { format: "".into(), ..Column::name() };
    vec![
        TableColumn::new(name, |object, _| object.name().into()),
        TableColumn::text("Resource", "GroupResource to migrate", |object| match object.text(GROUP) {
            "" => object.text(RESOURCE).into(),
            group => format!("{}.{group}", object.text(RESOURCE)).into(),
        }),
        TableColumn::text("Status", "Status of the migration", |object| {
            let known = ["Running", "Failed", "Succeeded"];
            let conditions = object.list(CONDITIONS).iter().rev();
            let mut set = conditions.filter(|condition| condition.text("status") == "True");
            let last = set.find(|condition| known.contains(&condition.text("type")));
            last.map_or("Unknown", |condition| condition.text("type")).into()
        }),
    ]
}

/// In Kubernetes: `ValidateStorageVersionMigration`.
fn wrong(migration: &Object) -> Wrong {
    let (resource, group) = (migration.text(RESOURCE), migration.text(GROUP));
    let mut wrong = Wrong::new();
    let mut refuse = |path: &str, value: &str, sentences: Vec<String>| {
        if !sentences.is_empty() {
            wrong.push(FieldError::invalid(path, value, sentences.join(",")));
        }
    };
    if !resource.is_empty() {
        refuse(RESOURCE, resource, names::dns1035_label(resource));
    }
    if !group.is_empty() {
        refuse(GROUP, group, names::dns1123_subdomain(group));
    }
    if resource.is_empty() {
        wrong.push(FieldError::required(RESOURCE, "resource is required to be set"));
    }
    wrong
}

/// The spec is immutable.
fn wrong_change(new: &Object, old: &Object) -> Wrong {
    let spec = new.at("spec");
    if same(spec, old.at("spec")) {
        return Wrong::new();
    }
    // The internal type, whose field has Go's name.
    let (group, resource) = (new.text(GROUP), new.text(RESOURCE));
    let printed = format!(r#"{{"Resource":{{"group":{group:?},"resource":{resource:?}}}}}"#);
    vec![FieldError::invalid("spec", Value::Null, IMMUTABLE).printed_as(printed)]
}

/// In Kubernetes: `ValidateStorageVersionMigrationStatusUpdate`.
fn wrong_status(new: &Object, old: &Object, release: &Release) -> Wrong {
    let (version, version_before) = (new.text(VERSION), old.text(VERSION));
    let mut wrong = Wrong::new();
    if !version.is_empty() && !is_resource_version(version) {
        wrong.push(FieldError::invalid(VERSION, version, format!("resource version is not well formed: {version}")));
    }
    let conditions = new.list(CONDITIONS);
    wrong.extend(wrong_conditions(conditions, CONDITIONS, release));
    if !version_before.is_empty() && version != version_before {
        wrong.push(FieldError::invalid(VERSION, version, IMMUTABLE));
    }
    let mut refuse = |what: &str| {
        wrong.push(FieldError::invalid(CONDITIONS, Value::Null, what).printed_as(go_conditions(conditions)));
    };
    let (succeeded, failed) = (is_true(new, "Succeeded"), is_true(new, "Failed"));
    if succeeded && failed {
        refuse("Both success and failed conditions cannot be true at the same time");
    }
    if is_true(old, "Succeeded") && !succeeded {
        refuse("Success condition cannot be set to false once it is true");
    }
    if is_true(old, "Failed") && !failed {
        refuse("Failed condition cannot be set to false once it is true");
    }
    wrong
}

/// Whether a text is a resource version: a number without leading zeros. In Kubernetes: `CompareResourceVersion`.
fn is_resource_version(text: &str) -> bool {
    !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_true(migration: &Object, kind: &str) -> bool {
    let condition = migration.list(CONDITIONS).iter().find(|condition| condition.text("type") == kind);
    condition.is_some_and(|condition| condition.text("status") == "True")
}

/// Conditions in the order of Go's fields.
fn go_conditions(conditions: &[Value]) -> String {
    let condition = |condition: &Value| {
        let mut fields = vec![field(condition, "type"), field(condition, "status")];
        if condition.int("observedGeneration") != 0 {
            fields.push(field(condition, "observedGeneration"));
        }
        fields.extend(["lastTransitionTime", "reason", "message"].map(|name| field(condition, name)));
        format!("{{{}}}", fields.join(","))
    };
    let conditions: Vec<String> = conditions.iter().map(condition).collect();
    format!("[{}]", conditions.join(","))
}

fn field(condition: &Value, name: &str) -> String {
    match condition.at(name) {
        Value::Null if name == "lastTransitionTime" => format!("{name:?}:null"),
        Value::Null => format!("{name:?}:\"\""),
        value => format!("{name:?}:{value}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn migration(conditions: &[(&str, &str)], version: &str) -> Object {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status)| {
                json!({"type": kind, "status": status, "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .collect();
        Object::from_value(json!({"status": {"conditions": conditions, "resourceVersion": version}})).unwrap()
    }

    fn details(new: &Object, old: &Object) -> Vec<String> {
        wrong_status(new, old, &Release::newest()).into_iter().map(|error| error.detail).collect()
    }

    #[test]
    fn a_migration_ends_once_and_in_one_way() {
        let (open, done) = (migration(&[("Running", "True")], ""), migration(&[("Succeeded", "True")], ""));
        assert_eq!(details(&done, &open), [""; 0]);
        let what = "Success condition cannot be set to false once it is true";
        assert_eq!(details(&open, &done), [what]);
        let both = migration(&[("Succeeded", "True"), ("Failed", "True")], "");
        assert_eq!(details(&both, &open), ["Both success and failed conditions cannot be true at the same time"]);
    }

    #[test]
    fn the_resource_version_is_a_number_and_stays() {
        let (unset, set) = (migration(&[], ""), migration(&[], "7"));
        assert_eq!(details(&set, &unset), [""; 0]);
        assert_eq!(details(&migration(&[], "8"), &set), [IMMUTABLE]);
        assert_eq!(details(&migration(&[], "x"), &unset), ["resource version is not well formed: x"]);
    }

    #[test]
    fn a_migration_names_a_resource_and_perhaps_a_group() {
        let said = |group: &str, resource: &str| -> Vec<String> {
            let spec = json!({"spec": {"resource": {"group": group, "resource": resource}}});
            wrong(&Object::from_value(spec).unwrap()).into_iter().map(|error| error.field).collect()
        };
        assert_eq!(said("", "secrets"), [""; 0]);
        assert_eq!(said("Bad_Group", ""), [GROUP, RESOURCE]);
        assert_eq!(said("apps", "deployments/scale"), [RESOURCE]);
    }
}
