//! Signs pod certificate requests for the signer `coracle.dev/pod-certificate`, and publishes its trust bundle.
//!
//! Unlike Kubernetes: it has no signer of pod certificates; users bring their own. Requests for other signers stay
//! pending for them. The trust bundle is created with the first request. The certificates are like those of
//! `hermeticpodcertificatesigner`, the signer in Kubernetes' tests, without its names of Services.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_ambient::{Ambient, TimeShift, Timestamp};
use coracle_api::certificates_v1::{ClusterTrustBundle, PodCertificateRequest, PodCertificateRequestSpec};
use coracle_api::meta_v1::Condition;
use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of, unless_gone};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, format_time};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::SignedDuration;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use crate::Config;
use crate::keys::{CertificateKey, CertificateOrder};

const NAME: &str = "podcertificaterequest-signing";
/// The signer.
const SIGNER: &str = "coracle.dev/pod-certificate";
/// Its trust bundle.
const BUNDLE: &str = "coracle.dev:pod-certificate:root";

/// A certificate is valid from this long before its creation, for clients whose clocks are behind.
const BACKDATE: SignedDuration = SignedDuration::from_mins(2);
/// The longest lifetime.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);
/// A certificate is renewed this long before its end.
const REFRESH: SignedDuration = SignedDuration::from_mins(30);

/// The signing controller. Without a certificate authority it does not run.
pub(crate) fn pod_certificate_signing(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let Some(authority) = config.pod_certificate_key.clone() else { return std::future::ready(()).boxed() };
    let requests = process.informers.informer::<PodCertificateRequest>();
    let signing = Signing { requests: requests.lister(), authority, ambient: process.ambient.split(NAME) };
    let controller = Controller::new(process, NAME, signing).client(config.client(process)).watches(&requests, key_of);
    controller.run().boxed()
}

struct Signing {
    requests: Lister<PodCertificateRequest>,
    authority: CertificateKey,
    ambient: Ambient,
}

impl Reconciler for Signing {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(request) = self.requests.get(key) else { return pass.gone() };
        if request.spec.signer_name != SIGNER {
            return pass.done(|| format!("the request is for {}: nothing to do", request.spec.signer_name));
        }
        if !request.status.conditions.is_empty() {
            return pass.done(|| "the request is issued, denied or failed: nothing to do");
        }
        let mut written = PodCertificateRequest::clone(&request);
        let now = Timestamp::from_second(self.ambient.clock.now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
        let der = STANDARD.decode(&request.spec.stub_pkcs10_request).unwrap_or_default();
        if !is_supported(&der) {
            pass.decided(|| format!("{SIGNER} does not sign keys of this type: deny"));
            let message =
                format!("{SIGNER} signs keys of the types ECDSAP256, ECDSAP384, ED25519, RSA3072 and RSA4096");
            written.status.conditions = vec![condition("Denied", "UnsupportedKeyType", message, now)];
        } else {
            self.publish(pass).await?;
            let draw = self.ambient.random.keyed(&["serial number", &key.namespace, &key.name]);
            let serial = [draw.bits(), draw.bits()].map(u64::to_be_bytes).concat();
            let (order, begin_refresh) = order(&key.namespace, &request.spec, der, serial, now);
            let failed = |why| ReconcileError::Object(format!("error signing the certificate: {why}"));
            let signed = self.authority.sign(&order).map_err(failed)?;
            pass.decided(|| format!("{SIGNER} signs it until {}", format_time(order.not_after)));
            let status = &mut written.status;
            status.conditions = vec![condition("Issued", "Issued", format!("{SIGNER} issued the certificate"), now)];
            status.not_before = Some(format_time(order.not_before));
            status.not_after = Some(not_after(&signed).unwrap_or_else(|| format_time(order.not_after)));
            status.begin_refresh_at = Some(format_time(begin_refresh));
            status.certificate_chain = signed;
        }
        unless_gone(pass.api().update_status(&written).await)?;
        Ok(Action::Done)
    }
}

impl Signing {
    /// Creates the trust bundle of the signer, or corrects it.
    async fn publish(&self, pass: &Pass) -> Result<(), ReconcileError> {
        let failed = |why| ReconcileError::Object(format!("error reading the certificate of {SIGNER}: {why}"));
        let certificate = self.authority.certificate().map_err(failed)?;
        let api = pass.api::<ClusterTrustBundle>();
        let Some(mut found) = api.find(&ObjectKey::cluster(BUNDLE)).await? else {
            let mut bundle = ClusterTrustBundle::default();
            bundle.metadata.name = Some(BUNDLE.to_owned());
            bundle.spec.signer_name = SIGNER.to_owned();
            bundle.spec.trust_bundle = certificate;
            pass.create_if_missing(&bundle).await?;
            return Ok(());
        };
        if found.spec.trust_bundle != certificate {
            found.spec.trust_bundle = certificate;
            api.update(&found).await?;
        }
        Ok(())
    }
}

/// The certificate that a request gets, and when it is renewed.
fn order(
    namespace: &str,
    spec: &PodCertificateRequestSpec,
    request: Vec<u8>,
    serial: Vec<u8>,
    now: Timestamp,
) -> (CertificateOrder, Timestamp) {
    let asked = spec.max_expiration_seconds.map(|seconds| SignedDuration::from_secs(i64::from(seconds)));
    let not_before = now.earlier(BACKDATE);
    let not_after = not_before.later(asked.map_or(LONGEST, |asked| asked.min(LONGEST)));
    let usages = ["digital signature", "client auth", "server auth"].map(str::to_owned).to_vec();
    let uri = Some(format!("spiffe://cluster.local/ns/{namespace}/sa/{}", spec.service_account_name));
    (CertificateOrder { request, usages, not_before, not_after, now, serial, uri }, not_after.earlier(REFRESH))
}

/// Whether the authority can sign the key of a request: it cannot sign keys on P-521.
fn is_supported(request: &[u8]) -> bool {
    const P521: &str = "1.3.132.0.35";
    let Ok((_, request)) = X509CertificationRequest::from_der(request) else { return false };
    let algorithm = &request.certification_request_info.subject_pki.algorithm;
    let curve = algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
    curve.is_none_or(|curve| curve.to_id_string() != P521)
}

/// The end of a certificate, which the end of its authority may have limited.
fn not_after(certificate: &str) -> Option<String> {
    let pem = Pem::iter_from_buffer(certificate.as_bytes()).next()?.ok()?;
    let end = pem.parse_x509().ok()?.validity().not_after.timestamp();
    Timestamp::from_second(end).ok().map(format_time)
}

fn condition(type_: &str, reason: &str, message: String, now: Timestamp) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Some(format_time(now)),
        ..Condition::default()
    }
}

#[cfg(test)]
mod tests {
    use coracle_meta::parse_time;

    use super::*;

    #[test]
    fn a_certificate_lasts_as_asked_but_at_most_a_day_and_is_renewed_half_an_hour_before_its_end() {
        let now = parse_time("2026-01-02T00:00:00Z").unwrap();
        let of = |seconds| {
            let spec = PodCertificateRequestSpec {
                max_expiration_seconds: seconds,
                service_account_name: "s".to_owned(),
                ..PodCertificateRequestSpec::default()
            };
            let (order, refresh) = order("n", &spec, Vec::new(), Vec::new(), now);
            assert_eq!(order.uri.as_deref(), Some("spiffe://cluster.local/ns/n/sa/s"));
            [order.not_before, refresh, order.not_after].map(format_time)
        };
        assert_eq!(of(Some(3600)), ["2026-01-01T23:58:00Z", "2026-01-02T00:28:00Z", "2026-01-02T00:58:00Z"]);
        assert_eq!(of(Some(1_000_000))[2], "2026-01-02T23:58:00Z");
        assert_eq!(of(None)[2], "2026-01-02T23:58:00Z");
    }
}
