use coracle_dynamic_certificates::CertificateFile;

/// The client certificate of the API server for extension API servers, which makes them trust the user in its headers:
/// a certificate and its private key (PEM). In Kubernetes: `--proxy-client-cert-file` and `--proxy-client-key-file`.
#[derive(Clone, Debug)]
pub struct ProxyClient {
    /// The certificate.
    pub certificate: CertificateFile,
    /// The private key. Never logged.
    pub key: CertificateFile,
}
