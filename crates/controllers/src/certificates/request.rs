//! What a certificate signing request asks for, and whether a kubelet may ask for it.
//!
//! In Kubernetes: `pkg/apis/certificates/helpers.go`.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_api::certificates_v1::{CertificateSigningRequest, CertificateSigningRequestStatus};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::AttributeTypeAndValue;

/// Signs client certificates of nodes for the API server.
pub(super) const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Signs serving certificates of nodes.
pub(super) const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// Signs client certificates of any client for the API server.
pub(super) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
/// Signs any approved request.
pub(super) const LEGACY_UNKNOWN: &str = "kubernetes.io/legacy-unknown";

const NODES: &str = "system:nodes";
const NODE: &str = "system:node:";

/// The content of a parsed request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) der: Vec<u8>,
    pub(super) common_name: String,
    organizations: Vec<String>,
    /// How many subject alternative names of each type it has.
    dns_names: usize,
    addresses: usize,
    emails: usize,
    uris: usize,
}

impl Content {
    /// Reads `spec.request`: PEM, in base64.
    pub(super) fn read(request: &CertificateSigningRequest) -> Result<Self, String> {
        let name = request.metadata.name.as_deref().unwrap_or_default();
        Self::parse(&request.spec.request).map_err(|why| format!("unable to parse csr {name:?}: {why}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let not_pem = || "PEM block type must be CERTIFICATE REQUEST".to_owned();
        let pem = STANDARD.decode(text).map_err(|_| not_pem())?;
        let first = Pem::iter_from_buffer(&pem).next().and_then(Result::ok);
        let pem = first.filter(|pem| pem.label == "CERTIFICATE REQUEST").ok_or_else(not_pem)?;
        let (_, request) = X509CertificationRequest::from_der(&pem.contents).map_err(|error| error.to_string())?;
        let subject = &request.certification_request_info.subject;
        let value = |attribute: &AttributeTypeAndValue<'_>| attribute.as_str().unwrap_or_default().to_owned();
        let mut content = Self {
            // Of several common names the last one wins, as in Go.
            common_name: subject.iter_common_name().last().map(value).unwrap_or_default(),
            organizations: subject.iter_organization().map(value).collect(),
            ..Self::default()
        };
        for extension in request.requested_extensions().into_iter().flatten() {
            if let ParsedExtension::SubjectAlternativeName(names) = extension {
                for name in &names.general_names {
                    match name {
                        GeneralName::DNSName(_) => content.dns_names += 1,
                        GeneralName::IPAddress(_) => content.addresses += 1,
                        GeneralName::RFC822Name(_) => content.emails += 1,
                        GeneralName::URI(_) => content.uris += 1,
                        _ => {}
                    }
                }
            }
        }
        content.der = pem.contents;
        Ok(content)
    }

    /// Whether a node may request this client certificate. In Kubernetes: `ValidateKubeletClientCSR`.
    pub(super) fn check_kubelet_client(&self, usages: &[String]) -> Result<(), String> {
        if self.organizations != [NODES] {
            return Err("subject organization is not system:nodes".to_owned());
        }
        let forbidden = [
            (self.dns_names, "DNS subjectAltNames are not allowed"),
            (self.emails, "email subjectAltNames are not allowed"),
            (self.addresses, "IP subjectAltNames are not allowed"),
            (self.uris, "URI subjectAltNames are not allowed"),
        ];
        if let Some((_, why)) = forbidden.iter().find(|(count, _)| *count > 0) {
            return Err((*why).to_owned());
        }
        self.check_name()?;
        check_usages(usages, "client auth")
    }

    /// Whether a node may request this serving certificate. In Kubernetes: `ValidateKubeletServingCSR`.
    pub(super) fn check_kubelet_serving(&self, usages: &[String]) -> Result<(), String> {
        if self.organizations != [NODES] {
            return Err("subject organization is not system:nodes".to_owned());
        }
        if self.dns_names + self.addresses == 0 {
            return Err("DNS or IP subjectAltName is required".to_owned());
        }
        if self.emails > 0 {
            return Err("email subjectAltNames are not allowed".to_owned());
        }
        if self.uris > 0 {
            return Err("URI subjectAltNames are not allowed".to_owned());
        }
        check_usages(usages, "server auth")?;
        self.check_name()
    }

    fn check_name(&self) -> Result<(), String> {
        let is_node = self.common_name.starts_with(NODE);
        if is_node { Ok(()) } else { Err("subject common name does not begin with system:node:".to_owned()) }
    }
}

/// Usages must be digital signature, optionally key encipherment, and the purpose.
fn check_usages(usages: &[String], purpose: &str) -> Result<(), String> {
    let given: BTreeSet<&str> = usages.iter().map(String::as_str).collect();
    let least = BTreeSet::from([purpose, "digital signature"]);
    let mut all = least.clone();
    all.insert("key encipherment");
    if given == least || given == all {
        return Ok(());
    }
    let all: Vec<_> = all.into_iter().collect();
    Err(format!("usages did not match [{}]", all.join(" ")))
}

/// Whether these usages are allowed for any client certificate. In Kubernetes: `validAPIServerClientUsages`.
pub(super) fn check_client_usages(usages: &[String]) -> Result<(), String> {
    let mut is_client = false;
    for usage in usages {
        match usage.as_str() {
            "digital signature" | "key encipherment" => {}
            "client auth" => is_client = true,
            other => return Err(format!("invalid usage for client certificate: {other}")),
        }
    }
    if is_client { Ok(()) } else { Err("missing required usage for client certificate: client auth".to_owned()) }
}

/// Whether a condition of this type exists and is true.
pub(super) fn has(status: &CertificateSigningRequestStatus, type_: &str) -> bool {
    status.conditions.iter().any(|condition| condition.type_ == type_ && condition.status != "False")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> Content {
        Content {
            common_name: "system:node:n1".to_owned(),
            organizations: vec![NODES.to_owned()],
            ..Content::default()
        }
    }

    fn usages(usages: &[&str]) -> Vec<String> {
        usages.iter().map(|usage| (*usage).to_owned()).collect()
    }

    #[test]
    fn a_node_asks_as_itself_for_one_purpose_and_nothing_more() {
        let client = usages(&["client auth", "digital signature"]);
        assert_eq!(content().check_kubelet_client(&client), Ok(()));
        let named = Content { dns_names: 1, ..content() };
        assert_eq!(named.check_kubelet_client(&client), Err("DNS subjectAltNames are not allowed".to_owned()));
        let wrong = content().check_kubelet_client(&usages(&["client auth"])).unwrap_err();
        assert_eq!(wrong, "usages did not match [client auth digital signature key encipherment]");
        let other = Content { common_name: "n1".to_owned(), ..content() };
        assert!(other.check_kubelet_client(&client).is_err());

        let serving = usages(&["server auth", "digital signature", "key encipherment"]);
        assert_eq!(named.check_kubelet_serving(&serving), Ok(()));
        let nowhere = content().check_kubelet_serving(&serving);
        assert_eq!(nowhere, Err("DNS or IP subjectAltName is required".to_owned()));
    }

    #[test]
    fn a_client_certificate_request_has_client_usage() {
        assert_eq!(check_client_usages(&usages(&["client auth", "key encipherment"])), Ok(()));
        let none = check_client_usages(&usages(&["digital signature"])).unwrap_err();
        assert_eq!(none, "missing required usage for client certificate: client auth");
        let other = check_client_usages(&usages(&["client auth", "server auth"])).unwrap_err();
        assert_eq!(other, "invalid usage for client certificate: server auth");
    }

    #[test]
    fn invalid_certificate_requests_are_reported() {
        for text in ["", "%%%", "aGVsbG8="] {
            assert_eq!(Content::parse(text), Err("PEM block type must be CERTIFICATE REQUEST".to_owned()), "{text}");
        }
    }
}
