//! Validates the client configuration of webhooks: URL, Service and certificates.
//! In Kubernetes: apiserver's `pkg/util/webhook`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_meta::{FieldError, names};
use serde_json::Value;

const FORM: &str = "; desired format: https://host[/path]";

/// The errors of the URL of a webhook. In Kubernetes: `ValidateWebhookURL`.
pub fn wrong_url(url: &str, path: &str) -> Vec<FieldError> {
    if let Some(problem) = url_problem(url) {
        let what = format!("url must be a valid URL: parse {url:?}: {problem}{FORM}");
        return vec![FieldError::required(path, what)];
    }
    let (address, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (address, query) = address.split_once('?').unwrap_or((address, ""));
    let (scheme, rest) = scheme_of(address).unwrap_or(("", address));
    let authority = rest.strip_prefix("//").map_or("", |rest| rest.split('/').next().unwrap_or_default());
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let mut wrong = Vec::new();
    let scheme = scheme.to_lowercase();
    if scheme != "https" {
        wrong.push(FieldError::invalid(path, scheme, format!("'https' is the only allowed URL scheme{FORM}")));
    }
    if host.is_empty() {
        wrong.push(FieldError::invalid(path, "", format!("host must be specified{FORM}")));
    }
    if let Some(user) = user {
        wrong.push(FieldError::invalid(path, user, "user information is not permitted in the URL"));
    }
    if !fragment.is_empty() {
        wrong.push(FieldError::invalid(path, fragment, "fragments are not permitted in the URL"));
    }
    if !query.is_empty() {
        wrong.push(FieldError::invalid(path, query, "query parameters are not permitted in the URL"));
    }
    wrong
}

/// The text before the first colon, if it can be a scheme, and the text after it.
fn scheme_of(address: &str) -> Option<(&str, &str)> {
    let is_scheme = |text: &str| {
        text.starts_with(|sign: char| sign.is_ascii_alphabetic())
            && text.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign))
    };
    address.split_once(':').filter(|(scheme, _)| is_scheme(scheme))
}

/// Why Go cannot parse a URL. In Kubernetes: the most common errors of Go's `net/url`.
fn url_problem(url: &str) -> Option<String> {
    if url.chars().any(|sign| sign.is_ascii_control()) {
        return Some("net/url: invalid control character in URL".to_owned());
    }
    if url.starts_with(':') {
        return Some("missing protocol scheme".to_owned());
    }
    let (_, rest) = scheme_of(url)?;
    let authority = rest.strip_prefix("//")?.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(sign) = host.chars().find(|sign| " \"<>^`{|}\\".contains(*sign)) {
        return Some(format!("invalid character {:?} in host name", sign.to_string()));
    }
    let port = match host.strip_prefix('[') {
        None => host.rfind(':').map(|at| &host[at..]),
        Some(address) => match address.split_once(']') {
            None => return Some("missing ']' in host".to_owned()),
            Some((_, port)) => Some(port).filter(|port| !port.is_empty()),
        },
    };
    let is_number =
        |port: &str| port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    port.filter(|port| !is_number(port)).map(|port| format!("invalid port {port:?} after host"))
}

/// The errors of the service of a webhook. In Kubernetes: `ValidateWebhookService`.
pub fn wrong_service(service: &Value, path: &str) -> Vec<FieldError> {
    let text = |field: &str| service.get(field).and_then(Value::as_str).unwrap_or("");
    let mut wrong = Vec::new();
    for field in ["name", "namespace"] {
        if text(field).is_empty() {
            wrong.push(FieldError::required(format!("{path}.{field}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(0);
    let sentences = names::port_number(port);
    if !sentences.is_empty() {
        let what = format!("port is not valid: {}", sentences.join(", "));
        wrong.push(FieldError::invalid(format!("{path}.port"), port, what));
    }
    wrong.extend(wrong_path(text("path"), &format!("{path}.path")));
    wrong
}

/// The errors of the path of a service. In Kubernetes: the end of `ValidateWebhookService`.
fn wrong_path(text: &str, path: &str) -> Vec<FieldError> {
    path_problems(text).into_iter().map(|what| FieldError::invalid(path, text, what)).collect()
}

fn path_problems(path: &str) -> Vec<String> {
    if matches!(path, "" | "/") {
        return Vec::new();
    }
    if path == "//" {
        return vec!["segment[0] may not be empty".to_owned()];
    }
    let mut problems = Vec::new();
    if !path.starts_with('/') {
        problems.push("must start with a '/'".to_owned());
    }
    // Kubernetes skips the first character, whatever it is.
    let inside: String = path.chars().skip(1).collect();
    for (at, step) in inside.strip_suffix('/').unwrap_or(&inside).split('/').enumerate() {
        if step.is_empty() {
            problems.push(format!("segment[{at}] may not be empty"));
            continue;
        }
        problems.extend(names::dns1123_subdomain(step).into_iter().map(|what| format!("segment[{at}]: {what}")));
    }
    problems
}

/// The errors of certificates in base64. The content of a certificate is not validated here.
/// In Kubernetes: `ValidateCABundle`.
pub fn wrong_ca_bundle(bundle: &str, path: &str) -> Vec<FieldError> {
    if bundle.is_empty() {
        return Vec::new();
    }
    let pem = STANDARD.decode(bundle).unwrap_or_default();
    let pem = String::from_utf8_lossy(&pem);
    let begins = pem.lines().any(|line| line == "-----BEGIN CERTIFICATE-----");
    let ends = pem.lines().any(|line| line == "-----END CERTIFICATE-----");
    if begins && ends {
        return Vec::new();
    }
    let what = "unable to load root certificates: unable to parse bytes as PEM block";
    vec![FieldError::invalid(path, bundle, what)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_webhook_is_reached_by_https_at_a_host() {
        assert_eq!(wrong_url("https://example.com/path", "u"), []);
        for (url, expected) in [
            ("http://x", "'https' is the only allowed URL scheme; desired format: https://host[/path]"),
            ("https://x?a=b", "query parameters are not permitted in the URL"),
            ("https://x#y", "fragments are not permitted in the URL"),
            ("https://u@x", "user information is not permitted in the URL"),
            ("https:///p", "host must be specified; desired format: https://host[/path]"),
            (
                "::",
                "url must be a valid URL: parse \"::\": missing protocol scheme; desired format: https://host[/path]",
            ),
            (
                "https://x:a",
                "url must be a valid URL: parse \"https://x:a\": invalid port \":a\" after host; desired format: https://host[/path]",
            ),
        ] {
            let said = said(&wrong_url(url, "u"));
            assert!(said.len() == 1 && said[0].ends_with(expected), "{url}: {said:?}");
        }
    }

    #[test]
    fn a_service_has_a_name_and_a_plain_path() {
        let good = json!({"namespace": "a", "name": "b", "port": 443, "path": "/x/y"});
        assert_eq!(wrong_service(&good, "s"), []);
        let bad = json!({"namespace": "a", "name": "b", "port": 0, "path": "x/"});
        assert_eq!(
            said(&wrong_service(&bad, "s")),
            [
                "s.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                "s.path: Invalid value: \"x/\": must start with a '/'",
                "s.path: Invalid value: \"x/\": segment[0] may not be empty",
            ]
        );
    }

    #[test]
    fn an_address_is_https_and_nothing_but_host_and_path() {
        assert!(wrong_url("https://a.b:8443/validate", "u").is_empty());
        let said = said(&wrong_url("http://x@a/?q#f", "u"));
        assert_eq!(
            said[0],
            "u: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]"
        );
        assert_eq!(said.len(), 4, "{said:?}");
        assert_eq!(wrong_url("*", "u").len(), 2);
    }

    #[test]
    fn the_path_of_a_service_has_no_empty_parts() {
        assert!(wrong_path("/a/b/", "p").is_empty());
        assert_eq!(said(&wrong_path("/a//b", "p")), ["p: Invalid value: \"/a//b\": segment[1] may not be empty"]);
        assert_eq!(wrong_path("a", "p").len(), 2);
    }
}
