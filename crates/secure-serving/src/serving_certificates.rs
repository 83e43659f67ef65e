use std::sync::Arc;
use std::time::Duration;

use coracle_dynamic_certificates::{CertificateFile, CertificateFileError, FileWatcher};
use coracle_tls::{ClientCertificates, Identity, OldestTls, server_config};
use rustls::ServerConfig;

use crate::client_authorities::ClientAuthorities;

/// The serving certificate of a listener and the certificate authorities of its clients. Files are checked for each
/// connection, and reloaded after a change.
///
/// In Kubernetes: `--tls-cert-file`, `--tls-private-key-file`, `--client-ca-file`, `--requestheader-client-ca-file`.
#[derive(Clone, Debug)]
pub struct ServingCertificates {
    /// The serving certificate with intermediate certificates.
    pub certificate: CertificateFile,
    /// Its key.
    pub key: CertificateFile,
    /// The authority of users' certificates.
    pub client_authority: CertificateFile,
    /// The authority of front proxies, if there are any.
    pub front_proxy_authority: Option<CertificateFile>,
}

/// How a client with a certificate of an unknown authority is handled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientAuth {
    /// There is no connection.
    CutOff,
    /// The client counts as one without a certificate. In Kubernetes: `tls.RequestClientCert`.
    Unknown,
}

/// What a connection is accepted by.
pub(crate) struct TlsConfig {
    pub(crate) tls: Arc<ServerConfig>,
    pub(crate) authorities: ClientAuthorities,
}

impl ServingCertificates {
    /// A server with this identity and certificate authority of users.
    pub fn of(identity: Identity, client_authority: impl Into<CertificateFile>) -> Self {
        Self {
            certificate: identity.certificate.into(),
            key: identity.key.into(),
            client_authority: client_authority.into(),
            front_proxy_authority: None,
        }
    }

    /// Reads them.
    pub(crate) fn open(
        self,
        oldest: OldestTls,
        client_auth: ClientAuth,
    ) -> Result<FileWatcher<TlsConfig>, CertificateFileError> {
        let mut all = vec![self.certificate, self.key, self.client_authority];
        all.extend(self.front_proxy_authority);
        FileWatcher::open(all, Duration::ZERO, move |texts| tls_config(texts, oldest, client_auth).map(Arc::new))
    }
}

fn tls_config(texts: &[String], oldest: OldestTls, client_auth: ClientAuth) -> Result<TlsConfig, String> {
    let identity = Identity { certificate: texts[0].clone(), key: texts[1].clone() };
    let (users, front_proxies) = (&texts[2], texts.get(3).map(String::as_str));
    let all = format!("{users}\n{}", front_proxies.unwrap_or_default());
    let clients = match client_auth {
        ClientAuth::CutOff => ClientCertificates::Accepted(&all),
        ClientAuth::Unknown => ClientCertificates::AnyAccepted(&all),
    };
    let tls = Arc::new(server_config(&identity, clients, oldest)?);
    Ok(TlsConfig { tls, authorities: ClientAuthorities::read(users, front_proxies)? })
}
