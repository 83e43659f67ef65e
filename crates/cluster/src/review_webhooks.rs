use std::time::Duration;

use coracle_auth::ReviewWebhook;

/// The token webhook and its cache. In Kubernetes: `--authentication-token-webhook-*`.
#[derive(Clone, Debug)]
pub struct TokenWebhookSpec {
    /// `--authentication-token-webhook-config-file` and `--authentication-token-webhook-version`
    pub webhook: ReviewWebhook,
    /// `--authentication-token-webhook-cache-ttl`; 2 minutes in Kubernetes.
    pub cache_ttl: Duration,
}

/// The authorization webhook and its cache. In Kubernetes: `--authorization-webhook-*`.
#[derive(Clone, Debug)]
pub struct AccessWebhookSpec {
    /// `--authorization-webhook-config-file` and `--authorization-webhook-version`
    pub webhook: ReviewWebhook,
    /// `--authorization-webhook-cache-authorized-ttl`; 5 minutes in Kubernetes.
    pub authorized_ttl: Duration,
    /// `--authorization-webhook-cache-unauthorized-ttl`; 30 seconds in Kubernetes.
    pub unauthorized_ttl: Duration,
}
