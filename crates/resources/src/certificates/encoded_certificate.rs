use x509_parser::certificate::X509Certificate;
use x509_parser::error::X509Error;
use x509_parser::nom;
use x509_parser::prelude::FromDer;

use crate::pem_block::PemBlock;

/// Why a text is not a chain of certificates in PEM; an empty text is valid.
/// In Kubernetes: `validateCertificate`.
pub(super) fn problem(mut text: &[u8]) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let mut blocks = 0_usize;
    while let Some((block, rest)) = PemBlock::first(text) {
        if block.label != "CERTIFICATE" {
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {:?}", block.label));
        }
        if block.has_headers {
            return Some("no PEM block headers are permitted".to_owned());
        }
        blocks += 1;
        if let Err(problem) = certificates(&block.bytes) {
            return Some(problem);
        }
        text = rest;
    }
    (blocks == 0).then(|| "must contain at least one CERTIFICATE PEM block".to_owned())
}

/// Reads the certificates of one block.
fn certificates(mut der: &[u8]) -> Result<(), String> {
    if der.is_empty() {
        return Err("found CERTIFICATE PEM block containing 0 certificates".to_owned());
    }
    while !der.is_empty() {
        (der, _) = X509Certificate::from_der(der).map_err(|error| go_error(&error))?;
    }
    Ok(())
}

/// The error of Go's `crypto/x509`, which names the invalid part of the certificate.
fn go_error(error: &nom::Err<X509Error>) -> String {
    let what = match error {
        nom::Err::Error(error) | nom::Err::Failure(error) => match error {
            X509Error::InvalidVersion => "invalid version",
            X509Error::InvalidSerial => "malformed serial number",
            X509Error::InvalidDate => "malformed UTCTime",
            X509Error::InvalidX509Name => "malformed issuer",
            X509Error::InvalidSPKI => "malformed spki",
            X509Error::InvalidExtensions | X509Error::DuplicateExtensions => "malformed extensions",
            X509Error::SignatureUnsupportedAlgorithm | X509Error::InvalidAlgorithmIdentifier => {
                "malformed signature algorithm identifier"
            }
            X509Error::InvalidTbsCertificate => "malformed tbs certificate",
            _ => "malformed certificate",
        },
        nom::Err::Incomplete(_) => "malformed certificate",
    };
    format!("x509: {what}")
}
