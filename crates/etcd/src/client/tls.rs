use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// Whom to trust, and who we are: PEM texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The authority that signed the servers' certificates. In Kubernetes: `--etcd-cafile`.
    pub ca: Option<String>,
    /// Our certificate. In Kubernetes: `--etcd-certfile`.
    pub certificate: Option<String>,
    /// Its key. In Kubernetes: `--etcd-keyfile`.
    pub key: Option<String>,
}

impl Tls {
    pub(super) fn into_config(self) -> ClientTlsConfig {
        let mut config = ClientTlsConfig::new();
        if let Some(ca) = self.ca {
            config = config.ca_certificate(Certificate::from_pem(ca));
        }
        if let (Some(certificate), Some(key)) = (self.certificate, self.key) {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        config
    }
}
