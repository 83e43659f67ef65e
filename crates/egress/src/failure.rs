use std::io::ErrorKind;

use coracle_tls::NOT_VERIFIED;
use rustls::{AlertDescription, InvalidMessage};

/// Why `address` did not respond, in the words of Go's HTTP client.
pub(crate) fn why(error: &(dyn std::error::Error + 'static), address: &str) -> String {
    let mut cause = Some(error);
    let mut last = error.to_string();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<rustls::Error>() {
            return tls_text(error);
        }
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return "EOF".to_owned();
        }
        if let Some(text) = error.downcast_ref::<std::io::Error>().and_then(|error| io_text(error, address)) {
            return text;
        }
        last = error.to_string();
        cause = error.source();
    }
    last
}

/// What Go says of a failure of the transport. One that another layer has wrapped is looked into: its source skips it.
fn io_text(error: &std::io::Error, address: &str) -> Option<String> {
    let inner = error.get_ref();
    if let Some(error) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return Some(tls_text(error));
    }
    if let Some(text) = inner.and_then(|inner| inner.downcast_ref()).and_then(|error| io_text(error, address)) {
        return Some(text);
    }
    let text = error.to_string();
    Some(match error.kind() {
        _ if text.starts_with("failed to lookup address information") => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            format!("dial tcp: lookup {host}: no such host")
        }
        ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused"),
        ErrorKind::HostUnreachable => format!("dial tcp {address}: connect: no route to host"),
        ErrorKind::NetworkUnreachable => format!("dial tcp {address}: connect: network is unreachable"),
        ErrorKind::TimedOut => format!("dial tcp {address}: i/o timeout"),
        ErrorKind::UnexpectedEof => "EOF".to_owned(),
        ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
        _ => return None,
    })
}

fn tls_text(error: &rustls::Error) -> String {
    match error {
        rustls::Error::General(text) if text.starts_with(NOT_VERIFIED) => text.clone(),
        rustls::Error::InvalidCertificate(other) => format!("{NOT_VERIFIED}x509: {other}"),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        other => format!("tls: {other}"),
    }
}

/// In Go: `alertText`.
fn alert_text(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::HandshakeFailure => "handshake failure".to_owned(),
        AlertDescription::BadCertificate => "bad certificate".to_owned(),
        AlertDescription::CertificateRequired => "certificate required".to_owned(),
        AlertDescription::CertificateUnknown => "unknown certificate".to_owned(),
        AlertDescription::UnknownCA => "unknown certificate authority".to_owned(),
        AlertDescription::ProtocolVersion => "protocol version not supported".to_owned(),
        AlertDescription::UnrecognisedName => "unrecognized name".to_owned(),
        AlertDescription::NoApplicationProtocol => "no application protocol".to_owned(),
        AlertDescription::InternalError => "internal error".to_owned(),
        other => format!("alert({})", u8::from(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_found_below_the_layers_that_wrap_it() {
        let wrapped = |error: std::io::Error| std::io::Error::other(std::io::Error::other(error));
        let refused = std::io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(why(&wrapped(refused), "h:1"), "dial tcp h:1: connect: connection refused");
        let unknown = std::io::Error::other("failed to lookup address information: Name or service not known");
        assert_eq!(why(&wrapped(unknown), "h:1"), "dial tcp: lookup h: no such host");
        let text = format!("{NOT_VERIFIED}x509: certificate signed by unknown authority");
        let tls = std::io::Error::new(ErrorKind::InvalidData, rustls::Error::General(text.clone()));
        assert_eq!(why(&wrapped(tls), "h:1"), text);
        let plain = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        let plain = std::io::Error::new(ErrorKind::InvalidData, plain);
        assert_eq!(why(&wrapped(plain), "h:1"), "http: server gave HTTP response to HTTPS client");
    }
}
