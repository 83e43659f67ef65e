use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{GroupVersionResource, Status, go_quote};
use coracle_registry::{Admission, Derived, Lists, Review};
use coracle_schema::patch::JsonPatch;

use super::review::JSON_PATCH;
use super::verdict::WebhookFailure;
use super::webhook::{Webhook, webhooks};
use super::webhook_call::WebhookCall;
use crate::request_view::{is_exempt, is_unsent_review, namespace_of};
use crate::unreadable::Configured;

/// The name of the plug-in.
const NAME: &str = "MutatingAdmissionWebhook";

/// Calls the webhooks of `MutatingWebhookConfiguration`s, one after the other.
pub(crate) struct MutatingAdmissionWebhook {
    webhooks: Derived<Configured<Arc<Webhook>>>,
}

impl Default for MutatingAdmissionWebhook {
    fn default() -> Self {
        let reads = |_: &Lists| vec![configurations()];
        let read = |lists: &Lists, _: &Configured<Arc<Webhook>>| {
            Configured::new(webhooks(lists, &configurations()), lists, &[configurations()])
        };
        Self { webhooks: Derived::new(reads, read) }
    }
}

fn configurations() -> GroupVersionResource {
    GroupVersionResource::new("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations")
}

#[async_trait]
impl Admission for MutatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        NAME
    }

    async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        if is_exempt(&review.request.at.resource) || is_unsent_review(review) {
            return Ok(());
        }
        let webhooks = self.webhooks.current(review.registry).await?;
        webhooks.check(review)?;
        let webhooks = &webhooks.read;
        if webhooks.is_empty() {
            return Ok(());
        }
        review.begin_turn(NAME);
        let mut namespace = namespace_of(review).await?;
        for webhook in webhooks.iter() {
            if review.is_about_any_part("", "namespaces") {
                // An earlier webhook may have changed its labels.
                namespace = namespace_of(review).await?;
            }
            let Some(invocation) = WebhookCall::of(webhook, review, namespace.as_deref()).await? else { continue };
            // A webhook that was not called in the first round is not called in the second either.
            if review.reinvocation.is_second_round() && !review.reinvocation.is_due(NAME, &webhook.id) {
                continue;
            }
            let outcome = mutate(review, &invocation).await;
            if matches!(outcome, Ok(true)) {
                review.reinvocation.object_has_changed(NAME);
            }
            if webhook.is_reinvoked {
                review.reinvocation.add_eligible(NAME, &webhook.id);
            }
            if let Some(status) = outcome.err().and_then(|failure| failure.into_status(webhook)) {
                return Err(status);
            }
        }
        review.end_turn(NAME);
        Ok(())
    }
}

/// Calls one webhook and applies its patch; returns whether the object has changed.
async fn mutate(review: &mut Review<'_>, invocation: &WebhookCall) -> Result<bool, WebhookFailure> {
    let response = invocation.call(review, true).await?;
    let Some(patch) = response.patch else { return Ok(false) };
    let webhook = &invocation.webhook;
    let undecodable = |why: &dyn std::fmt::Display| {
        WebhookFailure::of_no_use(webhook, format!("received undecodable patch in webhook response: {why}"))
    };
    let patch = JsonPatch::decode(&patch).map_err(|why| undecodable(&why))?;
    if patch.is_empty() {
        return Ok(false);
    }
    if review.object().is_none() {
        return Err(WebhookFailure::Broken(format!(
            "admission webhook {} attempted to modify the object, which is not supported for this operation",
            go_quote(&webhook.name)
        )));
    }
    if response.patch_type != JSON_PATCH {
        let why = format!("unsupported patch type {}", go_quote(&response.patch_type));
        return Err(WebhookFailure::of_no_use(webhook, why));
    }
    let patched =
        patch.apply(invocation.object().clone()).map_err(|error| WebhookFailure::Broken(error.to_string()))?;
    let patched = invocation.read(review, patched).await.map_err(WebhookFailure::Broken)?;
    if review.object() == Some(&patched) {
        return Ok(false);
    }
    if let Some(object) = review.object_mut() {
        *object = patched;
    }
    Ok(true)
}
