//! The state of one pod certificate of a projected volume.
//!
//! ```text
//!                                     /------- a request is issued -------\
//!                                     v                                    \
//! nothing --request--> pending --> issued --time to refresh, request--> issued, pending
//!                         \--> denied or failed, for good <----------------/
//! ```
//! In Kubernetes: `projectionRecord` of `pkg/kubelet/podcertificate`.

use std::time::Duration;

use coracle_ambient::{SignedDuration, TimeShift, Timestamp};
use coracle_api::certificates_v1::PodCertificateRequest;
use coracle_meta::{Resource, parse_time};

use super::certificate_blocks::{blocks_of, certificates};

/// After this time, and a jitter, a request that the cache does not show was deleted. In Kubernetes:
/// `assumeDeletedThreshold`.
const ASSUME_DELETED: SignedDuration = SignedDuration::from_mins(10);
/// In Kubernetes: `refreshOverdueDuration`.
const OVERDUE: SignedDuration = SignedDuration::from_mins(10);
/// The bounds of the delay after a request that could not be made. In Kubernetes: `DefaultTypedControllerRateLimiter`.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1000));

/// A pod certificate: at first nothing is issued or pending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodCertificate {
    issued: Option<Credential>,
    pending: Option<Pending>,
    /// Why there will never be one.
    end: Option<String>,
    /// The last failure to make a request: when to retry, and the number of consecutive failures.
    failed: Option<(Timestamp, u32)>,
}

/// A key and its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credential {
    /// The key, PEM.
    pub(crate) key: String,
    /// The certificate chain, PEM.
    pub(crate) chain: String,
    begin_refresh: Timestamp,
    not_after: Timestamp,
    /// Which events were recorded.
    is_overdue: bool,
    is_expired: bool,
}

/// A request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    key: String,
    request: String,
    abandoned: Timestamp,
}

/// What has to be done about a pod certificate.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// The events to record: reason and message.
    pub(crate) events: Vec<(&'static str, String)>,
    /// Whether a request has to be made now.
    pub(crate) needs_request: bool,
    /// When to look again, if nothing changes before.
    pub(crate) again: Option<Timestamp>,
}

impl PodCertificate {
    /// The credential, or why it is missing, in the words of the kubelet.
    pub(crate) fn credential(&self) -> Result<&Credential, String> {
        match (&self.end, &self.issued) {
            (Some(why), _) => Err(why.clone()),
            (None, Some(issued)) => Ok(issued),
            (None, None) => Err("credential bundle is not issued yet".to_owned()),
        }
    }

    /// The name of the request that is pending.
    pub(crate) fn pending_request(&self) -> Option<&str> {
        self.pending.as_ref().map(|pending| pending.request.as_str())
    }

    /// Records that a request was made with this key.
    pub(crate) fn requested(
        &mut self,
        key: String,
        made: &PodCertificateRequest,
        now: Timestamp,
        jitter: SignedDuration,
    ) {
        let created = made.metadata.creation_timestamp.as_deref().and_then(parse_time).unwrap_or(now);
        let abandoned = created.later(ASSUME_DELETED + jitter);
        self.pending = Some(Pending { key, request: made.meta().name.clone().unwrap_or_default(), abandoned });
        self.failed = None;
    }

    /// Records that no request could be made.
    pub(crate) fn request_failed(&mut self, now: Timestamp) {
        let failures = self.failed.map_or(0, |(_, failures)| failures);
        let delay = RETRY.0.saturating_mul(1 << failures.min(20)).min(RETRY.1);
        self.failed = Some((now.later(delay), failures + 1));
    }

    /// Records that no request can ever be made.
    pub(crate) fn refuse(&mut self, why: String) {
        *self = Self { end: Some(why), ..Self::default() };
    }

    /// Takes note of the request that is pending, if the cache shows it. In Kubernetes: `handleProjection`.
    pub(crate) fn observe(
        &mut self,
        seen: Option<&PodCertificateRequest>,
        now: Timestamp,
        jitter: impl FnOnce() -> SignedDuration,
    ) -> Due {
        let mut due = Due::default();
        if self.end.is_some() {
            return due;
        }
        if let Some(pending) = self.pending.take() {
            match seen {
                Some(request) => self.settle(pending, request, jitter, &mut due),
                None if pending.abandoned <= now => {}
                None => self.pending = Some(pending),
            }
        }
        if self.end.is_some() {
            return due;
        }
        let mut times = Vec::new();
        let is_pending = self.pending.is_some();
        if let Some(pending) = &self.pending {
            times.push(pending.abandoned);
        }
        let mut is_fresh = false;
        if let Some(issued) = &mut self.issued {
            is_fresh = now < issued.begin_refresh;
            if is_fresh {
                times.push(issued.begin_refresh);
            } else {
                due.events.extend(issued.late_events(now));
            }
            if is_pending {
                times.extend(issued.late_times());
            }
        }
        if !is_pending && !is_fresh {
            match self.failed.filter(|(retry, _)| *retry > now) {
                Some((retry, _)) => times.push(retry),
                None => due.needs_request = true,
            }
        }
        due.again = times.into_iter().filter(|time| *time > now).min();
        due
    }

    /// Ends a request that its signer has decided about; otherwise it stays pending.
    fn settle(
        &mut self,
        pending: Pending,
        request: &PodCertificateRequest,
        jitter: impl FnOnce() -> SignedDuration,
        due: &mut Due,
    ) {
        let status = &request.status;
        let decided = status.conditions.iter().find_map(|condition| {
            let word = match condition.type_.as_str() {
                "Issued" => return Some((None, condition)),
                "Denied" => ("Denied", "denied", "was denied"),
                "Failed" => ("Failed", "failed", "failed"),
                _ => return None,
            };
            Some((Some(word), condition))
        });
        match decided {
            None => self.pending = Some(pending),
            Some((None, _)) => {
                let time = |text: &Option<String>| text.as_deref().and_then(parse_time).unwrap_or(Timestamp::MAX);
                self.issued = Some(Credential {
                    key: pending.key,
                    chain: certificates(blocks_of(&status.certificate_chain)),
                    begin_refresh: time(&status.begin_refresh_at).later(jitter()),
                    not_after: time(&status.not_after),
                    is_overdue: false,
                    is_expired: false,
                });
            }
            Some((Some((kind, ended, verb)), condition)) => {
                let (reason, message) = (&condition.reason, &condition.message);
                let why = format!("reason={reason:?} message={message:?}");
                *self = Self {
                    end: Some(format!("PodCertificateRequest was permanently {ended}: {why}")),
                    ..Self::default()
                };
                let sentence =
                    format!("PodCertificateRequest {} {verb}, reason={reason:?}, message={message:?}", request.key());
                // Kubernetes passes the reason as the format of the message.
                due.events.push((kind, format!("{reason}%!(EXTRA string={sentence})")));
            }
        }
    }
}

impl Credential {
    /// When it is overdue for refresh, and when it expires, unless the event was recorded.
    fn late_times(&self) -> impl Iterator<Item = Timestamp> {
        let overdue = (!self.is_overdue).then(|| self.begin_refresh.later(OVERDUE));
        overdue.into_iter().chain((!self.is_expired).then_some(self.not_after))
    }

    /// The events of a credential that is not refreshed in time.
    fn late_events(&mut self, now: Timestamp) -> Vec<(&'static str, String)> {
        let mut events = Vec::new();
        if !self.is_overdue && now >= self.begin_refresh.later(OVERDUE) {
            self.is_overdue = true;
            events.push(("CertificateOverdueForRefresh", "PodCertificate refresh overdue".to_owned()));
        }
        if !self.is_expired && now >= self.not_after {
            self.is_expired = true;
            events.push(("CertificateExpired", "PodCertificate expired".to_owned()));
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(text: &str) -> Timestamp {
        parse_time(&format!("2026-01-01T{text}Z")).unwrap()
    }

    fn request(condition: &str) -> PodCertificateRequest {
        let conditions: Vec<Value> = match condition {
            "" => Vec::new(),
            condition => vec![json!({"type": condition, "status": "True", "reason": "Why", "message": "so"})],
        };
        serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": "req-1", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"conditions": conditions, "beginRefreshAt": "2026-01-01T01:00:00Z",
                "notAfter": "2026-01-01T02:00:00Z"}
        }))
        .unwrap()
    }

    const JITTER: SignedDuration = SignedDuration::from_secs(60);

    fn pending() -> PodCertificate {
        let mut certificate = PodCertificate::default();
        certificate.requested("key".to_owned(), &request(""), at("00:00:00"), JITTER);
        certificate
    }

    fn look(certificate: &mut PodCertificate, seen: Option<&str>, now: &str) -> (bool, Option<Timestamp>, usize) {
        let seen = seen.map(request);
        let due = certificate.observe(seen.as_ref(), at(now), || JITTER);
        (due.needs_request, due.again, due.events.len())
    }

    #[test]
    fn a_certificate_is_requested_at_once_and_again_when_its_request_was_deleted() {
        let mut certificate = PodCertificate::default();
        assert_eq!(look(&mut certificate, None, "00:00:00"), (true, None, 0));
        let mut certificate = pending();
        assert_eq!(look(&mut certificate, Some(""), "00:00:01"), (false, Some(at("00:11:00")), 0));
        assert_eq!(look(&mut certificate, None, "00:10:59"), (false, Some(at("00:11:00")), 0));
        assert_eq!(look(&mut certificate, None, "00:11:00"), (true, None, 0));
    }

    #[test]
    fn an_issued_certificate_is_refreshed_after_its_time_and_a_jitter() {
        let mut certificate = pending();
        assert_eq!(certificate.credential().unwrap_err(), "credential bundle is not issued yet");
        assert_eq!(look(&mut certificate, Some("Issued"), "00:00:01"), (false, Some(at("01:01:00")), 0));
        assert_eq!(certificate.credential().unwrap().key, "key");
        assert_eq!(look(&mut certificate, None, "01:01:00"), (true, None, 0));
        certificate.requested("next".to_owned(), &request(""), at("01:01:00"), JITTER);
        assert_eq!(certificate.credential().unwrap().key, "key", "the old one stays until the new one is issued");
        assert!(look(&mut certificate, Some("Issued"), "01:01:01").0, "a chain that is old is refreshed");
        assert_eq!(certificate.credential().unwrap().key, "next");
    }

    #[test]
    fn a_late_refresh_and_an_expired_certificate_are_reported_once() {
        let mut certificate = pending();
        look(&mut certificate, Some("Issued"), "00:00:01");
        certificate.requested("next".to_owned(), &request(""), at("01:01:00"), JITTER);
        certificate.pending.as_mut().unwrap().abandoned = at("09:00:00");
        assert_eq!(look(&mut certificate, Some(""), "01:02:00"), (false, Some(at("01:11:00")), 0));
        assert_eq!(look(&mut certificate, Some(""), "01:11:00"), (false, Some(at("02:00:00")), 1));
        assert_eq!(look(&mut certificate, Some(""), "02:00:00"), (false, Some(at("09:00:00")), 1));
        assert_eq!(look(&mut certificate, Some(""), "02:00:01"), (false, Some(at("09:00:00")), 0));
    }

    #[test]
    fn a_denied_request_ends_the_certificate_with_the_words_of_kubernetes() {
        let mut certificate = pending();
        let due = certificate.observe(Some(&request("Denied")), at("00:00:01"), || JITTER);
        let message = "Why%!(EXTRA string=PodCertificateRequest n/req-1 was denied, reason=\"Why\", message=\"so\")";
        assert_eq!(due.events, [("Denied", message.to_owned())]);
        let why = "PodCertificateRequest was permanently denied: reason=\"Why\" message=\"so\"";
        assert_eq!(certificate.credential().unwrap_err(), why);
        assert_eq!(look(&mut certificate, None, "05:00:00"), (false, None, 0));
    }

    #[test]
    fn a_request_that_cannot_be_made_is_retried_ever_later() {
        let mut certificate = PodCertificate::default();
        let mut delays = Vec::new();
        for _ in 0..20 {
            certificate.request_failed(at("00:00:00"));
            let (retry, _) = certificate.failed.unwrap();
            delays.push(retry.duration_since(at("00:00:00")).as_millis());
        }
        assert_eq!((&delays[..3], delays[19]), (&[5, 10, 20][..], 1_000_000));
        assert_eq!(look(&mut certificate, None, "00:00:00"), (false, Some(at("00:16:40")), 0));
        assert_eq!(look(&mut certificate, None, "00:16:40"), (true, None, 0));
    }
}
