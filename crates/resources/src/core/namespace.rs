use std::sync::Arc;

use coracle_meta::fields::{Fields, FieldsMut, edit_spec};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, Request, Subresource, TableColumn, Verb, View, restore, unknown_finalizer};
use coracle_release::Release;
use serde_json::{Value, json};

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid};

/// `namespaces`. In Kubernetes: `pkg/registry/core/namespace`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| label_with_name(object),
        prepare_create: |object, _, _| {
            object.set("status", json!({"phase": "Active"}));
            add_kubernetes_finalizer(object);
        },
        prepare_update: |new, old, _, _| restore(new, old, "spec.finalizers"),
        name: names::dns1123_label,
        validate: |object, _| wrong(object),
        validate_status: |new, old, _| wrong_status(new, old),
        canonicalize: label_with_name,
        selectable: Some(&["status.phase", "name"]),
        field: |object, name| (name == "name").then(|| object.name().to_owned()),
        columns: columns(),
        subresources: vec![Subresource::View(Arc::new(Finalize))],
        begin_delete: |object, _| object.set("status.phase", "Terminating"),
        is_held: |object| !object.list("spec.finalizers").is_empty(),
        ..built_in(release, "", "v1", "namespaces")
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text("Status", "The status of the namespace", |object| object.text("status.phase").into()),
        TableColumn::age(),
    ]
}

/// In Kubernetes: `validateFinalizerName`.
fn wrong(object: &Object) -> Wrong {
    let path = "spec.finalizers";
    let mut wrong = Wrong::new();
    for name in object.texts("spec.finalizers") {
        wrong.extend(each_invalid(path, &name, names::qualified_name(&name)));
        if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name.as_str()) {
            let what = "name is neither a standard finalizer name nor is it fully qualified";
            wrong.push(FieldError::invalid(path, name, what));
        }
    }
    wrong
}

/// The phase must match whether the namespace is terminating. In Kubernetes: `ValidateNamespaceStatusUpdate`.
fn wrong_status(new: &Object, _old: &Object) -> Wrong {
    let phase = new.text("status.phase");
    let (expected, what) = if new.is_terminating() {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    } else {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    };
    if phase == expected { Wrong::new() } else { vec![FieldError::invalid("status.Phase", phase, what)] }
}

const KUBERNETES: &str = "kubernetes";

/// Every namespace has its name as a label, so that selectors can select namespaces by name.
fn label_with_name(object: &mut Object) {
    let name = object.name().to_owned();
    if !name.is_empty() {
        object.set(&["metadata", "labels", "kubernetes.io/metadata.name"], name);
    }
}

fn add_kubernetes_finalizer(object: &mut Object) {
    edit_spec(object, |spec| {
        spec.fill("finalizers", json!([]));
        if let Some(Value::Array(finalizers)) = spec.get_mut("finalizers")
            && !finalizers.iter().any(|finalizer| finalizer == KUBERNETES)
        {
            finalizers.push(KUBERNETES.into());
        }
    });
}

/// `namespaces/finalize`: the only way to change `spec.finalizers`.
pub(crate) struct Finalize;

impl View for Finalize {
    fn name(&self) -> &str {
        "finalize"
    }

    fn verbs(&self) -> &[Verb] {
        &[Verb::Update]
    }

    fn prepare_update(&self, new: &mut Object, old: &Object, _request: &Request) {
        restore(new, old, "status");
    }

    fn validate_update(&self, new: &Object, _old: &Object) -> Vec<FieldError> {
        let finalizers = new.list("spec.finalizers").iter().enumerate();
        finalizers.flat_map(|(at, finalizer)| wrong_finalizer(at, finalizer.as_str().unwrap_or_default())).collect()
    }

    fn reset_fields(&self) -> Vec<Vec<String>> {
        vec![vec!["status".to_owned()]]
    }
}

fn wrong_finalizer(at: usize, finalizer: &str) -> Vec<FieldError> {
    let field = format!("spec.finalizers[{at}]");
    let mut wrong: Vec<_> =
        names::qualified_name(finalizer).into_iter().map(|what| FieldError::invalid(&field, finalizer, what)).collect();
    if wrong.is_empty() {
        wrong.extend(unknown_finalizer(&field, finalizer));
    }
    wrong
}
