use std::time::Duration;

use coracle_auth::ReviewWebhook;

/// Who is asked whose a token is, and how long its answers hold. In Kubernetes: `--authentication-token-webhook-*`.
#[derive(Clone, Debug)]
pub struct TokenWebhookSpec {
    /// `--authentication-token-webhook-config-file` and `--authentication-token-webhook-version`
    pub webhook: ReviewWebhook,
    /// `--authentication-token-webhook-cache-ttl`; 2 minutes there.
    pub cache_ttl: Duration,
}

/// Who is asked who may do what, and how long its answers hold. In Kubernetes: `--authorization-webhook-*`.
#[derive(Clone, Debug)]
pub struct AccessWebhookSpec {
    /// `--authorization-webhook-config-file` and `--authorization-webhook-version`
    pub webhook: ReviewWebhook,
    /// `--authorization-webhook-cache-authorized-ttl`; 5 minutes there.
    pub authorized_ttl: Duration,
    /// `--authorization-webhook-cache-unauthorized-ttl`; 30 seconds there.
    pub unauthorized_ttl: Duration,
}
