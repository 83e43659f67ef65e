use crate::CertificateFile;

/// What the API server shows to API servers beside it, so that they believe whom it says to be asking: a certificate and
/// its private key, both PEM. In Kubernetes: `--proxy-client-cert-file` and `--proxy-client-key-file`.
#[derive(Clone, Debug)]
pub struct ProxyClient {
    /// The certificate.
    pub certificate: CertificateFile,
    /// The private key. Never logged.
    pub key: CertificateFile,
}
