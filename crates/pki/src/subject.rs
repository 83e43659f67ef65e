use coracle_auth::attribute_text;
use rcgen::SigningKey;
use x509_parser::asn1_rs::{Any, FromDer};
use x509_parser::x509::X509Name;
use yasna::DERWriter;
use yasna::models::ObjectIdentifier;

/// The attributes of a subject that Go supports (the last number of `2.5.4.x`), in Go's order.
const ATTRIBUTES: [u64; 9] = [6, ORGANIZATION, 11, 7, 8, 9, 17, COMMON_NAME, SERIAL_NUMBER];
const COMMON_NAME: u64 = 3;
const SERIAL_NUMBER: u64 = 5;
const ORGANIZATION: u64 = 10;

/// The subject of a certificate.
///
/// rcgen has one value for each attribute, so it would keep only one of several organizations: groups would be lost.
/// In Kubernetes: `pkix.Name`, which drops unknown attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CertificateSubject {
    values: Vec<(u64, String)>,
}

impl CertificateSubject {
    /// A user and its groups.
    pub(crate) fn new(common_name: &str, organizations: &[&str]) -> Self {
        let organizations = organizations.iter().map(|name| (ORGANIZATION, (*name).to_owned()));
        Self { values: organizations.chain([(COMMON_NAME, common_name.to_owned())]).collect() }
    }

    /// The subject of a certificate request.
    ///
    /// # Errors
    /// If a value is not text, or of a type that Go does not read.
    pub(crate) fn read(name: &X509Name<'_>) -> Result<Self, String> {
        let mut values = Vec::new();
        for attribute in name.iter_attributes() {
            let numbers: Vec<u64> = attribute.attr_type().iter().into_iter().flatten().collect();
            if let [2, 5, 4, kind] = numbers.as_slice()
                && ATTRIBUTES.contains(kind)
            {
                let text = attribute_text(attribute).ok_or("x509: invalid RDNSequence: unsupported string type")?;
                values.push((*kind, text));
            }
        }
        Ok(Self { values })
    }

    /// The subject in DER. In Kubernetes: `ToRDNSequence`, which puts all values of an attribute into one set.
    pub(crate) fn to_der(&self) -> Vec<u8> {
        yasna::construct_der(|writer| {
            writer.write_sequence(|names| {
                for kind in ATTRIBUTES {
                    let values = self.values_of(kind);
                    if !values.is_empty() {
                        names.next().write_set_of(|set| {
                            values.into_iter().for_each(|value| write_attribute(set.next(), kind, value))
                        });
                    }
                }
            });
        })
    }

    fn values_of(&self, kind: u64) -> Vec<&str> {
        let mut all: Vec<&str> =
            self.values.iter().filter(|(of, _)| *of == kind).map(|(_, text)| text.as_str()).collect();
        // Go keeps the last of several names.
        if [COMMON_NAME, SERIAL_NUMBER].contains(&kind) {
            all = all.pop().filter(|name| !name.is_empty()).into_iter().collect();
        }
        all
    }
}

/// Writes an attribute's type and value.
fn write_attribute(writer: DERWriter<'_>, kind: u64, value: &str) {
    writer.write_sequence(|pair| {
        pair.next().write_oid(&ObjectIdentifier::from_slice(&[2, 5, 4, kind]));
        if value.bytes().all(is_printable) {
            pair.next().write_printable_string(value)
        } else {
            pair.next().write_utf8_string(value)
        }
    });
}

/// Whether a byte is valid in a `PrintableString`.
fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte)
}

/// A certificate in DER with its issuer and subject replaced, and signed again.
///
/// # Errors
/// If the certificate cannot be read, or the key does not sign.
pub(crate) fn renamed(
    certificate: &[u8],
    issuer: &[u8],
    subject: &CertificateSubject,
    key: &impl SigningKey,
) -> Result<Vec<u8>, String> {
    let unreadable = || "the certificate cannot be read that was made".to_owned();
    let parts = elements(certificate).ok_or_else(unreadable)?;
    let [body, algorithm, _] = parts.as_slice() else { return Err(unreadable()) };
    let fields = elements(body).ok_or_else(unreadable)?;
    let [version, serial, signature, _, validity, _, rest @ ..] = fields.as_slice() else { return Err(unreadable()) };
    let subject = subject.to_der();
    let head = [version, serial, signature, issuer, validity, &subject];
    let body = sequence(head.into_iter().chain(rest.iter().copied()));
    let signature = key.sign(&body).map_err(|error| error.to_string())?;
    Ok(yasna::construct_der(|writer| {
        writer.write_sequence(|certificate| {
            certificate.next().write_der(&body);
            certificate.next().write_der(algorithm);
            certificate.next().write_bitvec_bytes(&signature, signature.len() * 8);
        });
    }))
}

fn sequence<'d>(elements: impl Iterator<Item = &'d [u8]>) -> Vec<u8> {
    yasna::construct_der(|writer| writer.write_sequence(|parts| elements.for_each(|part| parts.next().write_der(part))))
}

/// The elements of a sequence, each with its header.
fn elements(sequence: &[u8]) -> Option<Vec<&[u8]>> {
    let (_, outer) = Any::from_der(sequence).ok()?;
    let (mut rest, mut all) = (outer.data, Vec::new());
    while !rest.is_empty() {
        let (after, _) = Any::from_der(rest).ok()?;
        all.push(&rest[..rest.len() - after.len()]);
        rest = after;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(der: &[u8]) -> CertificateSubject {
        CertificateSubject::read(&X509Name::from_der(der).unwrap().1).unwrap()
    }

    #[test]
    fn a_subject_keeps_all_organizations_and_of_its_names_the_last() {
        let values = [(3, "first"), (10, "b"), (10, "größe"), (10, "a"), (5, "1"), (3, "last")];
        let subject = CertificateSubject { values: values.map(|(kind, text)| (kind, text.to_owned())).to_vec() };
        let written = read(&subject.to_der());
        assert_eq!(written.values_of(COMMON_NAME), ["last"]);
        let mut organizations = written.values_of(ORGANIZATION);
        organizations.sort_unstable();
        assert_eq!(organizations, ["a", "b", "größe"]);
        assert_eq!(read(&written.to_der()), written);
    }

    #[test]
    fn an_empty_subject_is_an_empty_sequence() {
        assert_eq!(CertificateSubject::new("", &[]).to_der(), [0x30, 0]);
    }
}
