use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use coracle_cluster::{ApiServerOptions, KubeletClient, ProxyClient};
use coracle_pki::Authority;

use crate::commands::certificate_file::certificate_file;

/// The name and groups in the client certificate of the API server for nodes.
const CLIENT: (&str, &[&str]) = ("kube-apiserver-kubelet-client", &["system:masters"]);

/// The default preference of node address types: simulated nodes have one reachable address, which is outside of the
/// pod network. In Kubernetes it is tried last.
const TYPES: [&str; 5] = ["ExternalIP", "ExternalDNS", "InternalIP", "InternalDNS", "Hostname"];

/// kube-apiserver's flags for the nodes that it calls: for logs, commands, usage and `nodes/proxy`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KubeletClientFlags {
    /// The client certificate of the API server for nodes in other processes
    #[arg(long, value_name = "FILE", requires = "kubelet_client_key")]
    kubelet_client_certificate: Option<PathBuf>,
    /// The key of the client certificate for nodes
    #[arg(long, value_name = "FILE", requires = "kubelet_client_certificate")]
    kubelet_client_key: Option<PathBuf>,
    /// The certificate authority of nodes; without it, the API server does not verify the certificates of nodes
    #[arg(long, value_name = "FILE")]
    kubelet_certificate_authority: Option<PathBuf>,
    /// The types of node addresses that the API server connects to, the preferred one first
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    kubelet_preferred_address_types: Vec<String>,
    /// The port of nodes that do not publish a port [default: 10250]
    #[arg(long, value_name = "PORT")]
    kubelet_port: Option<u16>,
}

impl KubeletClientFlags {
    /// Whether any of them is set.
    pub(crate) fn is_said(&self) -> bool {
        let files = [&self.kubelet_client_certificate, &self.kubelet_client_key, &self.kubelet_certificate_authority];
        files.iter().any(|file| file.is_some())
            || !self.kubelet_preferred_address_types.is_empty()
            || self.kubelet_port.is_some()
    }

    /// Applies the flags to `options`, as kube-apiserver does.
    pub(crate) fn set(&self, options: &mut ApiServerOptions) -> Result<()> {
        let mut client = KubeletClient::default();
        if let (Some(certificate), Some(key)) = (&self.kubelet_client_certificate, &self.kubelet_client_key) {
            let certificate = certificate_file(certificate, "--kubelet-client-certificate")?;
            client.identity = Some(ProxyClient { certificate, key: certificate_file(key, "--kubelet-client-key")? });
        }
        if let Some(authority) = &self.kubelet_certificate_authority {
            client.authority = Some(certificate_file(authority, "--kubelet-certificate-authority")?);
        }
        if !self.kubelet_preferred_address_types.is_empty() {
            client.preferred_address_types.clone_from(&self.kubelet_preferred_address_types);
        }
        client.port = self.kubelet_port.unwrap_or(client.port);
        options.kubelet_client = Some(client);
        Ok(())
    }

    /// Applies the flags to `options`; the defaults are the cluster's own.
    pub(crate) fn set_or_make(&self, options: &mut ApiServerOptions, authority: &Authority) -> Result<()> {
        self.set(options)?;
        let Some(client) = &mut options.kubelet_client else { return Ok(()) };
        if client.identity.is_none() {
            let identity = authority.client(CLIENT.0, CLIENT.1)?;
            client.identity = Some(ProxyClient { certificate: identity.certificate.into(), key: identity.key.into() });
        }
        if self.kubelet_preferred_address_types.is_empty() {
            client.preferred_address_types = TYPES.map(str::to_owned).into();
        }
        Ok(())
    }
}
