//! The plug-ins of certificate signing requests: approving, signing and asking for some signers need a permission of
//! their own, and nobody joins `system:masters` by certificate.

use async_trait::async_trait;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Admission, Attributes, Decision, Operation, Review};

use crate::reading::forbidden;

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// `CertificateApproval`: who approves has to be allowed to approve for that signer.
pub(crate) struct CertificateApproval;

/// `CertificateSigning`: who writes a certificate has to be allowed to sign for that signer.
pub(crate) struct CertificateSigning;

/// `CertificateSubjectRestriction`: no certificate for API clients may name the group `system:masters`.
pub(crate) struct CertificateSubjectRestriction;

#[async_trait]
impl Admission for CertificateApproval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !review.is_about_any_part(GROUP, REQUESTS) || review.request.at.subresource != "approval" {
            return Ok(());
        }
        let signer = signer(review.old);
        if may(review, "approve", signer).await? {
            return Ok(());
        }
        let user = &review.request.user.name;
        Err(forbidden(review, format!("user not permitted to approve requests with signerName {signer:?}: {user}")))
    }
}

#[async_trait]
impl Admission for CertificateSigning {
    fn name(&self) -> &'static str {
        "CertificateSigning"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Update
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if !review.is_about_any_part(GROUP, REQUESTS) || review.request.at.subresource != "status" {
            return Ok(());
        }
        let signed = |object: Option<&Object>| {
            object.map(|object| (object.at("status.certificate").clone(), object.at("status.conditions").clone()))
        };
        if signed(review.object.as_ref()) == signed(review.old) {
            return Ok(());
        }
        let signer = signer(review.old);
        if may(review, "sign", signer).await? {
            return Ok(());
        }
        Err(forbidden(review, format!("user not permitted to sign requests with signerName {signer:?}")))
    }
}

#[async_trait]
impl Admission for CertificateSubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn handles(&self, operation: Operation) -> bool {
        operation == Operation::Create
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let (true, Some(request)) = (review.is_about(GROUP, REQUESTS), &review.object) else { return Ok(()) };
        if request.text(&["spec", "signerName"]) != "kubernetes.io/kube-apiserver-client" {
            return Ok(());
        }
        if !names_masters(request.text(&["spec", "request"])) {
            return Ok(());
        }
        let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        Err(forbidden(review, why))
    }
}

fn signer(request: Option<&Object>) -> &str {
    request.map_or("", |request| request.text(&["spec", "signerName"]))
}

/// Whether the asker may do this for a signer, or for all signers of its domain.
async fn may(review: &Review<'_>, verb: &str, signer: &str) -> Result<bool, Status> {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    for name in [signer.to_owned(), format!("{domain}/*")] {
        let signers = GroupVersionResource::new(GROUP, "*", "signers");
        let at = ResourcePath::new(signers).object("", name);
        let attributes = Attributes::of_resource(&review.request.user, verb, at);
        if matches!(review.registry.authorize(&attributes).await?, Decision::Allow(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a PEM certificate request, in base64 as JSON carries it, names the group anywhere. The subject of a request
/// is not encrypted, so its bytes stand in it as they are.
fn names_masters(request: &str) -> bool {
    let masters = b"system:masters";
    let pem = decode(request);
    let text = String::from_utf8_lossy(&pem);
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
    decode(&body).windows(masters.len()).any(|part| part == masters)
}

/// Base64, leniently: what is no sign of it is skipped.
fn decode(text: &str) -> Vec<u8> {
    let value = |sign: u8| -> Option<u32> {
        Some(match sign {
            b'A'..=b'Z' => u32::from(sign - b'A'),
            b'a'..=b'z' => u32::from(sign - b'a') + 26,
            b'0'..=b'9' => u32::from(sign - b'0') + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    let signs: Vec<u32> = text.bytes().filter_map(value).collect();
    let mut bytes = Vec::with_capacity(signs.len() * 3 / 4);
    for group in signs.chunks(4) {
        let bits = group.iter().fold(0, |bits, sign| bits << 6 | sign) << (6 * (4 - group.len()));
        bytes.extend(bits.to_be_bytes()[1..].iter().take(group.len() * 3 / 4));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        assert_eq!(decode("c3lzdGVtOm1hc3RlcnM="), b"system:masters");
        assert_eq!(decode("YQ=="), b"a");
        assert!(decode("").is_empty());
    }
}
