use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Status};
use coracle_registry::{Admission, Derived, Lists, Review};
use futures_util::future::join_all;

use super::webhook::{Webhook, webhooks};
use super::webhook_call::WebhookCall;
use crate::request_view::{is_exempt, is_unsent_review, namespace_of};
use crate::unreadable::Configured;

/// Calls the webhooks of `ValidatingWebhookConfiguration`s concurrently.
pub(crate) struct ValidatingAdmissionWebhook {
    webhooks: Derived<Configured<Arc<Webhook>>>,
}

impl Default for ValidatingAdmissionWebhook {
    fn default() -> Self {
        let reads = |_: &Lists| vec![configurations()];
        let read = |lists: &Lists, _: &Configured<Arc<Webhook>>| {
            Configured::new(webhooks(lists, &configurations()), lists, &[configurations()])
        };
        Self { webhooks: Derived::new(reads, read) }
    }
}

fn configurations() -> GroupVersionResource {
    GroupVersionResource::new("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
}

#[async_trait]
impl Admission for ValidatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionWebhook"
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if is_exempt(&review.request.at.resource) || is_unsent_review(review) {
            return Ok(());
        }
        let webhooks = self.webhooks.current(review.registry).await?;
        webhooks.check(review)?;
        let webhooks = &webhooks.read;
        if webhooks.is_empty() {
            return Ok(());
        }
        let namespace = namespace_of(review).await?;
        // All matching webhooks are determined before the first call.
        let mut invocations = Vec::new();
        for webhook in webhooks.iter() {
            invocations.extend(WebhookCall::of(webhook, review, namespace.as_deref()).await?);
        }
        let calls = invocations.iter().map(|invocation| async move {
            let failure = invocation.call(review, false).await.err()?;
            failure.into_status(&invocation.webhook)
        });
        // The client gets the refusal of the first webhook of several.
        join_all(calls).await.into_iter().flatten().next().map_or(Ok(()), Err)
    }
}
