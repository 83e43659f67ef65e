//! Probes and lifecycle handlers. In Kubernetes: `validateProbe`, `validateHandler`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, not_negative, one_of, port_or_name, required};

/// The grace period of a pod, in seconds.
type Grace = Option<i64>;

/// The errors of the probes of a container.
pub(super) fn wrong_probes(container: &Value, grace: Grace, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.at(name);
        if probe.is_null() {
            continue;
        }
        let path = format!("{path}.{name}");
        wrong.extend(wrong_handler(probe, grace, &path));
        for field in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            wrong.extend(not_negative(probe, field, &path));
        }
        let own_grace = probe.int_if_set("terminationGracePeriodSeconds");
        let grace_path = format!("{path}.terminationGracePeriodSeconds");
        if let Some(seconds @ ..=0) = own_grace {
            wrong.push(FieldError::invalid(&grace_path, seconds, "must be greater than 0"));
        }
        if name == "readinessProbe" {
            if own_grace.is_some() {
                let what = "must not be set for readinessProbes";
                wrong.push(FieldError::invalid(grace_path, probe.at("terminationGracePeriodSeconds").clone(), what));
            }
            continue;
        }
        if probe.int("successThreshold") != 1 {
            let threshold = probe.int("successThreshold");
            wrong.push(FieldError::invalid(format!("{path}.successThreshold"), threshold, "must be 1"));
        }
    }
    wrong
}

/// The errors of the handlers of a container's lifecycle.
pub(super) fn wrong_lifecycle(container: &Value, grace: Grace, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for name in ["postStart", "preStop"] {
        let handler = container.at("lifecycle").at(name);
        if !handler.is_null() {
            wrong.extend(wrong_handler(handler, grace, &format!("{path}.lifecycle.{name}")));
        }
    }
    wrong
}

fn wrong_handler(handler: &Value, grace: Grace, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut has_one = false;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = handler.at(kind);
        if action.is_null() {
            continue;
        }
        let path = format!("{path}.{kind}");
        if has_one {
            wrong.push(FieldError::forbidden(path, "may not specify more than 1 handler type"));
            continue;
        }
        has_one = true;
        wrong.extend(match kind {
            "exec" if action.list("command").is_empty() => {
                vec![FieldError::required(format!("{path}.command"), "")]
            }
            "httpGet" => wrong_http_get(action, &path),
            "tcpSocket" | "grpc" => port_or_name(action.at("port"), &format!("{path}.port")),
            "sleep" => wrong_sleep(action.int("seconds"), grace, &path),
            _ => Wrong::new(),
        });
    }
    if !has_one {
        wrong.push(FieldError::required(path, "must specify a handler type"));
    }
    wrong
}

fn wrong_http_get(action: &Value, path: &str) -> Wrong {
    let mut wrong = required(action, "path", path);
    wrong.extend(port_or_name(action.at("port"), &format!("{path}.port")));
    wrong.extend(one_of(action, "scheme", path, &["HTTP", "HTTPS"]));
    for header in action.list("httpHeaders") {
        let name = header.text("name");
        wrong.extend(each_invalid(&format!("{path}.httpHeaders"), name, names::http_header_name(name)));
    }
    wrong
}

fn wrong_sleep(seconds: i64, grace: Grace, path: &str) -> Wrong {
    match grace {
        Some(grace) if !(0..=grace).contains(&seconds) => {
            let what = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
            vec![FieldError::invalid(path, seconds, what)]
        }
        _ => Wrong::new(),
    }
}
