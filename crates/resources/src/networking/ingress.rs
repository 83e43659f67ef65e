use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};
use coracle_registry::{KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::cells::{load_balancer_addresses, set_or};
use crate::core::service::name_of_service;
use crate::field_checks::{Wrong, each_invalid, required, required_one_of};
use crate::status_counts::wrong_address;

/// `ingresses.networking.k8s.io`. In Kubernetes: `pkg/registry/networking/ingress`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        store_directory: "ingress".to_owned(),
        validate: wrong,
        validate_status: |new, old, release| {
            let (entries, before) = (new.list(ADDRESSES), old.list(ADDRESSES));
            let before = before.iter().map(|entry| entry.text("ip")).collect();
            let check = |(at, entry)| wrong_address(entry, &before, &format!("{ADDRESSES}[{at}]"), release);
            entries.iter().enumerate().flat_map(check).collect()
        },
        warnings: |new, old, _| if old.is_none() { class_by_annotation(new) } else { Vec::new() },
        columns: columns(),
        ..built_in(release, "networking.k8s.io", "v1", "ingresses")
    }
}

const ADDRESSES: &str = "status.loadBalancer.ingress";

fn class_by_annotation(object: &Object) -> Vec<String> {
    const CLASS: &str = "kubernetes.io/ingress.class";
    if object.annotation(CLASS).is_none() || object.has("spec.ingressClassName") {
        return Vec::new();
    }
    vec![format!("annotation {CLASS:?} is deprecated, please use 'spec.ingressClassName' instead")]
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::text(
            "Class",
            "The name of the IngressClass resource that should be used for additional configuration",
            |object| set_or(object.at("spec.ingressClassName"), "<none>"),
        ),
        TableColumn::text(
            "Hosts",
            "Hosts that incoming requests are matched against before the ingress rule",
            |object| hosts(object).into(),
        ),
        TableColumn::text("Address", "Address is a list containing ingress points for the load-balancer", |object| {
            load_balancer_addresses(object).join(",").into()
        }),
        TableColumn::text("Ports", "Ports of TLS configurations that open", |object| {
            if object.list("spec.tls").is_empty() { "80".into() } else { "80, 443".into() }
        }),
        TableColumn::age(),
    ]
}

fn hosts(object: &Object) -> String {
    let rules = object.list("spec.rules");
    let mut hosts: Vec<&str> = Vec::new();
    for rule in rules {
        if hosts.len() == 3 {
            return format!("{} + {} more...", hosts.join(","), rules.len() - 3);
        }
        if !rule.text("host").is_empty() {
            hosts.push(rule.text("host"));
        }
    }
    if hosts.is_empty() { "*".to_owned() } else { hosts.join(",") }
}

/// In Kubernetes: `ValidateIngressSpec`.
fn wrong(object: &Object, release: &Release) -> Wrong {
    let spec = object.at("spec");
    let rules = spec.list("rules");
    let mut wrong = Wrong::new();
    if rules.is_empty() && !spec.has("defaultBackend") {
        wrong.push(FieldError::invalid(
            "spec",
            spec.at("rules").clone(),
            "either `defaultBackend` or `rules` must be specified",
        ));
    }
    if spec.has("defaultBackend") {
        wrong.extend(wrong_backend(spec.at("defaultBackend"), "spec.defaultBackend", release));
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("spec.rules[{at}]");
        wrong.extend(wrong_host(rule.text("host"), &format!("{path}.host")));
        let paths = rule.list("http.paths");
        if rule.has("http") && paths.is_empty() {
            wrong.push(FieldError::required(format!("{path}.http.paths"), ""));
        }
        for (at, own) in paths.iter().enumerate() {
            wrong.extend(wrong_path(own, &format!("{path}.http.paths[{at}]"), release));
        }
    }
    for (at, tls) in spec.list("tls").iter().enumerate() {
        for (host_at, host) in tls.list("hosts").iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(each_invalid(&format!("spec.tls[{at}].hosts[{host_at}]"), host, host_name(host)));
        }
        let secret = tls.text("secretName");
        if !secret.is_empty() {
            wrong.extend(each_invalid(&format!("spec.tls[{at}].secretName"), secret, names::dns1123_subdomain(secret)));
        }
    }
    if let Some(class) = spec.at("ingressClassName").as_str() {
        wrong.extend(each_invalid("spec.ingressClassName", class, names::dns1123_subdomain(class)));
    }
    wrong
}

fn wrong_host(host: &str, path: &str) -> Wrong {
    if host.is_empty() {
        return Wrong::new();
    }
    if host.parse::<std::net::IpAddr>().is_ok() {
        return vec![FieldError::invalid(path, host, "must be a DNS name, not an IP address")];
    }
    each_invalid(path, host, host_name(host))
}

fn host_name(host: &str) -> Vec<String> {
    if host.contains('*') { names::wildcard_dns1123_subdomain(host) } else { names::dns1123_subdomain(host) }
}

fn wrong_path(own: &Value, path: &str, release: &Release) -> Wrong {
    const KINDS: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    let mut wrong = match own.text("pathType") {
        "" if own.has("pathType") => vec![FieldError::not_supported(format!("{path}.pathType"), "", &KINDS)],
        "" => vec![FieldError::required(format!("{path}.pathType"), "pathType must be specified")],
        _ => required_one_of(own, "pathType", path, &KINDS),
    };
    let text = own.text("path");
    if ["Exact", "Prefix"].contains(&own.text("pathType")) {
        if !text.starts_with('/') {
            wrong.push(FieldError::invalid(format!("{path}.path"), text, "must be an absolute path"));
        }
        for sign in ["//", "/./", "/../", "%2f", "%2F"] {
            if text.contains(sign) {
                wrong.push(FieldError::invalid(format!("{path}.path"), text, format!("must not contain '{sign}'")));
            }
        }
    } else if own.text("pathType") == "ImplementationSpecific" && !text.is_empty() && !text.starts_with('/') {
        wrong.push(FieldError::invalid(format!("{path}.path"), text, "must be an absolute path"));
    }
    wrong.extend(wrong_backend(own.at("backend"), &format!("{path}.backend"), release));
    wrong
}

/// In Kubernetes: `validateIngressTypedLocalObjectReference`.
fn wrong_resource(resource: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if let Some(group) = resource.at("apiGroup").as_str() {
        wrong.extend(each_invalid(&format!("{path}.apiGroup"), group, names::dns1123_subdomain(group)));
    }
    for field in ["kind", "name"] {
        let value = resource.text(field);
        wrong.extend(required(resource, field, path));
        wrong.extend(each_invalid(&format!("{path}.{field}"), value, names::path_segment(value)));
    }
    wrong
}

fn wrong_backend(backend: &Value, path: &str, release: &Release) -> Wrong {
    let (service, resource) = (backend.at("service"), backend.at("resource"));
    match (service.is_null(), resource.is_null()) {
        (true, true) => vec![FieldError::invalid(path, "", "resource or service backend is required")],
        (false, false) => vec![FieldError::invalid(path, "", "cannot set both resource and service backends")],
        (true, false) => wrong_resource(resource, &format!("{path}.resource")),
        (false, true) => {
            let name = service.text("name");
            let mut wrong = match name {
                "" => vec![FieldError::required(format!("{path}.service.name"), "")],
                name => each_invalid(&format!("{path}.service.name"), name, name_of_service(release)(name)),
            };
            let (name, number) = (service.text("port.name"), service.int("port.number"));
            match (name.is_empty(), number == 0) {
                (true, true) => {
                    let what = "port name or number is required";
                    wrong.push(FieldError::required(path, what));
                }
                (false, false) => wrong.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
                (false, true) => {
                    wrong.extend(each_invalid(&format!("{path}.service.port.name"), name, names::port_name(name)));
                }
                (true, false) => {
                    let path = format!("{path}.service.port.number");
                    let sentences = names::port_number(number).into_iter();
                    wrong.extend(sentences.map(|what| FieldError::invalid(&path, number, what)));
                }
            }
            wrong
        }
    }
}
