use coracle_meta::{Status, go_quote};

use super::webhook::Webhook;

/// Why a webhook did not let a write pass.
#[derive(Debug)]
pub(super) enum Failure {
    /// It said no, or may not be asked.
    Refusal(Status),
    /// It could not be asked, or its answer made no sense: its failure policy decides.
    OfNoUse(String),
    /// What it wants done cannot be done, whatever its failure policy.
    Broken(String),
}

impl Failure {
    pub(super) fn of_no_use(webhook: &Webhook, why: impl std::fmt::Display) -> Self {
        Self::OfNoUse(format!("failed calling webhook {}: {why}", go_quote(&webhook.name)))
    }

    /// What the client gets; nothing if the write passes all the same.
    pub(super) fn into_status(self, webhook: &Webhook) -> Option<Status> {
        match self {
            Self::Refusal(status) => Some(status),
            Self::OfNoUse(_) if webhook.ignores_failures => None,
            Self::OfNoUse(why) | Self::Broken(why) => Some(Status::internal(why)),
        }
    }
}
