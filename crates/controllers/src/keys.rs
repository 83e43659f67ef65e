//! Keys that controllers sign with, and do not have: whoever runs the controllers gives them.

use std::fmt;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use serde_json::Value;

/// Signs tokens of service accounts.
pub trait SignsTokens: fmt::Debug + Send + Sync {
    /// A token with these claims, or why there is none.
    fn sign(&self, claims: &Value) -> Result<String, String>;
}

/// The key of the tokens of service accounts. In Kubernetes: `--service-account-private-key-file`.
#[derive(Clone, Debug)]
pub struct TokenKey(Arc<dyn SignsTokens>);

impl TokenKey {
    /// The key that signs like this.
    pub fn new(signer: Arc<dyn SignsTokens>) -> Self {
        Self(signer)
    }

    pub(crate) fn sign(&self, claims: &Value) -> Result<String, String> {
        self.0.sign(claims)
    }
}

/// Keys are the same if they are one.
impl PartialEq for TokenKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A certificate that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateOrder {
    /// The request, DER: whose key it is, and under which names.
    pub request: Vec<u8>,
    /// What it may be used for, in the words of the API: `client auth`. What the request says of that does not count.
    pub usages: Vec<String>,
    /// From when it counts.
    pub not_before: Timestamp,
    /// Until when, if the authority lasts so long.
    pub not_after: Timestamp,
    /// When it is made.
    pub now: Timestamp,
    /// A number that no other certificate of the authority has.
    pub serial: Vec<u8>,
}

/// Signs certificates.
pub trait SignsCertificates: fmt::Debug + Send + Sync {
    /// The certificate, PEM, or why there is none.
    fn sign(&self, order: &CertificateOrder) -> Result<String, String>;
}

/// The key of a certificate authority. In Kubernetes: `--cluster-signing-cert-file` and `--cluster-signing-key-file`.
#[derive(Clone, Debug)]
pub struct CertificateKey(Arc<dyn SignsCertificates>);

impl CertificateKey {
    /// The key that signs like this.
    pub fn new(signer: Arc<dyn SignsCertificates>) -> Self {
        Self(signer)
    }

    pub(crate) fn sign(&self, order: &CertificateOrder) -> Result<String, String> {
        self.0.sign(order)
    }
}

/// Keys are the same if they are one.
impl PartialEq for CertificateKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The authority of each signer that Kubernetes has itself; a signer without one signs nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CertificateKeys {
    /// Of `kubernetes.io/kubelet-serving`. `--cluster-signing-kubelet-serving-cert-file`
    pub kubelet_serving: Option<CertificateKey>,
    /// Of `kubernetes.io/kube-apiserver-client-kubelet`. `--cluster-signing-kubelet-client-cert-file`
    pub kubelet_client: Option<CertificateKey>,
    /// Of `kubernetes.io/kube-apiserver-client`. `--cluster-signing-kube-apiserver-client-cert-file`
    pub kube_apiserver_client: Option<CertificateKey>,
    /// Of `kubernetes.io/legacy-unknown`. `--cluster-signing-legacy-unknown-cert-file`
    pub legacy_unknown: Option<CertificateKey>,
}

impl CertificateKeys {
    /// One authority for all. In Kubernetes: `--cluster-signing-cert-file`.
    pub fn all(key: CertificateKey) -> Self {
        Self {
            kubelet_serving: Some(key.clone()),
            kubelet_client: Some(key.clone()),
            kube_apiserver_client: Some(key.clone()),
            legacy_unknown: Some(key),
        }
    }
}
