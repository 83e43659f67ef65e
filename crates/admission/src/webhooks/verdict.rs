use coracle_meta::{Status, go_quote};

use super::webhook::Webhook;

/// Why a webhook did not admit a write.
#[derive(Debug)]
pub(super) enum WebhookFailure {
    /// It refused, or cannot be called for a dry run.
    Refusal(Status),
    /// The call failed, or the response is invalid: the failure policy decides.
    OfNoUse(String),
    /// Its patch cannot be applied, whatever its failure policy.
    Broken(String),
}

impl WebhookFailure {
    pub(super) fn of_no_use(webhook: &Webhook, why: impl std::fmt::Display) -> Self {
        Self::OfNoUse(format!("failed calling webhook {}: {why}", go_quote(&webhook.name)))
    }

    /// The error for the client; `None` if the write is admitted all the same.
    pub(super) fn into_status(self, webhook: &Webhook) -> Option<Status> {
        match self {
            Self::Refusal(status) => Some(status),
            Self::OfNoUse(_) if webhook.ignores_failures => None,
            Self::OfNoUse(why) | Self::Broken(why) => Some(Status::internal(why)),
        }
    }
}
