use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

use super::Identity;
use super::client_authorities::ClientAuthorities;
use super::tls::{ClientCertificates, OldestTls, server_config};
use crate::file_watcher::FileWatcher;
use crate::{CertificateFile, Error};

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
pub(super) enum ClientAuth {
    /// The handshake fails.
    CutOff,
    /// The client counts as one without a certificate. In Kubernetes: `tls.RequestClientCert`.
    Unknown,
}

/// The TLS configuration of accepted connections.
pub(super) struct TlsConfig {
    pub(super) tls: Arc<ServerConfig>,
    pub(super) authorities: ClientAuthorities,
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

    /// Reads the certificates.
    pub(super) fn open(self, oldest: OldestTls, client_auth: ClientAuth) -> Result<FileWatcher<TlsConfig>, Error> {
        let mut all = vec![self.certificate, self.key, self.client_authority];
        all.extend(self.front_proxy_authority);
        FileWatcher::open(all, Duration::ZERO, move |texts| tls_config(texts, oldest, client_auth).map(Arc::new))
    }
}

fn tls_config(texts: &[String], oldest: OldestTls, client_auth: ClientAuth) -> Result<TlsConfig, Error> {
    let identity = Identity { certificate: texts[0].clone(), key: texts[1].clone() };
    let (users, front_proxies) = (&texts[2], texts.get(3).map(String::as_str));
    let all = format!("{users}\n{}", front_proxies.unwrap_or_default());
    let clients = match client_auth {
        ClientAuth::CutOff => ClientCertificates::Accepted(&all),
        ClientAuth::Unknown => ClientCertificates::AnyTaken(&all),
    };
    let tls = Arc::new(server_config(&identity, clients, oldest)?);
    Ok(TlsConfig { tls, authorities: ClientAuthorities::read(users, front_proxies)? })
}
