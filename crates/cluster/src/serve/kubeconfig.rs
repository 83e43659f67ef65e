use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Identity;

/// A kubeconfig with one cluster, one user and one context, all called `name`.
///
/// It is written as JSON, which is YAML too: every program that reads kubeconfigs reads it.
pub fn kubeconfig(name: &str, server: &str, authority: &str, identity: &Identity) -> String {
    let encoded = |text: &str| Value::from(STANDARD.encode(text));
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {
            "server": server,
            "certificate-authority-data": encoded(authority),
        }}],
        "users": [{"name": name, "user": {
            "client-certificate-data": encoded(&identity.certificate),
            "client-key-data": encoded(&identity.key),
        }}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    format!("{config:#}\n")
}
