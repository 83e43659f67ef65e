// Written by `cargo xtask api`.

use std::collections::BTreeMap;

use coracle_meta::lean_struct;

use crate::resource::resource;

lean_struct! {
    /// In Kubernetes: `certificates.v1.CertificateSigningRequest`.
    pub struct CertificateSigningRequest("certificates.k8s.io/v1", "CertificateSigningRequest") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: CertificateSigningRequestSpec = "spec",
        status: CertificateSigningRequestStatus = "status",
    }
}
resource!(
    CertificateSigningRequest,
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    Cluster
);

lean_struct! {
    /// In Kubernetes: `certificates.v1.CertificateSigningRequestCondition`.
    pub struct CertificateSigningRequestCondition {
        last_transition_time: Option<String> = "lastTransitionTime",
        last_update_time: Option<String> = "lastUpdateTime",
        message: String = "message" if nonzero,
        reason: String = "reason" if nonzero,
        status: String = "status",
        type_: String = "type",
    }
}

lean_struct! {
    /// In Kubernetes: `certificates.v1.CertificateSigningRequestSpec`.
    pub struct CertificateSigningRequestSpec {
        expiration_seconds: Option<i32> = "expirationSeconds",
        extra: BTreeMap<String, Vec<String>> = "extra",
        groups: Vec<String> = "groups",
        request: String = "request" if nonzero,
        signer_name: String = "signerName",
        uid: String = "uid" if nonzero,
        usages: Vec<String> = "usages",
        username: String = "username" if nonzero,
    }
}

lean_struct! {
    /// In Kubernetes: `certificates.v1.CertificateSigningRequestStatus`.
    pub struct CertificateSigningRequestStatus {
        certificate: String = "certificate" if nonzero,
        conditions: Vec<CertificateSigningRequestCondition> = "conditions",
    }
}
