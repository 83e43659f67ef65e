use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_cluster::EtcdServers;
use coracle_secure_serving::StoreTls;
use coracle_tls::Identity;

use crate::exit;
use crate::output::note;

/// etcd's flags for TLS towards clients.
#[derive(Debug, Args)]
pub(crate) struct TlsFlags {
    /// The serving certificate of the store (PEM), for https
    #[arg(long, value_name = "FILE", requires = "key_file")]
    cert_file: Option<PathBuf>,
    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    key_file: Option<PathBuf>,
    /// The certificate authority of clients (PEM); with it, every client needs a certificate
    #[arg(long, value_name = "FILE", requires = "cert_file")]
    trusted_ca_file: Option<PathBuf>,
    /// Whether clients need a certificate
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false)]
    client_cert_auth: bool,
}

impl TlsFlags {
    /// Reads the files in the flags. In etcd: `TLSInfo.ServerConfig`, where an authority alone makes the server
    /// request a certificate from every client.
    pub(crate) fn read(&self, listening: &[String]) -> Result<Option<StoreTls>> {
        let https = listening.iter().any(|url| url.starts_with("https:"));
        if self.client_cert_auth && self.trusted_ca_file.is_none() {
            return Err(exit::Usage("--client-cert-auth needs --trusted-ca-file".to_owned()).into());
        }
        let (Some(certificate), Some(key)) = (&self.cert_file, &self.key_file) else {
            if https {
                let needs = "--listen-client-urls: https needs --cert-file and --key-file".to_owned();
                return Err(exit::Usage(needs).into());
            }
            return Ok(None);
        };
        if !https {
            note!("coracle: --cert-file: no URL of --listen-client-urls is of https; ignored");
        }
        let identity = Identity { certificate: pem("--cert-file", certificate)?, key: pem("--key-file", key)? };
        let client_authority =
            self.trusted_ca_file.as_deref().map(|path| pem("--trusted-ca-file", path)).transpose()?;
        Ok(Some(StoreTls { identity, client_authority }))
    }
}

/// etcdctl's flags for TLS towards a store.
#[derive(Debug, Args)]
pub(crate) struct Endpoints {
    /// The URLs of a running store or etcd, http://127.0.0.1:2379 by default
    #[arg(long, value_name = "URLS", value_delimiter = ',')]
    endpoints: Vec<String>,
    /// The certificate authority of the store (PEM)
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// The client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

/// The default endpoint of a store.
const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:2379";

impl Endpoints {
    /// Whether an endpoint is set.
    pub(crate) fn are_named(&self) -> bool {
        !self.endpoints.is_empty()
    }

    pub(crate) fn servers(&self) -> Result<EtcdServers> {
        let read = |flag, path: &Option<PathBuf>| path.as_deref().map(|path| pem(flag, path)).transpose();
        Ok(EtcdServers {
            urls: if self.are_named() { self.endpoints.clone() } else { vec![DEFAULT_ENDPOINT.to_owned()] },
            authority: read("--cacert", &self.cacert)?,
            certificate: read("--cert", &self.cert)?,
            key: read("--key", &self.key)?,
        })
    }
}

/// The content of the PEM file in a flag.
pub(crate) fn pem(flag: &str, path: &Path) -> Result<String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| exit::Usage(format!("{flag} {}: {error}", path.display())))?;
    if text.contains("-----BEGIN ") {
        Ok(text)
    } else {
        Err(exit::Usage(format!("{flag} {}: contains no PEM block", path.display())).into())
    }
}
