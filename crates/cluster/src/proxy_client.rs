/// What the API server shows to API servers beside it, so that they believe whom it says to be asking: a certificate and
/// its private key, both PEM. In Kubernetes: `--proxy-client-cert-file` and `--proxy-client-key-file`.
#[derive(Clone)]
pub struct ProxyClient {
    /// The certificate.
    pub certificate: String,
    /// The private key. Never logged.
    pub key: String,
}

impl std::fmt::Debug for ProxyClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProxyClient")
    }
}
