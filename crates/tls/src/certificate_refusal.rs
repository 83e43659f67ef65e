//! Why a certificate is refused, in the words and the order of Go's `crypto/x509`.

use std::net::IpAddr;

use coracle_ambient::Timestamp;
use coracle_meta::{format_time, go_quote};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};
use x509_parser::public_key::PublicKey;

/// Why the certificate that `server` has shown `now` (seconds of the epoch) is refused, where `error` is why `rustls`
/// refuses it and `trusted` are the authorities. In Kubernetes: `x509.Certificate.Verify`.
pub(crate) fn refusal(
    certificate: &CertificateDer<'_>,
    server: &ServerName<'_>,
    trusted: &[CertificateDer<'_>],
    now: i64,
    error: &Error,
) -> String {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
        return "x509: malformed certificate".to_owned();
    };
    if let Some(why) = out_of_time(&parsed, now) {
        return why;
    }
    let is_for = ParsedCertificate::try_from(certificate).and_then(|shown| verify_server_name(&shown, server));
    if is_for.is_err() {
        return not_for(&parsed, server);
    }
    match error {
        Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        ) => "x509: certificate specifies an incompatible key usage".to_owned(),
        _ => of_unknown_authority(&parsed, trusted),
    }
}

fn out_of_time(certificate: &X509Certificate<'_>, now: i64) -> Option<String> {
    let (begin, end) = (certificate.validity().not_before.timestamp(), certificate.validity().not_after.timestamp());
    let text = |seconds: i64| Timestamp::from_second(seconds).map(format_time).unwrap_or_default();
    let (side, limit) = match now {
        now if now < begin => ("before", begin),
        now if now > end => ("after", end),
        _ => return None,
    };
    Some(format!(
        "x509: certificate has expired or is not yet valid: current time {} is {side} {}",
        text(now),
        text(limit)
    ))
}

/// In Kubernetes: `x509.HostnameError`.
fn not_for(certificate: &X509Certificate<'_>, server: &ServerName<'_>) -> String {
    let names = certificate.subject_alternative_name().ok().flatten().map(|names| names.value.general_names.as_slice());
    let server = server.to_str();
    let is_common_name = |host: &str| {
        certificate
            .subject()
            .iter_common_name()
            .any(|name| name.as_str().is_ok_and(|name| name.eq_ignore_ascii_case(host)))
    };
    if names.is_none() && is_common_name(&server) {
        return "x509: certificate relies on legacy Common Name field, use SANs instead".to_owned();
    }
    let is_address = server.parse::<IpAddr>().is_ok();
    let valid = names.unwrap_or_default().iter().filter_map(|name| match name {
        GeneralName::DNSName(name) if !is_address => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) if is_address => address(bytes),
        _ => None,
    });
    let valid: Vec<String> = valid.collect();
    match (valid.is_empty(), is_address) {
        (true, true) => {
            format!("x509: cannot validate certificate for {server} because it doesn't contain any IP SANs")
        }
        (true, false) => format!("x509: certificate is not valid for any names, but wanted to match {server}"),
        (false, _) => format!("x509: certificate is valid for {}, not {server}", valid.join(", ")),
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    address.ok().map(|address| address.to_string())
}

/// In Kubernetes: `x509.UnknownAuthorityError`, which names an authority with the issuer's name that has not signed it.
fn of_unknown_authority(certificate: &X509Certificate<'_>, trusted: &[CertificateDer<'_>]) -> String {
    let unknown = "x509: certificate signed by unknown authority";
    let parsed = trusted.iter().filter_map(|authority| X509Certificate::from_der(authority).ok());
    let mut candidates = parsed.map(|(_, authority)| authority);
    let candidate = candidates.find(|authority| authority.subject().as_raw() == certificate.issuer().as_raw());
    let Some(candidate) = candidate else { return unknown.to_owned() };
    let may_sign = candidate.basic_constraints().ok().flatten().is_some_and(|constraints| constraints.value.ca);
    let why = match candidate.public_key().parsed() {
        _ if !may_sign => "x509: invalid signature: parent certificate cannot sign this kind of certificate",
        Ok(PublicKey::RSA(_)) => "crypto/rsa: verification error",
        Ok(PublicKey::EC(_)) => "x509: ECDSA verification failure",
        _ => "x509: Ed25519 verification failure",
    };
    let text = |name: Option<&str>| name.filter(|name| !name.is_empty()).map(str::to_owned);
    let subject = candidate.subject();
    let name = text(subject.iter_common_name().next().and_then(|name| name.as_str().ok()))
        .or_else(|| text(subject.iter_organization().next().and_then(|name| name.as_str().ok())))
        .unwrap_or_else(|| format!("serial:{}", candidate.serial));
    format!(
        "{unknown} (possibly because of {} while trying to verify candidate authority certificate {})",
        go_quote(why),
        go_quote(&name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

    fn named(common_name: &str, names: &[&str]) -> CertificateParams {
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params
    }

    fn authority() -> (CertificateParams, KeyPair) {
        let mut params = named("ca", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params, KeyPair::generate().unwrap())
    }

    fn why(params: CertificateParams, trusted: &(CertificateParams, KeyPair), host: &str, now: i64) -> String {
        let (signer, key) = authority();
        let own = KeyPair::generate().unwrap();
        let shown = params.signed_by(&own, &Issuer::new(signer, key)).unwrap();
        let trusted = trusted.0.self_signed(&trusted.1).unwrap();
        let server = ServerName::try_from(host.to_owned()).unwrap();
        let error = CertificateError::UnknownIssuer.into();
        refusal(shown.der(), &server, &[trusted.der().clone()], now, &error)
    }

    #[test]
    fn a_certificate_is_refused_in_the_words_of_go() {
        let now = 1_800_000_000;
        let same_name = authority();
        let hint = "x509: certificate signed by unknown authority (possibly because of \"x509: ECDSA verification \
            failure\" while trying to verify candidate authority certificate \"ca\")";
        assert_eq!(why(named("w", &["w.example"]), &same_name, "w.example", now), hint);
        let mut other = authority();
        other.0 = named("other", &[]);
        let unknown = "x509: certificate signed by unknown authority";
        assert_eq!(why(named("w", &["w.example"]), &other, "w.example", now), unknown);
        assert_eq!(
            why(named("w", &["a.example", "b.example"]), &other, "w.example", now),
            "x509: certificate is valid for a.example, b.example, not w.example"
        );
        assert_eq!(
            why(named("w", &["a.example"]), &other, "10.0.0.1", now),
            "x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs"
        );
        assert_eq!(
            why(named("w", &["10.0.0.2"]), &other, "10.0.0.1", now),
            "x509: certificate is valid for 10.0.0.2, not 10.0.0.1"
        );
        assert_eq!(
            why(named("w.example", &[]), &other, "w.example", now),
            "x509: certificate relies on legacy Common Name field, use SANs instead"
        );
        let mut old = named("w", &["w.example"]);
        old.not_after = rcgen::date_time_ymd(2020, 1, 2);
        assert_eq!(
            why(old, &other, "w.example", now),
            "x509: certificate has expired or is not yet valid: current time 2027-01-15T08:00:00Z is after \
             2020-01-02T00:00:00Z"
        );
    }
}
