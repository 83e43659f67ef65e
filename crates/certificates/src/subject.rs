use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// The text of an attribute of a name. `None` if it has a string type that Go does not read.
pub fn attribute_text(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    let value = attribute.attr_value();
    let text = attribute.as_str().map(str::to_owned).ok();
    text.or_else(|| value.as_bmpstring().map(|text| text.string()).ok())
        .or_else(|| value.as_teletexstring().map(|text| text.string()).ok())
}

/// The common name of a subject; if there are several, the last one, as in Go. Empty if the subject has no such attribute, and `None` if
/// it has a string type that Go does not read.
pub fn common_name(subject: &X509Name<'_>) -> Option<String> {
    subject.iter_common_name().last().map_or_else(|| Some(String::new()), attribute_text)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    fn name_in(value: Option<DnValue>) -> Option<String> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(value) = value {
            params.distinguished_name.push(DnType::CommonName, value);
        }
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let (_, parsed) = X509Certificate::from_der(certificate.der()).unwrap();
        common_name(parsed.subject())
    }

    #[test]
    fn names_are_read_in_all_string_types_that_go_reads() {
        for value in [
            DnValue::Utf8String("jane".to_owned()),
            DnValue::PrintableString("jane".try_into().unwrap()),
            DnValue::Ia5String("jane".try_into().unwrap()),
            DnValue::TeletexString("jane".try_into().unwrap()),
            DnValue::BmpString("jane".try_into().unwrap()),
        ] {
            assert_eq!(name_in(Some(value.clone())).as_deref(), Some("jane"), "{value:?}");
        }
        assert_eq!(name_in(Some(DnValue::UniversalString("jane".try_into().unwrap()))), None);
        assert_eq!(name_in(None).as_deref(), Some(""));
    }
}
