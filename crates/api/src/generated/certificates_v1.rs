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

lean_struct! {
    /// In Kubernetes: `certificates.v1.ClusterTrustBundle`.
    pub struct ClusterTrustBundle("certificates.k8s.io/v1", "ClusterTrustBundle") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: ClusterTrustBundleSpec = "spec",
    }
}
resource!(ClusterTrustBundle, "certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", Cluster);

lean_struct! {
    /// In Kubernetes: `certificates.v1.ClusterTrustBundleSpec`.
    pub struct ClusterTrustBundleSpec {
        signer_name: String = "signerName" if nonzero,
        trust_bundle: String = "trustBundle",
    }
}

lean_struct! {
    /// In Kubernetes: `certificates.v1.PodCertificateRequest`.
    pub struct PodCertificateRequest("certificates.k8s.io/v1", "PodCertificateRequest") {
        metadata: coracle_meta::ObjectMeta = "metadata",
        spec: PodCertificateRequestSpec = "spec",
        status: PodCertificateRequestStatus = "status",
    }
}
resource!(
    PodCertificateRequest,
    "certificates.k8s.io",
    "v1",
    "PodCertificateRequest",
    "podcertificaterequests",
    Namespaced
);

lean_struct! {
    /// In Kubernetes: `certificates.v1.PodCertificateRequestSpec`.
    pub struct PodCertificateRequestSpec {
        max_expiration_seconds: Option<i32> = "maxExpirationSeconds",
        node_name: String = "nodeName",
        node_uid: String = "nodeUID",
        pod_name: String = "podName",
        pod_uid: String = "podUID",
        service_account_name: String = "serviceAccountName",
        service_account_uid: String = "serviceAccountUID",
        signer_name: String = "signerName",
        stub_pkcs10_request: String = "stubPKCS10Request",
        unverified_user_annotations: BTreeMap<String, String> = "unverifiedUserAnnotations",
    }
}

lean_struct! {
    /// In Kubernetes: `certificates.v1.PodCertificateRequestStatus`.
    pub struct PodCertificateRequestStatus {
        begin_refresh_at: Option<String> = "beginRefreshAt",
        certificate_chain: String = "certificateChain" if nonzero,
        conditions: Vec<super::meta_v1::Condition> = "conditions",
        not_after: Option<String> = "notAfter",
        not_before: Option<String> = "notBefore",
    }
}
