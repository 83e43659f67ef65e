//! The names of drivers, pools, attributes and requests.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid};
use crate::storage::csi_driver::wrong_driver_name;

const LONGEST_IDENTIFIER: usize = 32;
const LONGEST_POOL: usize = 253;

/// The name of a pool: one or more subdomains. In Kubernetes: `validatePoolName`.
pub(super) fn wrong_pool_name(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut wrong = Wrong::new();
    if name.len() > LONGEST_POOL {
        wrong.push(FieldError::too_long(path, LONGEST_POOL));
    }
    wrong.extend(name.split('/').flat_map(|part| each_invalid(path, part, names::dns1123_subdomain(part))));
    wrong
}

/// The name of a request or a device.
pub(super) fn wrong_label(name: &str, path: &str) -> Wrong {
    each_invalid(path, name, names::dns1123_label(name))
}

/// The name of an attribute or a capacity, with or without a domain. More than one slash is valid, as in Kubernetes.
/// In Kubernetes: `validateQualifiedName`.
pub(super) fn wrong_qualified_name(name: &str, path: &str) -> Wrong {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [name] => wrong_identifier(name, path),
        [domain, name] => {
            let mut wrong = match domain {
                "" => vec![FieldError::invalid(path, "", "the domain must not be empty")],
                domain => wrong_driver_name(domain, path),
            };
            wrong.extend(match name {
                "" => vec![FieldError::invalid(path, "", "the name must not be empty")],
                name => wrong_identifier(name, path),
            });
            wrong
        }
        _ => Wrong::new(),
    }
}

/// The same with a required domain. In Kubernetes: `validateFullyQualifiedName`.
pub(super) fn wrong_fully_qualified_name(name: &str, path: &str) -> Wrong {
    let mut wrong = wrong_qualified_name(name, path);
    if !name.contains('/') {
        let what = "a fully qualified name must be a domain and a name separated by a slash";
        wrong.push(FieldError::invalid(path, name, what));
    }
    wrong
}

/// The same, with the sentences of the rule that is declared on the field. In Kubernetes: `ResourceFullyQualifiedName`.
pub(super) fn wrong_declared_name(name: &str, path: &str) -> Wrong {
    const LONGEST_DOMAIN: usize = 63;
    let parts: Vec<&str> = name.split('/').collect();
    let mut wrong = match parts[..] {
        [name] => wrong_identifier(name, path),
        [domain, name] => {
            let mut wrong = Wrong::new();
            if domain.is_empty() {
                wrong.push(FieldError::invalid(path, "", "prefix must not be empty"));
            } else {
                if domain.len() > LONGEST_DOMAIN {
                    wrong.push(FieldError::too_long(path, LONGEST_DOMAIN));
                }
                let sentences = names::dns1123_subdomain(domain).into_iter().map(|what| format!("prefix: {what}"));
                wrong.extend(each_invalid(path, domain, sentences.collect()));
            }
            wrong.extend(match name {
                "" => vec![FieldError::invalid(path, "", "name must not be empty")],
                name => wrong_identifier(name, path),
            });
            wrong
        }
        _ => Wrong::new(),
    };
    if !name.contains('/') {
        let what = "a fully qualified name must be a domain and a name separated by a slash";
        wrong.push(FieldError::invalid(path, name, what));
    }
    wrong
}

fn wrong_identifier(name: &str, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if name.len() > LONGEST_IDENTIFIER {
        wrong.push(FieldError::too_long(path, LONGEST_IDENTIFIER));
    }
    wrong.extend(each_invalid(path, name, names::c_identifier(name)));
    wrong
}

/// A reference to a request of a claim, or to one of its alternatives (`firstAvailable`).
/// In Kubernetes: `validateRequestNameRef`.
pub(super) fn wrong_request_reference(name: &str, path: &str, requests: &[Value]) -> Wrong {
    let what = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    let segments: Vec<&str> = name.split('/').collect();
    let mut wrong = Wrong::new();
    if segments.len() <= 2 {
        wrong.extend(segments.iter().flat_map(|segment| wrong_label(segment, path)));
    }
    if !names_request(&segments, requests) {
        wrong.push(FieldError::invalid(path, name, what));
    }
    wrong
}

fn names_request(segments: &[&str], requests: &[Value]) -> bool {
    // Kubernetes keeps the last of several requests with one name.
    let request = |name: &str| requests.iter().rfind(|request| request.text("name") == name);
    match *segments {
        [name] => request(name).is_some(),
        [name, part] => request(name)
            .is_some_and(|request| request.list("firstAvailable").iter().any(|below| below.text("name") == part)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(wrong: Wrong) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn attributes_have_a_domain_and_an_identifier() {
        for good in ["model", "gpu.example.com/model", "a/b/c"] {
            assert_eq!(said(wrong_qualified_name(good, "p")), [""; 0], "{good}");
        }
        assert_eq!(
            said(wrong_qualified_name("/", "p")),
            [
                "p: Invalid value: \"\": the domain must not be empty",
                "p: Invalid value: \"\": the name must not be empty"
            ]
        );
        assert_eq!(said(wrong_qualified_name(&"a".repeat(33), "p")), ["p: Too long: may not be more than 32 bytes"]);
        assert_eq!(
            said(wrong_fully_qualified_name("model", "p")),
            ["p: Invalid value: \"model\": a fully qualified name must be a domain and a name separated by a slash"]
        );
    }

    #[test]
    fn a_request_is_named_by_itself_or_with_one_of_its_parts() {
        let requests = [json!({"name": "a"}), json!({"name": "b", "firstAvailable": [{"name": "c"}]})];
        for good in ["a", "b", "b/c"] {
            assert_eq!(said(wrong_request_reference(good, "p", &requests)), [""; 0], "{good}");
        }
        for bad in ["c", "a/c", "b/a", "b/c/c"] {
            assert_eq!(said(wrong_request_reference(bad, "p", &requests)).len(), 1, "{bad}");
        }
    }
}
