//! The plug-ins for CertificateSigningRequests: approval, signing and requests for some signers need separate
//! permissions, and no certificate can grant membership of `system:masters`.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_certificates::attribute_text;
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersionResource, Object, ResourcePath, Status};
use coracle_registry::{Admission, Attributes, Decision, Operation, Review};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

use crate::refusal::forbidden;

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";
/// The group whose members may do everything.
const MASTERS: &str = "system:masters";

/// `CertificateApproval`: an approval needs the permission `approve` for the signer.
pub(crate) struct CertificateApproval;

/// `CertificateSigning`: writing a certificate needs the permission `sign` for the signer.
pub(crate) struct CertificateSigning;

/// `CertificateSubjectRestriction`: a certificate for API clients must not contain the group `system:masters`.
pub(crate) struct CertificateSubjectRestriction;

/// `ClusterTrustBundleAttest`: a bundle of a signer needs the permission `attest` for the signer.
pub(crate) struct ClusterTrustBundleAttest;

#[async_trait]
impl Admission for ClusterTrustBundleAttest {
    fn name(&self) -> &'static str {
        "ClusterTrustBundleAttest"
    }

    fn handles(&self, operation: Operation) -> bool {
        matches!(operation, Operation::Create | Operation::Update)
    }

    async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        let (true, Some(bundle)) = (review.is_about_any_part(GROUP, "clustertrustbundles"), review.object()) else {
            return Ok(());
        };
        let signer = signer(Some(bundle));
        let is_same = review.old.is_some_and(|old| changes_only_gc_fields(bundle, old));
        if signer.is_empty() || is_same || may(review, "attest", signer).await? {
            return Ok(());
        }
        Err(forbidden(review, format!("user not permitted to attest for signerName {signer:?}")))
    }
}

/// Whether an update changes only what the garbage collector needs, as a storage migration does.
/// In Kubernetes: `IsOnlyMutatingGCFields`.
fn changes_only_gc_fields(new: &Object, old: &Object) -> bool {
    let compared = |object: &Object| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields"] {
            object.remove(&["metadata", field]);
        }
        object.to_value()
    };
    compared(new) == compared(old)
}

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
        if signed(review.object()) == signed(review.old) {
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
        let (true, Some(request)) = (review.is_about(GROUP, REQUESTS), review.object()) else { return Ok(()) };
        if request.text("spec.signerName") != "kubernetes.io/kube-apiserver-client" {
            return Ok(());
        }
        let groups = organizations(request.text("spec.request"))
            .map_err(|why| forbidden(review, format!("failed to parse CSR: {why}")))?;
        if groups.iter().any(|group| group == MASTERS) {
            let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
            return Err(forbidden(review, why));
        }
        Ok(())
    }
}

fn signer(request: Option<&Object>) -> &str {
    request.map_or("", |request| request.text("spec.signerName"))
}

/// Whether the user has this permission for a signer, or for all signers of its domain.
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

/// Reads the subject of a PEM certificate request, in base64 as JSON carries it. In Kubernetes: `ParseCSR`.
pub(crate) fn read_subject<T>(request: &str, read: impl FnOnce(&X509Name<'_>) -> Option<T>) -> Result<T, String> {
    let pem = STANDARD.decode(request).map_err(|error| error.to_string())?;
    let block = Pem::iter_from_buffer(&pem).flatten().find(|block| block.label == "CERTIFICATE REQUEST");
    let block = block.ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    let (_, request) = X509CertificationRequest::from_der(&block.contents).map_err(|error| error.to_string())?;
    read(&request.certification_request_info.subject).ok_or_else(|| "x509: unsupported string type".to_owned())
}

/// The organizations of a certificate request: the groups that the certificate would be of.
fn organizations(request: &str) -> Result<Vec<String>, String> {
    read_subject(request, |subject| subject.iter_organization().map(attribute_text).collect())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    fn request(name: &str, organization: DnValue) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.distinguished_name.push(DnType::OrganizationName, organization);
        let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
        STANDARD.encode(request.pem().unwrap())
    }

    #[test]
    fn owners_and_finalizers_are_no_change_of_a_bundle() {
        let bundle = |metadata: serde_json::Value, text: &str| {
            Object::from_value(serde_json::json!({"metadata": metadata, "spec": {"trustBundle": text}})).unwrap()
        };
        let old = bundle(serde_json::json!({"name": "b", "resourceVersion": "1"}), "a");
        let owned = bundle(serde_json::json!({"name": "b", "resourceVersion": "1", "finalizers": ["x/y"]}), "a");
        assert!(changes_only_gc_fields(&owned, &old));
        assert!(!changes_only_gc_fields(&bundle(serde_json::json!({"name": "b", "resourceVersion": "1"}), "b"), &old));
    }

    #[test]
    fn the_group_is_found_however_its_letters_are_encoded() {
        for group in [
            DnValue::Utf8String(MASTERS.to_owned()),
            DnValue::PrintableString(MASTERS.try_into().unwrap()),
            DnValue::Ia5String(MASTERS.try_into().unwrap()),
            DnValue::TeletexString(MASTERS.try_into().unwrap()),
            DnValue::BmpString(MASTERS.try_into().unwrap()),
        ] {
            assert_eq!(organizations(&request("jane", group.clone())), Ok(vec![MASTERS.to_owned()]), "{group:?}");
        }
    }

    #[test]
    fn a_group_of_a_type_that_go_does_not_read_is_refused_and_not_passed_over() {
        let group = DnValue::UniversalString(MASTERS.try_into().unwrap());
        assert!(organizations(&request("jane", group)).is_err());
    }

    #[test]
    fn a_name_that_holds_the_letters_is_not_the_group() {
        let group = DnValue::Utf8String("system:masters-of-none".to_owned());
        let found = organizations(&request(MASTERS, group));
        assert_eq!(found, Ok(vec!["system:masters-of-none".to_owned()]));
    }

    #[test]
    fn invalid_certificate_requests_are_not_parsed() {
        let block = |label: &str| STANDARD.encode(format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n"));
        for wrong in [String::new(), block("CERTIFICATE"), block("CERTIFICATE REQUEST")] {
            assert!(organizations(&wrong).is_err(), "{wrong}");
        }
    }
}
