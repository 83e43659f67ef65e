use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use coracle_cluster::EtcdServers;

use crate::commands::store::tls_flags::pem;

/// kube-apiserver's flags for its etcd.
#[derive(Debug, Args)]
pub(crate) struct EtcdServersFlags {
    /// The storage of the state: the URLs of an etcd or of `coracle store`
    #[arg(long = "etcd-servers", value_name = "URLS", value_delimiter = ',')]
    pub(crate) etcd_servers: Vec<String>,
    /// The certificate authority of the etcd (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_servers")]
    etcd_cafile: Option<PathBuf>,
    /// The client certificate of the API server for the etcd (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile")]
    etcd_certfile: Option<PathBuf>,
    /// The key of the client certificate for the etcd (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    etcd_keyfile: Option<PathBuf>,
}

impl EtcdServersFlags {
    pub(crate) fn read(&self) -> Result<EtcdServers> {
        let read = |flag, path: &Option<PathBuf>| path.as_deref().map(|path| pem(flag, path)).transpose();
        Ok(EtcdServers {
            urls: self.etcd_servers.clone(),
            authority: read("--etcd-cafile", &self.etcd_cafile)?,
            certificate: read("--etcd-certfile", &self.etcd_certfile)?,
            key: read("--etcd-keyfile", &self.etcd_keyfile)?,
        })
    }
}
