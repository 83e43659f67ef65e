use std::fmt;

use coracle_ambient::Random;
use p521::ecdsa::signature::{RandomizedSigner, Signer};
use ring::signature::{Ed25519KeyPair, KeyPair};
use yasna::models::ObjectIdentifier;
use yasna::{DERWriterSeq, Tag, construct_der};

use crate::secret_bytes::{Nonces, secret_bytes};
use crate::{Error, KeyType};

/// A private key. Its debug output shows only its type.
pub struct PrivateKey(Kind);

enum Kind {
    P256(Box<p256::ecdsa::SigningKey>),
    P384(Box<p384::ecdsa::SigningKey>),
    /// The library has no deterministic signatures on this curve: the stream gives their nonces.
    P521(Box<p521::ecdsa::SigningKey>, Nonces),
    /// The seed and its key.
    Ed25519([u8; 32], Ed25519KeyPair),
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.key_type()).finish()
    }
}

impl PrivateKey {
    /// A new key.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn generate(key_type: KeyType, random: &Random) -> Result<Self, Error> {
        // A number beyond the order of a curve is not a key: the next number is tried.
        loop {
            let kind = match key_type {
                KeyType::EcdsaP256 => {
                    let key = p256::ecdsa::SigningKey::from_slice(&secret_bytes::<32>(random)?);
                    key.ok().map(|key| Kind::P256(Box::new(key)))
                }
                KeyType::EcdsaP384 => {
                    let key = p384::ecdsa::SigningKey::from_slice(&secret_bytes::<48>(random)?);
                    key.ok().map(|key| Kind::P384(Box::new(key)))
                }
                KeyType::EcdsaP521 => {
                    let mut scalar = secret_bytes::<66>(random)?;
                    // 521 bits are 65 bytes and one bit.
                    scalar[0] &= 1;
                    let key = p521::ecdsa::SigningKey::from_slice(&scalar);
                    key.ok().map(|key| Kind::P521(Box::new(key), Nonces(random.clone())))
                }
                KeyType::Ed25519 => {
                    let seed = secret_bytes::<32>(random)?;
                    Ed25519KeyPair::from_seed_unchecked(&seed).ok().map(|key| Kind::Ed25519(seed, key))
                }
            };
            if let Some(kind) = kind {
                return Ok(Self(kind));
            }
        }
    }

    /// Its type.
    pub fn key_type(&self) -> KeyType {
        match &self.0 {
            Kind::P256(_) => KeyType::EcdsaP256,
            Kind::P384(_) => KeyType::EcdsaP384,
            Kind::P521(..) => KeyType::EcdsaP521,
            Kind::Ed25519(..) => KeyType::Ed25519,
        }
    }

    /// The public key without its type: an uncompressed point, or the 32 bytes of Ed25519.
    pub fn public_point(&self) -> Vec<u8> {
        match &self.0 {
            Kind::P256(key) => key.verifying_key().to_encoded_point(false).as_bytes().to_vec(),
            Kind::P384(key) => key.verifying_key().to_encoded_point(false).as_bytes().to_vec(),
            Kind::P521(key, _) => p521::ecdsa::VerifyingKey::from(&**key).to_encoded_point(false).as_bytes().to_vec(),
            Kind::Ed25519(_, key) => key.public_key().as_ref().to_vec(),
        }
    }

    /// A signature of the message, with the hash that belongs to the curve; ECDSA signatures in DER.
    ///
    /// # Errors
    /// If the library fails.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(match &self.0 {
            Kind::P256(key) => {
                let signature: p256::ecdsa::Signature = key.try_sign(message).map_err(|_| Error::Signing)?;
                signature.to_der().as_bytes().to_vec()
            }
            Kind::P384(key) => {
                let signature: p384::ecdsa::Signature = key.try_sign(message).map_err(|_| Error::Signing)?;
                signature.to_der().as_bytes().to_vec()
            }
            Kind::P521(key, nonces) => {
                let signed = key.try_sign_with_rng(&mut nonces.clone(), message);
                let signature: p521::ecdsa::Signature = signed.map_err(|_| Error::Signing)?;
                signature.to_der().as_bytes().to_vec()
            }
            Kind::Ed25519(_, key) => key.sign(message).as_ref().to_vec(),
        })
    }

    /// The key in PKCS#8, PEM. In Kubernetes: `pemEncodeKey`.
    pub fn pem(&self) -> String {
        let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        pem::encode_config(&pem::Pem::new("PRIVATE KEY", self.pkcs8()), lines)
    }

    fn pkcs8(&self) -> Vec<u8> {
        let key = match &self.0 {
            Kind::P256(key) => self.ec_private_key(&key.to_bytes()),
            Kind::P384(key) => self.ec_private_key(&key.to_bytes()),
            Kind::P521(key, _) => self.ec_private_key(&key.to_bytes()),
            Kind::Ed25519(seed, _) => construct_der(|writer| writer.write_bytes(seed)),
        };
        construct_der(|writer| {
            writer.write_sequence(|parts| {
                parts.next().write_u8(0);
                self.write_algorithm(parts);
                parts.next().write_bytes(&key);
            });
        })
    }

    /// `ECPrivateKey` without its curve, which is in the algorithm of PKCS#8. In RFC 5915.
    fn ec_private_key(&self, scalar: &[u8]) -> Vec<u8> {
        construct_der(|writer| {
            writer.write_sequence(|parts| {
                parts.next().write_u8(1);
                parts.next().write_bytes(scalar);
                let point = self.public_point();
                parts.next().write_tagged(Tag::context(1), |key| key.write_bitvec_bytes(&point, bits(&point)));
            });
        })
    }

    fn write_algorithm(&self, parts: &mut DERWriterSeq<'_>) {
        parts.next().write_sequence(|identifiers| {
            for identifier in self.key_type().key_identifiers() {
                identifiers.next().write_oid(&ObjectIdentifier::from_slice(identifier));
            }
        });
    }

    /// A request in DER that proves possession of the key and asks for no names. In Kubernetes: the stub PKCS#10 request
    /// of `generateKeyAndProof`.
    ///
    /// # Errors
    /// If the key cannot sign.
    pub fn certificate_request(&self) -> Result<Vec<u8>, Error> {
        let content = construct_der(|writer| {
            writer.write_sequence(|parts| {
                parts.next().write_u8(0);
                parts.next().write_sequence(|_| {});
                parts.next().write_sequence(|key| {
                    self.write_algorithm(key);
                    let point = self.public_point();
                    key.next().write_bitvec_bytes(&point, bits(&point));
                });
                parts.next().write_tagged_implicit(Tag::context(0), |attributes| attributes.write_set(|_| {}));
            });
        });
        let signature = self.sign(&content)?;
        Ok(construct_der(|writer| {
            writer.write_sequence(|parts| {
                parts.next().write_der(&content);
                parts.next().write_sequence(|algorithm| {
                    let identifier = ObjectIdentifier::from_slice(self.key_type().signature_identifier());
                    algorithm.next().write_oid(&identifier);
                });
                parts.next().write_bitvec_bytes(&signature, bits(&signature));
            });
        }))
    }
}

fn bits(bytes: &[u8]) -> usize {
    bytes.len() * 8
}

#[cfg(test)]
mod tests {
    use x509_parser::certification_request::X509CertificationRequest;
    use x509_parser::prelude::FromDer;

    use super::*;

    const TYPES: [&str; 4] = ["ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

    fn key(name: &str, seed: u64) -> PrivateKey {
        PrivateKey::generate(KeyType::named(name).unwrap(), &Random::from_seed(seed)).unwrap()
    }

    #[test]
    fn a_request_proves_possession_of_its_key() {
        for name in TYPES {
            let key = key(name, 7);
            let der = key.certificate_request().unwrap();
            let (rest, request) = X509CertificationRequest::from_der(&der).unwrap();
            assert!(rest.is_empty(), "{name}");
            let info = &request.certification_request_info;
            assert_eq!(info.subject_pki.subject_public_key.data.as_ref(), key.public_point(), "{name}");
            assert_eq!(info.subject.iter_attributes().count(), 0, "{name}");
            // x509-parser verifies with ring, which has no P-521; the API server verifies those.
            if name != "ECDSAP521" {
                request.verify_signature().unwrap();
            }
        }
    }

    #[test]
    fn a_seed_gives_one_key_and_one_signature() {
        for name in TYPES {
            assert_eq!(key(name, 7).pem(), key(name, 7).pem(), "{name}");
            assert_eq!(key(name, 7).sign(b"a").unwrap(), key(name, 7).sign(b"a").unwrap(), "{name}");
            assert_ne!(key(name, 7).pem(), key(name, 8).pem(), "{name}");
        }
    }

    #[test]
    fn a_key_of_the_operating_system_does_not_repeat() {
        let key = || PrivateKey::generate(KeyType::Ed25519, &Random::from_os()).unwrap();
        assert_ne!(key().pem(), key().pem());
    }

    #[test]
    fn ring_reads_the_keys_that_it_supports() {
        use ring::rand::SystemRandom;
        use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair};
        for (name, algorithm) in
            [("ECDSAP256", &ECDSA_P256_SHA256_ASN1_SIGNING), ("ECDSAP384", &ECDSA_P384_SHA384_ASN1_SIGNING)]
        {
            let key = key(name, 7);
            let read = EcdsaKeyPair::from_pkcs8(algorithm, &key.pkcs8(), &SystemRandom::new()).unwrap();
            assert_eq!(read.public_key().as_ref(), key.public_point(), "{name}");
        }
        let key = key("ED25519", 7);
        let read = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&key.pkcs8()).unwrap();
        assert_eq!(read.public_key().as_ref(), key.public_point());
    }

    #[test]
    fn rsa_is_refused_with_the_types_that_work() {
        let said = KeyType::named("RSA3072").unwrap_err().to_string();
        assert!(said.contains("\"RSA3072\"") && said.contains("ECDSAP256"), "{said}");
        assert_eq!(KeyType::named("DSA").unwrap_err().to_string(), "unknown key type \"DSA\"");
    }
}
