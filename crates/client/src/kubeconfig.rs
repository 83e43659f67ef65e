//! Reads kubeconfig files: the server's address and the caller's credentials.
//!
//! In Kubernetes: `client-go/tools/clientcmd`. Not here: merging several files, `exec` and `auth-provider` plug-ins,
//! impersonation, proxies; a file that needs one of these is rejected with its name.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Why a kubeconfig file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// A file cannot be read.
    #[error("{path}")]
    Io {
        /// The file.
        path: String,
        /// The error of the file system.
        #[source]
        source: std::io::Error,
    },
    /// The file is not a kubeconfig.
    #[error("kubeconfig {path}: {why}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file is valid, but its settings cannot be used.
    #[error("kubeconfig: {why}")]
    Unusable {
        /// What is wrong.
        why: String,
    },
}

impl KubeconfigError {
    pub(crate) fn unusable(why: impl fmt::Display) -> Self {
        Self::Unusable { why: why.to_string() }
    }
}

/// A server and credentials: one context of a kubeconfig file.
#[derive(Clone, Default)]
pub struct Kubeconfig {
    /// `https://host:port`, optionally with a path.
    pub server: String,
    /// The certificate authority of the server, PEM; `None` trusts no server.
    pub certificate_authority: Option<Vec<u8>>,
    /// The name in the server's certificate, if it is not the one in the URL.
    pub tls_server_name: Option<String>,
    /// Whether the server's certificate is not verified.
    pub insecure_skip_tls_verify: bool,
    /// The client certificate and key, PEM.
    pub client_certificate: Option<(Vec<u8>, Vec<u8>)>,
    /// The bearer token.
    pub token: Option<String>,
    /// The name and password for basic authentication.
    pub basic: Option<(String, String)>,
    /// The namespace of the context; empty if it has none.
    pub namespace: String,
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig").field("server", &self.server).finish_non_exhaustive()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct File {
    clusters: Vec<Named>,
    users: Vec<Named>,
    contexts: Vec<Named>,
    current_context: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    cluster: Option<Cluster>,
    user: Option<User>,
    context: Option<Context>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Cluster {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    tls_server_name: Option<String>,
    insecure_skip_tls_verify: bool,
    proxy_url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    username: Option<String>,
    password: Option<String>,
    #[serde(rename = "as")]
    impersonate: Option<serde_json::Value>,
    exec: Option<serde_json::Value>,
    auth_provider: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Context {
    cluster: String,
    user: String,
    namespace: String,
}

impl Kubeconfig {
    /// Reads a file, and uses its current context. Relative paths in it refer to its folder.
    pub fn read(path: &Path) -> Result<Self, KubeconfigError> {
        let text = read(path)?;
        let name = path.display().to_string();
        let text = String::from_utf8(text)
            .map_err(|error| KubeconfigError::Malformed { path: name.clone(), why: error.to_string() })?;
        let file: File = serde_saphyr::from_str(&text)
            .map_err(|error| KubeconfigError::Malformed { path: name, why: error.to_string() })?;
        Self::choose(file, path.parent().unwrap_or(Path::new("")))
    }

    /// The same server, without credentials.
    #[must_use]
    pub fn without_credentials(&self) -> Self {
        Self { client_certificate: None, token: None, basic: None, ..self.clone() }
    }

    fn choose(file: File, folder: &Path) -> Result<Self, KubeconfigError> {
        let wanted = &file.current_context;
        let context: Context = find(file.contexts, wanted, "context", |named| named.context)?;
        let cluster: Cluster = find(file.clusters, &context.cluster, "cluster", |named| named.cluster)?;
        let user: User = match context.user.as_str() {
            "" => User::default(),
            name => find(file.users, name, "user", |named| named.user)?,
        };
        for (name, there) in [
            ("exec", user.exec.is_some()),
            ("auth-provider", user.auth_provider.is_some()),
            ("proxy-url", cluster.proxy_url.is_some()),
            ("as", user.impersonate.is_some()),
        ] {
            if there {
                return Err(KubeconfigError::unusable(format_args!("{name} is not supported")));
            }
        }
        let certificate = inline_or_file(user.client_certificate_data, user.client_certificate, folder)?;
        let key = inline_or_file(user.client_key_data, user.client_key, folder)?;
        if certificate.is_some() != key.is_some() {
            let why = "client-certificate and client-key must be specified together";
            return Err(KubeconfigError::unusable(why));
        }
        let token = match (user.token, user.token_file) {
            (Some(token), _) => Some(token),
            (None, Some(path)) => Some(String::from_utf8_lossy(&read(&folder.join(path))?).trim().to_owned()),
            (None, None) => None,
        };
        Ok(Self {
            server: cluster.server,
            certificate_authority: inline_or_file(
                cluster.certificate_authority_data,
                cluster.certificate_authority,
                folder,
            )?,
            tls_server_name: cluster.tls_server_name,
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            client_certificate: certificate.zip(key),
            token,
            basic: user.username.zip(user.password),
            namespace: context.namespace,
        })
    }
}

fn find<V>(
    entries: Vec<Named>,
    name: &str,
    what: &str,
    part: impl Fn(Named) -> Option<V>,
) -> Result<V, KubeconfigError> {
    let found = entries.into_iter().find(|entry| entry.name == name).and_then(part);
    found.ok_or_else(|| KubeconfigError::unusable(format_args!("there is no {what} {name:?}")))
}

fn inline_or_file(
    data: Option<String>,
    path: Option<PathBuf>,
    folder: &Path,
) -> Result<Option<Vec<u8>>, KubeconfigError> {
    match (data, path) {
        (Some(data), _) => {
            let signs: String = data.split_whitespace().collect();
            STANDARD.decode(signs).map(Some).map_err(KubeconfigError::unusable)
        }
        (None, Some(path)) => read(&folder.join(path)).map(Some),
        (None, None) => Ok(None),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, KubeconfigError> {
    std::fs::read(path).map_err(|source| KubeconfigError::Io { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
apiVersion: v1
kind: Config
current-context: here
clusters:
- name: c
  cluster: {server: 'https://127.0.0.1:6443', certificate-authority-data: Y2E=}
users:
- name: u
  user: {token: secret}
contexts:
- name: here
  context: {cluster: c, user: u, namespace: n}
";

    fn choose(text: &str) -> Result<Kubeconfig, KubeconfigError> {
        Kubeconfig::choose(serde_saphyr::from_str(text).unwrap(), Path::new(""))
    }

    #[test]
    fn the_current_context_names_server_authority_and_user() {
        let config = choose(FILE).unwrap();
        assert_eq!(config.server, "https://127.0.0.1:6443");
        assert_eq!(config.certificate_authority.as_deref(), Some(b"ca".as_slice()));
        assert_eq!(config.token.as_deref(), Some("secret"));
        assert_eq!(config.namespace, "n");
        assert!(!format!("{config:?}").contains("secret"));
    }

    #[test]
    fn unsupported_kubeconfig_settings_are_refused_by_name() {
        let missing = choose(&FILE.replace("current-context: here", "current-context: there")).unwrap_err();
        assert_eq!(missing.to_string(), "kubeconfig: there is no context \"there\"");
        let plugin = choose(&FILE.replace("{token: secret}", "{exec: {command: aws}}")).unwrap_err();
        assert_eq!(plugin.to_string(), "kubeconfig: exec is not supported");
        assert!(choose(&FILE.replace("Y2E=", "'&'")).is_err());
    }
}
