use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::{PemObject, SectionKind};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::SubjectPublicKeyInfo;

use super::private_key::pkcs8;
use super::{PublicKey, SigningKey};

/// All keys of a PEM text: public keys, keys of certificates, and the public keys of private ones.
///
/// In Kubernetes: `keyutil.ParsePublicKeysPEM`.
/// Unlike Kubernetes: elliptic-curve keys can also be in PKCS#8, and RSA keys must have at least 2048 bits.
///
/// # Errors
/// If there is no key; other PEM blocks are ignored.
pub(crate) fn public_keys(pem: &str) -> Result<Vec<PublicKey>, String> {
    let blocks = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_bytes());
    let keys: Vec<_> = blocks.map_while(Result::ok).filter_map(|(kind, der)| in_block(kind, der)).collect();
    if keys.is_empty() { Err("data does not contain any valid RSA or ECDSA public keys".to_owned()) } else { Ok(keys) }
}

fn in_block(kind: SectionKind, der: Vec<u8>) -> Option<PublicKey> {
    let private = match kind {
        SectionKind::PublicKey => return PublicKey::of(&SubjectPublicKeyInfo::from_der(&der).ok()?.1),
        SectionKind::Certificate => return PublicKey::of(X509Certificate::from_der(&der).ok()?.1.public_key()),
        SectionKind::PrivateKey => PrivateKeyDer::Pkcs8(der.into()),
        SectionKind::RsaPrivateKey => PrivateKeyDer::Pkcs1(der.into()),
        SectionKind::EcPrivateKey => PrivateKeyDer::Sec1(der.into()),
        _ => return None,
    };
    SigningKey::from_pkcs8(&pkcs8(&private)?).ok().map(|key| key.public())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_key;

    const KEYS: [&str; 4] = [
        include_str!("../../tests/keys/rsa.pem"),
        include_str!("../../tests/keys/p256.pem"),
        include_str!("../../tests/keys/p384.pem"),
        include_str!("../../tests/keys/p521.pem"),
    ];

    fn public_half(pem: &str) -> PublicKey {
        SigningKey::from_pkcs8(&private_key(pem).unwrap()).unwrap().public()
    }

    #[test]
    fn a_file_holds_keys_of_every_sort_public_and_private() {
        let certificate = rcgen::generate_simple_self_signed([]).unwrap();
        let public = rcgen::KeyPair::generate().unwrap();
        let file = format!("{}{}{}", KEYS.concat(), certificate.cert.pem(), public.public_key_pem());
        let mut expected: Vec<_> = KEYS.iter().map(|pem| public_half(pem)).collect();
        expected.push(public_half(&certificate.signing_key.serialize_pem()));
        expected.push(public_half(&public.serialize_pem()));
        assert_eq!(public_keys(&file).unwrap(), expected);
    }

    #[test]
    fn a_file_without_a_key_is_refused() {
        for text in ["", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", include_str!("key_file.rs")] {
            assert_eq!(public_keys(text).unwrap_err(), "data does not contain any valid RSA or ECDSA public keys");
        }
    }
}
