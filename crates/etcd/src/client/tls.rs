use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// The certificate authority and the client certificate: PEM texts.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// The authority of the servers' certificates. In Kubernetes: `--etcd-cafile`.
    pub ca: Option<String>,
    /// The client certificate. In Kubernetes: `--etcd-certfile`.
    pub certificate: Option<String>,
    /// The client's key. In Kubernetes: `--etcd-keyfile`.
    pub key: Option<String>,
}

impl std::fmt::Debug for Tls {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("ca", &self.ca.is_some()).field("certificate", &self.certificate.is_some()).finish()
    }
}

impl Tls {
    /// Why this cannot be used for an `https` URL, if so.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        match (&self.ca, &self.certificate, &self.key) {
            (None, ..) => Some("no authority is named that signed its certificate"),
            (_, Some(_), None) => Some("our certificate has no key"),
            (_, None, Some(_)) => Some("our key has no certificate"),
            _ => None,
        }
    }

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
