use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_apiserver::to_yaml;
use coracle_tls::Identity;
use serde_json::{Value, json};

/// How the user of a kubeconfig authenticates.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// By a client certificate.
    Certificate(&'a Identity),
    /// By a bearer token. Clients in every language support tokens; some cannot read keys other than RSA.
    Token(&'a str),
}

/// A kubeconfig with one cluster, one user and one context, all with the name `name`.
pub fn kubeconfig(name: &str, server: &str, authority: &str, credential: Credential<'_>) -> String {
    let encoded = |text: &str| Value::from(STANDARD.encode(text));
    let user = match credential {
        Credential::Certificate(identity) => json!({
            "client-certificate-data": encoded(&identity.certificate),
            "client-key-data": encoded(&identity.key),
        }),
        Credential::Token(token) => json!({"token": token}),
    };
    // The order of kubectl.
    to_yaml(&json!({
        "apiVersion": "v1",
        "clusters": [{
            "cluster": {"certificate-authority-data": encoded(authority), "server": server},
            "name": name,
        }],
        "contexts": [{"context": {"cluster": name, "user": name}, "name": name}],
        "current-context": name,
        "kind": "Config",
        "users": [{"name": name, "user": user}],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_reads_as_kubectl_writes_one() {
        let text = kubeconfig("tiny", "https://127.0.0.1:6443", "PEM", Credential::Token("secret"));
        let expected = "\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: UEVN
    server: https://127.0.0.1:6443
  name: tiny
contexts:
- context:
    cluster: tiny
    user: tiny
  name: tiny
current-context: tiny
kind: Config
users:
- name: tiny
  user:
    token: secret
";
        assert_eq!(text, expected);
    }
}
