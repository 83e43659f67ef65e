use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_cluster::{AccessWebhookSpec, ApiServerOptions, Callee, Caller, ReviewWebhook, TokenWebhookSpec, Trust};
use serde_json::json;

use crate::exit;
use crate::flags::values::duration;

/// kube-apiserver's flags for token webhooks and authorization webhooks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WebhookFlags {
    /// The token webhook: a kubeconfig file
    #[arg(long, value_name = "FILE")]
    authentication_token_webhook_config_file: Option<PathBuf>,
    /// The version of TokenReview that the API server sends: v1beta1 or v1
    #[arg(long, value_name = "VERSION")]
    authentication_token_webhook_version: Option<String>,
    /// How long the API server caches responses of the token webhook: 2m0s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    authentication_token_webhook_cache_ttl: Option<Duration>,
    /// The authorization webhook, for the mode Webhook: a kubeconfig file
    #[arg(long, value_name = "FILE")]
    authorization_webhook_config_file: Option<PathBuf>,
    /// The version of SubjectAccessReview that the API server sends: v1beta1 or v1
    #[arg(long, value_name = "VERSION")]
    authorization_webhook_version: Option<String>,
    /// How long the API server caches allowed responses of the authorization webhook: 5m0s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    authorization_webhook_cache_authorized_ttl: Option<Duration>,
    /// How long the API server caches other responses of the authorization webhook: 30s
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    authorization_webhook_cache_unauthorized_ttl: Option<Duration>,
}

impl WebhookFlags {
    /// Applies the flags to `options`.
    pub(crate) fn set(&self, options: &mut ApiServerOptions) -> Result<()> {
        if let Some(path) = &self.authentication_token_webhook_config_file {
            let version = self.authentication_token_webhook_version.as_deref();
            let webhook = Flag("--authentication-token-webhook-config-file", path)
                .read(version.unwrap_or(VERSION), "unsupported authentication webhook")?;
            let cache_ttl = self.authentication_token_webhook_cache_ttl.unwrap_or(Duration::from_secs(120));
            options.token_webhook = Some(TokenWebhookSpec { webhook, cache_ttl });
        }
        if let Some(path) = &self.authorization_webhook_config_file {
            let version = self.authorization_webhook_version.as_deref();
            let webhook = Flag("--authorization-webhook-config-file", path)
                .read(version.unwrap_or(VERSION), "unsupported webhook authorizer")?;
            let authorized_ttl = self.authorization_webhook_cache_authorized_ttl;
            let unauthorized_ttl = self.authorization_webhook_cache_unauthorized_ttl;
            options.authorization_webhook = Some(AccessWebhookSpec {
                webhook,
                authorized_ttl: authorized_ttl.unwrap_or(Duration::from_secs(300)),
                unauthorized_ttl: unauthorized_ttl.unwrap_or(Duration::from_secs(30)),
            });
        }
        Ok(())
    }
}

const VERSION: &str = "v1beta1";

/// A flag with a kubeconfig file, and the file.
struct Flag<'a>(&'static str, &'a Path);

impl Flag<'_> {
    /// Reads the webhook in the file; `unsupported` is the start of the error about a version.
    ///
    /// Unlike Kubernetes: files in the kubeconfig file are read once.
    fn read(&self, version: &str, unsupported: &str) -> Result<ReviewWebhook> {
        let config = Kubeconfig::read(self.1).map_err(|error| self.refused(&chain(&error)))?;
        let version = version.parse().map_err(|why| self.refused(&format!("{unsupported} {why}")))?;
        // Invalid certificates and keys are found here rather than at the first call.
        config.connect().map_err(|error| self.refused(&chain(&error)))?;
        if config.insecure_skip_tls_verify && config.certificate_authority.is_some() {
            let why = "specifying a root certificates file with the insecure flag is not allowed";
            return Err(self.refused(why).into());
        }
        if config.token.is_some() && config.basic.is_some() {
            let why = "username/password or bearer token may be set, but not both";
            return Err(self.refused(why).into());
        }
        let to = Callee::read(&json!({"url": config.server}));
        let to = to.ok_or_else(|| self.refused(&format!("{:?} is not the URL of a server", config.server)))?;
        let trust = if config.insecure_skip_tls_verify {
            Trust::Anybody
        } else {
            Trust::Authorities(config.certificate_authority.unwrap_or_default().into())
        };
        let basic = config.basic.map(|(name, password)| STANDARD.encode(format!("{name}:{password}")));
        let bearer = config.token.map(|token| format!("Bearer {token}"));
        let caller = Caller {
            certificate: config.client_certificate,
            authorization: bearer.or_else(|| basic.map(|basic| format!("Basic {basic}"))),
            server_name: config.tls_server_name,
        };
        Ok(ReviewWebhook { to: Arc::new(to), trust, caller: Arc::new(caller), version })
    }

    fn refused(&self, why: &str) -> exit::Usage {
        exit::Usage(format!("{} {}: {why}", self.0, self.1.display()))
    }
}

/// An error with its causes.
fn chain(error: &dyn Error) -> String {
    match error.source() {
        None => error.to_string(),
        Some(cause) => format!("{error}: {}", chain(cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
current-context: c
clusters: [{name: s, cluster: {server: 'https://127.0.0.1:9443//review/', tls-server-name: reviewer, MORE}}]
users: [{name: u, user: {USER}}]
contexts: [{name: c, context: {cluster: s, user: u}}]
";

    /// The webhook in a file, or the error.
    fn read(more: &str, user: &str, version: &str) -> Result<ReviewWebhook, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook.yaml");
        let more = if more.is_empty() { "insecure-skip-tls-verify: true" } else { more };
        std::fs::write(&path, CONFIG.replace("MORE", more).replace("USER", user)).unwrap();
        let read = Flag("--flag", &path).read(version, "unsupported authentication webhook");
        read.map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
    }

    #[test]
    fn a_kubeconfig_file_sets_the_webhooks_address_and_credentials() {
        let webhook = read("", "token: secret-of-ours", "v1").unwrap();
        assert_eq!(webhook.to.url(), "https://127.0.0.1:9443/review");
        assert_eq!(webhook.trust, Trust::Anybody);
        assert_eq!(webhook.caller.authorization.as_deref(), Some("Bearer secret-of-ours"));
        assert_eq!(webhook.caller.server_name.as_deref(), Some("reviewer"));
        assert!(!format!("{webhook:?}").contains("secret"));
        let webhook = read("", "username: a, password: b", "v1beta1").unwrap();
        assert_eq!(webhook.caller.authorization.as_deref(), Some("Basic YTpi"));
    }

    #[test]
    fn an_unusable_kubeconfig_is_refused_with_the_file_and_the_reason() {
        let refused = |more: &str, user: &str, version: &str| read(more, user, version).unwrap_err();
        assert_eq!(refused("", "exec: {command: x}", "v1"), "--flag FILE: kubeconfig: exec is not supported");
        assert_eq!(
            refused("proxy-url: 'http://p'", "token: t", "v1"),
            "--flag FILE: kubeconfig: proxy-url is not supported"
        );
        assert_eq!(
            refused("", "token: t", "v2"),
            "--flag FILE: unsupported authentication webhook version \"v2\", supported versions are \"v1\", \"v1beta1\""
        );
        assert!(refused("", "token: t, username: a, password: b", "v1").ends_with("but not both"));
        let papers = "client-certificate-data: bm90IHBlbQ==, client-key-data: bm90IHBlbQ==";
        assert!(refused("", papers, "v1").starts_with("--flag FILE: kubeconfig: "));
        assert!(refused("", "client-certificate-data: bm90IHBlbQ==", "v1").contains("client-key"));
        assert!(refused("", "client-certificate: missing.crt, client-key: missing.key", "v1").contains("missing.crt"));
        let missing = Flag("--flag", Path::new("/no/such/file")).read("v1", "").unwrap_err().to_string();
        assert!(missing.starts_with("--flag /no/such/file: /no/such/file: No such file"), "{missing}");
    }
}
