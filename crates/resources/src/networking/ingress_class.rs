use coracle_meta::fields::{Fields, FieldsMut, edit_at};
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{Column, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::cells::name_of_class;
use crate::field_checks::{Wrong, domain_prefixed_path, each_invalid, immutable, one_of, required};

/// `ingressclasses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ingressclass`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        set_defaults: |object, _| edit_at(object, "spec.parameters", |parameters| parameters.fill("scope", "Cluster")),
        validate: |object, _| wrong(object),
        validate_change: |new, old, _| immutable(new, old, "spec.controller"),
        columns: columns(release),
        ..built_in(release, "networking.k8s.io", "v1", "ingressclasses")
    }
}

fn columns(release: &Release) -> Vec<TableColumn> {
    let shows_default = release.has("DefaultIngressClassIsShown");
    let name = if shows_default {
        TableColumn::new(Column::name(), |object, _| name_of_class(object, is_default(object)))
    } else {
        TableColumn::name()
    };
    vec![
        name,
        TableColumn::text("Controller", "Controller that is responsible for handling this class", |object| {
            object.text("spec.controller").into()
        }),
        TableColumn::text("Parameters", "A reference to a resource with additional parameters", |object| {
            parameters(object).into()
        }),
        TableColumn::age(),
    ]
}

fn is_default(object: &Object) -> bool {
    object.annotation("ingressclass.kubernetes.io/is-default-class") == Some("true")
}

fn parameters(object: &Object) -> String {
    let parameters = object.at("spec.parameters");
    match (parameters.is_null(), parameters.at("apiGroup").as_str()) {
        (true, _) => "<none>".to_owned(),
        (false, Some(group)) => format!("{}.{group}/{}", parameters.text("kind"), parameters.text("name")),
        (false, None) => format!("{}/{}", parameters.text("kind"), parameters.text("name")),
    }
}

/// In Kubernetes: `validateIngressClassSpec`.
fn wrong(object: &Object) -> Wrong {
    let controller = object.text("spec.controller");
    let mut wrong = Wrong::new();
    if controller.len() > 250 {
        wrong.push(FieldError::too_long("spec.controller", 250));
    }
    wrong.extend(domain_prefixed_path(controller, "spec.controller"));
    wrong.extend(wrong_parameters(object.at("spec.parameters")));
    wrong
}

/// In Kubernetes: `validateIngressClassParametersReference`.
fn wrong_parameters(parameters: &Value) -> Wrong {
    let path = "spec.parameters";
    if parameters.is_null() {
        return Wrong::new();
    }
    let mut wrong = Wrong::new();
    if let Some(group) = parameters.at("apiGroup").as_str() {
        wrong.extend(each_invalid("spec.parameters.apiGroup", group, names::dns1123_subdomain(group)));
    }
    for field in ["kind", "name"] {
        let text = parameters.text(field);
        wrong.extend(required(parameters, field, path));
        wrong.extend(each_invalid(&format!("{path}.{field}"), text, names::path_segment(text)));
    }
    let namespace_path = "spec.parameters.namespace";
    match (parameters.text("scope"), parameters.at("namespace").as_str()) {
        ("Namespace", None) => {
            wrong.push(FieldError::required(namespace_path, "`parameters.scope` is set to 'Namespace'"));
        }
        ("Namespace", Some(name)) => wrong.extend(each_invalid(namespace_path, name, names::dns1123_label(name))),
        ("Cluster", Some(_)) => {
            wrong.push(FieldError::forbidden(namespace_path, "`parameters.scope` is set to 'Cluster'"));
        }
        _ => wrong.extend(one_of(parameters, "scope", path, &["Cluster", "Namespace"])),
    }
    wrong
}
