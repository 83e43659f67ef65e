//! Keys that controllers sign with. The program that runs the controllers supplies them.

use std::fmt;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use serde_json::Value;

/// Returns a token with these claims, or why it cannot be signed.
type SignToken = dyn Fn(&Value) -> Result<String, String> + Send + Sync;

/// The key that signs service account tokens. In Kubernetes: `--service-account-private-key-file`.
#[derive(Clone)]
pub struct TokenKey(Arc<SignToken>);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey")
    }
}

impl TokenKey {
    /// Makes a key from a function that returns a token with the given claims, or why it cannot be signed.
    pub fn new(sign: impl Fn(&Value) -> Result<String, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(sign))
    }

    pub(crate) fn sign(&self, claims: &Value) -> Result<String, String> {
        (self.0)(claims)
    }
}

/// Two keys are equal if they are the same object.
impl PartialEq for TokenKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A certificate to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateOrder {
    /// The request, DER: the public key and the names.
    pub request: Vec<u8>,
    /// The allowed usages, in the words of the API: `client auth`. Usages in the request are ignored.
    pub usages: Vec<String>,
    /// The start of its validity.
    pub not_before: Timestamp,
    /// The end of its validity, limited by the authority's own.
    pub not_after: Timestamp,
    /// The time of the signature.
    pub now: Timestamp,
    /// A serial number, unique within the authority.
    pub serial: Vec<u8>,
    /// The only name of the certificate; `None` for the names of the request.
    pub uri: Option<String>,
}

/// Signs certificates.
pub trait SignsCertificates: fmt::Debug + Send + Sync {
    /// Returns the certificate of the authority, PEM, or why it has no certificate.
    fn certificate(&self) -> Result<String, String>;

    /// Returns the certificate, PEM, or why it cannot be signed.
    fn sign(&self, order: &CertificateOrder) -> Result<String, String>;
}

/// The key of a certificate authority. In Kubernetes: `--cluster-signing-cert-file` and `--cluster-signing-key-file`.
#[derive(Clone, Debug)]
pub struct CertificateKey(Arc<dyn SignsCertificates>);

impl CertificateKey {
    /// Makes a key from a signer.
    pub fn new(signer: Arc<dyn SignsCertificates>) -> Self {
        Self(signer)
    }

    pub(crate) fn certificate(&self) -> Result<String, String> {
        self.0.certificate()
    }

    pub(crate) fn sign(&self, order: &CertificateOrder) -> Result<String, String> {
        self.0.sign(order)
    }
}

/// Two keys are equal if they are the same object.
impl PartialEq for CertificateKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The authority of each built-in signer; a signer without one signs nothing.
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
    /// One authority for all signers. In Kubernetes: `--cluster-signing-cert-file`.
    pub fn all(key: CertificateKey) -> Self {
        Self {
            kubelet_serving: Some(key.clone()),
            kubelet_client: Some(key.clone()),
            kube_apiserver_client: Some(key.clone()),
            legacy_unknown: Some(key),
        }
    }
}
