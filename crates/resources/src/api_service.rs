//! `apiservices.apiregistration.k8s.io`: the server of a group and version.

use coracle_meta::fields::{Fields, FieldsMut};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::{SPEC_AND_METADATA, built_in};
use crate::field_checks::Wrong;

/// `apiservices.apiregistration.k8s.io`. Their effect is in [`crate::aggregation`].
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        store_directory: "apiregistration.k8s.io/apiservices".to_owned(),
        set_defaults: |object, _| {
            coracle_meta::fields::edit_at(object, "spec.service", |service| service.fill("port", 443));
        },
        name: names::path_segment,
        validate: |object, _| {
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
            wrong.extend(wrong_conditions(object));
            wrong
        },
        validate_status: |new, _, _| wrong_conditions(new),
        reset_by_status: SPEC_AND_METADATA,
        columns: columns(),
        takes_any_finalizer: true,
        declares_rules: false,
        ..built_in(release, "apiregistration.k8s.io", "v1", "apiservices")
    }
}

/// In Kubernetes: `ValidateAPIServiceStatus`.
fn wrong_conditions(object: &Object) -> Wrong {
    const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
    let conditions = object.list("status.conditions").iter().enumerate();
    let wrong = conditions.filter(|(_, condition)| !STATUSES.contains(&condition.text("status")));
    wrong
        .map(|(at, condition)| {
            let field = format!("status.conditions[{at}].status");
            FieldError::not_supported(field, condition.text("status"), &STATUSES)
        })
        .collect()
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
