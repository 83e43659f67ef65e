use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Identity;

/// How the user of a kubeconfig proves who he is.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// By a client certificate.
    Certificate(&'a Identity),
    /// By a bearer token. Clients in every language send one; keys that are not RSA some of them cannot read.
    Token(&'a str),
}

/// A kubeconfig with one cluster, one user and one context, all called `name`.
///
/// It is written as JSON, which is YAML too: every program that reads kubeconfigs reads it.
pub fn kubeconfig(name: &str, server: &str, authority: &str, credential: Credential<'_>) -> String {
    let encoded = |text: &str| Value::from(STANDARD.encode(text));
    let user = match credential {
        Credential::Certificate(identity) => json!({
            "client-certificate-data": encoded(&identity.certificate),
            "client-key-data": encoded(&identity.key),
        }),
        Credential::Token(token) => json!({"token": token}),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {
            "server": server,
            "certificate-authority-data": encoded(authority),
        }}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    format!("{config:#}\n")
}
