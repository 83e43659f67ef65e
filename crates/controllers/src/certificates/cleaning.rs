//! Deletes certificate signing requests that are finished, expired or pending for too long.
//!
//! In Kubernetes: `pkg/controller/certificates/cleaner`. Unlike Kubernetes: each request is deleted when it is due.
//! Kubernetes polls all requests once an hour.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::{Clock, Timestamp};
use coracle_api::certificates_v1::CertificateSigningRequest;
use coracle_client::DeleteParams;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, parse_time};
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use x509_parser::pem::Pem;

use crate::Config;

/// How long finished requests, and pending ones, are kept.
const DONE: SignedDuration = SignedDuration::from_hours(1);
const WAITING: SignedDuration = SignedDuration::from_hours(24);

/// The cleaning controller.
pub(crate) fn cleaning(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let requests = process.informers.informer::<CertificateSigningRequest>();
    let cleaning = Cleaning { requests: requests.lister(), clock: process.ambient.clock.clone() };
    let controller = Controller::new(process, "certificatesigningrequest-cleaner", cleaning)
        .client(config.client(process))
        .watches(&requests, key_of);
    Box::pin(controller.run())
}

struct Cleaning {
    requests: Lister<CertificateSigningRequest>,
    clock: Clock,
}

impl Reconciler for Cleaning {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(request) = self.requests.get(key) else { return pass.gone() };
        let Some(due) = due(&request) else { return pass.done(|| "nothing ends its time: keep it") };
        let left = due.duration_since(self.clock.now());
        if left.is_positive() {
            pass.decided(|| format!("its time ends in {left:#}: keep it"));
            return Ok(Action::RequeueAfter(left.unsigned_abs()));
        }
        pass.decided(|| "expired: delete");
        pass.delete_if_there::<CertificateSigningRequest>(key, &DeleteParams::default()).await?;
        Ok(Action::Done)
    }
}

/// When a request is deleted; `None` if nothing records since when it has been in its state.
fn due(request: &CertificateSigningRequest) -> Option<Timestamp> {
    let status = &request.status;
    let is_issued = !status.certificate.is_empty();
    let after = |since: &Option<String>, lasting| parse_time(since.as_deref()?)?.checked_add(lasting).ok();
    let of_conditions = status.conditions.iter().filter_map(|condition| match condition.type_.as_str() {
        "Denied" | "Failed" => after(&condition.last_update_time, DONE),
        "Approved" if is_issued => {
            after(&condition.last_update_time, DONE).into_iter().chain(expiry(&status.certificate)).min()
        }
        "Approved" => after(&condition.last_update_time, WAITING),
        _ => None,
    });
    if status.conditions.is_empty() {
        after(&request.metadata.creation_timestamp, WAITING)
    } else {
        of_conditions.min()
    }
}

/// When a certificate expires.
fn expiry(certificate: &str) -> Option<Timestamp> {
    let pem = STANDARD.decode(certificate).ok()?;
    let pem = Pem::iter_from_buffer(&pem).next()?.ok()?;
    let not_after = pem.parse_x509().ok()?.validity().not_after;
    Timestamp::from_second(not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::format_time;
    use serde_json::{Value, json};

    fn due_of(status: Value) -> Option<String> {
        let request = json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "status": status});
        due(&serde_json::from_value(request).unwrap()).map(format_time)
    }

    fn condition(type_: &str) -> Value {
        json!([{"type": type_, "status": "True", "lastUpdateTime": "2026-01-02T00:00:00Z"}])
    }

    #[test]
    fn completed_requests_are_deleted_after_an_hour_and_pending_ones_after_a_day() {
        assert_eq!(due_of(json!({})).as_deref(), Some("2026-01-02T00:00:00Z"));
        assert_eq!(due_of(json!({"conditions": condition("Denied")})).as_deref(), Some("2026-01-02T01:00:00Z"));
        assert_eq!(due_of(json!({"conditions": condition("Failed")})).as_deref(), Some("2026-01-02T01:00:00Z"));
        assert_eq!(due_of(json!({"conditions": condition("Approved")})).as_deref(), Some("2026-01-03T00:00:00Z"));
        let issued = json!({"conditions": condition("Approved"), "certificate": "eA=="});
        assert_eq!(due_of(issued).as_deref(), Some("2026-01-02T01:00:00Z"));
        assert_eq!(due_of(json!({"conditions": [{"type": "Denied", "lastUpdateTime": "long ago"}]})), None);
    }
}
