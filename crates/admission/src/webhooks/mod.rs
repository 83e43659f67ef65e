//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: webhooks that change or refuse writes.
//!
//! ```text
//! configurations (read again when they change) --Webhook::call_for--> WebhookCall --review--> AdmissionReview
//!     --Registry::call--> Verdict: allowed, with a patch | refused | failed (by the failure policy: pass or 500)
//! ```
//! Mutating webhooks are called one after the other, validating webhooks concurrently.
//! In Kubernetes: `apiserver/pkg/admission/plugin/webhook`.
//! Unlike Kubernetes: a configuration takes effect with the next request; the audit log contains the annotations of
//! webhooks, but not the round and the patch of each mutating webhook.

mod mutating;
mod review;
mod validating;
mod verdict;
mod webhook;
mod webhook_call;

pub(crate) use mutating::MutatingAdmissionWebhook;
pub(crate) use validating::ValidatingAdmissionWebhook;
