use std::collections::BTreeMap;

use coracle_meta::FieldError;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use crate::field_checks::Wrong;
use crate::pem_block::PemBlock;

const LONGEST: usize = 1 << 20;

/// The errors of a text of certificates of authorities in PEM. In Kubernetes: `validateTrustBundle`.
pub(super) fn wrong(bundle: &str, path: &str) -> Wrong {
    if bundle.len() > LONGEST {
        return vec![FieldError::too_long(path, LONGEST)];
    }
    let mut text = bundle.as_bytes();
    let mut places: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut at = 0;
    while let Some((block, rest)) = PemBlock::first(text) {
        match problem(&block) {
            Some(problem) => problems.push(format!("entry {at} {problem}")),
            None => places.entry(block.bytes).or_default().push(at),
        }
        (at, text) = (at + 1, rest);
    }
    if problems.is_empty() {
        if places.is_empty() {
            problems.push("at least one trust anchor must be provided".to_owned());
        }
        let repeated = places.values().filter(|places| places.len() > 1);
        problems.extend(repeated.map(|places| {
            let places: Vec<String> = places.iter().map(usize::to_string).collect();
            format!("duplicate trust anchor (indices [{}])", places.join(" "))
        }));
    }
    problems.into_iter().map(|problem| FieldError::invalid(path, "<value omitted>", problem)).collect()
}

/// Why a block is not the certificate of an authority.
fn problem(block: &PemBlock) -> Option<String> {
    if block.label != "CERTIFICATE" {
        return Some(format!("has bad block type: {}", block.label));
    }
    if block.has_headers {
        return Some("has PEM block headers".to_owned());
    }
    let problem = match X509Certificate::from_der(&block.bytes) {
        Ok(([], certificate)) if certificate.is_ca() => return None,
        Ok(([], _)) => "does not have the CA bit set",
        _ => "does not parse as X.509",
    };
    Some(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    use super::*;

    fn certificate(is_authority: bool) -> String {
        let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        if is_authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    fn problems(bundle: &str) -> Vec<String> {
        wrong(bundle, "b").into_iter().map(|error| error.detail).collect()
    }

    #[test]
    fn a_bundle_holds_different_authorities_and_any_text_between_them() {
        let (first, second) = (certificate(true), certificate(true));
        assert_eq!(problems(&format!("one\n{first}two\n{second}three\n")), [""; 0]);
        assert_eq!(problems(&format!("{first}{second}{first}")), ["duplicate trust anchor (indices [0 2])"]);
        assert_eq!(problems(""), ["at least one trust anchor must be provided"]);
    }

    #[test]
    fn each_block_that_is_no_authority_is_named() {
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = junk.replace("CERTIFICATE", "PUBLIC KEY");
        let headed = junk.replace("AAAA", "A: b\n\nAAAA");
        let bundle = format!("{}{}{junk}{key}{headed}", certificate(true), certificate(false));
        assert_eq!(
            problems(&bundle),
            [
                "entry 1 does not have the CA bit set",
                "entry 2 does not parse as X.509",
                "entry 3 has bad block type: PUBLIC KEY",
                "entry 4 has PEM block headers",
            ]
        );
    }
}
