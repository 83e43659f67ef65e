//! Signs approved requests, for the four built-in signers of Kubernetes.
//!
//! In Kubernetes: `pkg/controller/certificates/signer`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::{Ambient, Timestamp};
use coracle_api::certificates_v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, format_time};
use coracle_workqueue::RateLimiter;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::SignedDuration;

use super::request::{self, CLIENT, Content, KUBELET_CLIENT, KUBELET_SERVING, LEGACY_UNKNOWN, has};
use crate::Config;
use crate::keys::{CertificateKey, CertificateKeys, CertificateOrder};

const NAME: &str = "certificatesigningrequest-signing";
/// A certificate is valid from this long before its creation, for clients whose clocks are behind.
const BACKDATE: SignedDuration = SignedDuration::from_mins(5);
/// The end of a certificate with a shorter lifetime is not moved back with its beginning.
const SHORT: SignedDuration = SignedDuration::from_hours(8);
/// The shortest lifetime.
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);

/// The signing controller. Without a certificate authority it does not run, as in Kubernetes.
pub(crate) fn signing(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    if config.certificate_keys == CertificateKeys::default() {
        return std::future::ready(()).boxed();
    }
    let requests = process.informers.informer::<CertificateSigningRequest>();
    let limits = RateLimiter::exponential(Duration::from_millis(200), Duration::from_secs(1000));
    let signing = Signing {
        requests: requests.lister(),
        keys: config.certificate_keys.clone(),
        longest: SignedDuration::try_from(config.cluster_signing_duration).unwrap_or(SignedDuration::MAX),
        ambient: process.ambient.split(NAME),
    };
    let controller = Controller::on_queue(process, NAME, process.queue(NAME, limits), signing)
        .client(config.client(process))
        .watches(&requests, key_of)
        .workers(5);
    controller.run().boxed()
}

struct Signing {
    requests: Lister<CertificateSigningRequest>,
    keys: CertificateKeys,
    longest: SignedDuration,
    ambient: Ambient,
}

impl Reconciler for Signing {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(request) = self.requests.get(key) else { return pass.gone() };
        let (spec, status) = (&request.spec, &request.status);
        let is_approved = has(status, "Approved") && !has(status, "Denied") && !has(status, "Failed");
        let Some(authority) = authority(&self.keys, &spec.signer_name) else {
            return pass.done(|| "no key signs for its signer here: nothing to do");
        };
        if !status.certificate.is_empty() || !is_approved {
            return pass.done(|| "it is signed, or not approved: nothing to do");
        }
        let content = Content::read(&request).map_err(ReconcileError::Object)?;
        let now = self.ambient.clock.now();
        let mut written = CertificateSigningRequest::clone(&request);
        match check(&content, &spec.signer_name, &spec.usages) {
            Err(why) => {
                pass.decided(|| format!("{} does not sign it: {why}", spec.signer_name));
                written.status.conditions.push(CertificateSigningRequestCondition {
                    type_: "Failed".to_owned(),
                    status: "True".to_owned(),
                    reason: "SignerValidationFailure".to_owned(),
                    message: why,
                    last_update_time: Some(format_time(now)),
                    ..CertificateSigningRequestCondition::default()
                });
            }
            Ok(()) => {
                let (not_before, not_after) = lifetime(spec.expiration_seconds, self.longest, now);
                pass.decided(|| format!("{} signs it until {}", spec.signer_name, format_time(not_after)));
                let draw = self.ambient.random.keyed(&["serial number", &key.name]);
                let random = [draw.bits(), draw.bits()];
                let order = CertificateOrder {
                    request: content.der,
                    usages: spec.usages.clone(),
                    not_before,
                    not_after,
                    now,
                    serial: random.map(u64::to_be_bytes).concat(),
                    uri: None,
                };
                let signed = authority.sign(&order);
                let signed = signed.map_err(|why| ReconcileError::Object(format!("error auto signing csr: {why}")))?;
                written.status.certificate = STANDARD.encode(signed);
            }
        }
        unless_gone(pass.api().update_status(&written).await)?;
        Ok(Action::Done)
    }
}

/// The authority of a signer; `None` for a signer that is not built in, or that has no authority here.
fn authority<'a>(keys: &'a CertificateKeys, signer: &str) -> Option<&'a CertificateKey> {
    match signer {
        KUBELET_SERVING => keys.kubelet_serving.as_ref(),
        KUBELET_CLIENT => keys.kubelet_client.as_ref(),
        CLIENT => keys.kube_apiserver_client.as_ref(),
        LEGACY_UNKNOWN => keys.legacy_unknown.as_ref(),
        _ => None,
    }
}

/// Whether a signer signs such a request.
fn check(content: &Content, signer: &str, usages: &[String]) -> Result<(), String> {
    match signer {
        KUBELET_CLIENT => content.check_kubelet_client(usages),
        KUBELET_SERVING => content.check_kubelet_serving(usages),
        CLIENT => request::check_client_usages(usages),
        _ => Ok(()),
    }
}

/// From when to when a certificate is valid.
fn lifetime(asked: Option<i32>, longest: SignedDuration, now: Timestamp) -> (Timestamp, Timestamp) {
    let asked = asked.map(|seconds| SignedDuration::from_secs(i64::from(seconds)));
    let lasting = asked.map_or(longest, |asked| asked.max(SHORTEST).min(longest));
    let moved = if lasting < SHORT { lasting } else { lasting - BACKDATE };
    (now.saturating_sub(BACKDATE).unwrap_or(now), now.saturating_add(moved).unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;

    #[test]
    fn a_certificate_lasts_as_asked_within_bounds_and_begins_before_it_was_made() {
        let now = parse_time("2026-01-01T00:00:00Z").unwrap();
        let of = |asked| {
            let (from, to) = lifetime(asked, SignedDuration::from_hours(24), now);
            (format_time(from), format_time(to))
        };
        let from = "2025-12-31T23:55:00Z".to_owned();
        assert_eq!(of(None), (from.clone(), "2026-01-01T23:55:00Z".to_owned()));
        assert_eq!(of(Some(3600)), (from.clone(), "2026-01-01T01:00:00Z".to_owned()));
        assert_eq!(of(Some(1)).1, "2026-01-01T00:10:00Z");
        assert_eq!(of(Some(i32::MAX)).1, "2026-01-01T23:55:00Z");
    }
}
