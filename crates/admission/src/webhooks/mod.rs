//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: programs elsewhere that change or refuse writes.
//!
//! ```text
//! configurations (read again when they change) --Webhook::call_for--> WebhookCall --review--> AdmissionReview
//!     --Registry::call--> Verdict: allowed, with a patch | refused | no use of it (by the failure policy: pass or 500)
//! ```
//! Those that mutate are called one after the other, those that validate all at once.
//! In Kubernetes: `apiserver/pkg/admission/plugin/webhook`.
//! Unlike Kubernetes: a configuration holds from the next request on; conditions have no `authorizer`; in the audit log
//! stands what webhooks have to say, and not in which round which of them changed what.

mod mutating;
mod review;
mod validating;
mod verdict;
mod webhook;
mod webhook_call;

pub(crate) use mutating::MutatingAdmissionWebhook;
pub(crate) use validating::ValidatingAdmissionWebhook;
