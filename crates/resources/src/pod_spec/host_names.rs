//! The DNS configuration and host names of pods. In Kubernetes: `validatePodDNSConfig`, `ValidateHostAliases`,
//! `validatePodHostName`.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, names};
use coracle_release::Release;
use serde_json::Value;

use crate::field_checks::{Wrong, each_invalid, ip};

const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const LONGEST_SEARCH_LIST: usize = 2048;

/// The errors of the resolver's configuration.
pub(super) fn wrong_dns(spec: &Value, path: &str, release: &Release) -> Wrong {
    let config = spec.at("dnsConfig");
    let path = format!("{path}.dnsConfig");
    let servers = config.list("nameservers");
    if spec.text("dnsPolicy") == "None" {
        if config.is_null() {
            return vec![FieldError::required(path, "must provide `dnsConfig` when `dnsPolicy` is None")];
        }
        if servers.is_empty() {
            let what = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return vec![FieldError::required(format!("{path}.nameservers"), what)];
        }
    }
    let mut wrong = Wrong::new();
    if servers.len() > MOST_SERVERS {
        let what = format!("must not have more than {MOST_SERVERS} nameservers");
        wrong.push(FieldError::invalid(format!("{path}.nameservers"), servers, what));
    }
    for (at, server) in servers.iter().filter_map(Value::as_str).enumerate() {
        wrong.extend(ip(server, &format!("{path}.nameservers[{at}]"), release));
    }
    let searches: Vec<&str> = config.list("searches").iter().filter_map(Value::as_str).collect();
    let mut refuse_searches = |what: String| {
        wrong.push(FieldError::invalid(format!("{path}.searches"), config.list("searches"), what));
    };
    if searches.len() > MOST_SEARCHES {
        refuse_searches(format!("must not have more than {MOST_SEARCHES} search paths"));
    }
    if searches.join(" ").len() > LONGEST_SEARCH_LIST {
        refuse_searches(format!(
            "must not have more than {LONGEST_SEARCH_LIST} characters (including spaces) in the search list"
        ));
    }
    for (at, search) in searches.into_iter().enumerate() {
        let name = search.strip_suffix('.').unwrap_or(search);
        if search != "." {
            let sentences = names::dns1123_subdomain_with_underscore(name);
            wrong.extend(each_invalid(&format!("{path}.searches[{at}]"), name, sentences));
        }
    }
    for (at, option) in config.list("options").iter().enumerate() {
        if option.text("name").is_empty() {
            wrong.push(FieldError::required(format!("{path}.options[{at}]"), "must not be empty"));
        }
    }
    wrong
}

/// The errors of the entries of the hosts file.
pub(super) fn wrong_aliases(spec: &Value, path: &str, release: &Release) -> Wrong {
    let mut wrong = Wrong::new();
    for (at, alias) in spec.list("hostAliases").iter().enumerate() {
        let path = format!("{path}.hostAliases[{at}]");
        wrong.extend(ip(alias.text("ip"), &format!("{path}.ip"), release));
        for (at, name) in alias.list("hostnames").iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(each_invalid(&format!("{path}.hostnames[{at}]"), name, names::dns1123_subdomain(name)));
        }
    }
    wrong
}

/// The errors of `hostnameOverride`, which replaces the name from `hostname` and `subdomain`.
pub(super) fn wrong_override(spec: &Value, path: &str) -> Wrong {
    let Some(name) = spec.at("hostnameOverride").as_str() else { return Wrong::new() };
    let path = format!("{path}.hostnameOverride");
    let mut wrong = Wrong::new();
    for flag in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec.flag(flag) {
            wrong.push(FieldError::forbidden(&path, format!("may not be specified when {flag} is true")));
        }
    }
    if name.len() > 64 {
        wrong.push(FieldError::too_long(&path, 64));
    }
    wrong.extend(each_invalid(&path, name, names::dns1123_subdomain(name)));
    wrong
}
