use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_cluster::{Ended, Kubelet, Transport, kubelet};
use coracle_kubelet_server::KubeletServer;
use coracle_pki::Authority;
use coracle_secure_serving::{Listener, ServingCertificates, host_address};
use coracle_tls::OldestTls;
use futures_util::FutureExt;

use crate::commands::certificate_file::certificate_file;
use crate::commands::component::until_interrupted;
use crate::commands::node_flags::NodeFlags;
use crate::commands::release_flags::ReleaseFlags;
use crate::kubeconfig_file::read;
use crate::output::out;

/// The name in the generated serving certificate.
const NAME: &str = "coracle-kubelet";

/// Runs simulated nodes alone.
#[derive(Debug, Args)]
pub(crate) struct SimulatedNodes {
    /// The kubeconfig: the address of the API server and the credentials
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// The number of simulated nodes, with the names node-1, node-2 and so on
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    nodes: usize,
    #[command(flatten)]
    release: ReleaseFlags,
    #[command(flatten)]
    node: NodeFlags,
    #[command(flatten)]
    server: KubeletFlags,
}

/// The kubelet's flags for its API: logs, commands and usage of its pods.
#[derive(Clone, Debug, Args)]
struct KubeletFlags {
    /// The address to listen on for the API server; any address except loopback accepts connections from other machines
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    address: IpAddr,
    /// The port for the API server, which all nodes publish; 0 for a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The serving certificate; without it, a new one is generated
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of the serving certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// The certificate authority of clients; by default the CA of the kubeconfig
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
}

impl SimulatedNodes {
    pub(crate) fn run(self) -> Result<u8> {
        let nodes = self.node.specs(self.nodes)?;
        let release = self.release.noted()?;
        let kubeconfig = read(&self.kubeconfig)?;
        let serving_certificates = self.server.serving_certificates(&kubeconfig)?;
        let address = SocketAddr::new(self.server.address, self.server.port);
        until_interrupted(&kubeconfig, |client, ambient, recorder, stop| async move {
            let listener = Listener::bind_for_kubelet(address, serving_certificates, OldestTls::default()).await?;
            let endpoint = endpoint(listener.address()).context("--address: no other machine finds this one")?;
            let config = kubelet::Config { release, nodes, endpoint: Some(endpoint), ..kubelet::Config::default() };
            let kubelet = Kubelet::new(config, client.clone(), ambient, recorder);
            out!("nodes' API at https://{endpoint}")?;
            let stop = stop.shared();
            let server = Transport::to(KubeletServer::new(kubelet.clone(), &client));
            let serving = tokio::spawn(listener.serve(server, stop.clone()));
            kubelet.run(stop).await;
            let _ = serving.await;
            Ok(Ended::Asked)
        })
    }
}

impl KubeletFlags {
    /// The serving certificates and client authentication.
    fn serving_certificates(&self, kubeconfig: &Kubeconfig) -> Result<ServingCertificates> {
        let trusted = kubeconfig.certificate_authority.as_deref().map(String::from_utf8_lossy);
        let client_authority = match (&self.client_ca_file, trusted) {
            (Some(path), _) => certificate_file(path, "--client-ca-file")?,
            (None, Some(trusted)) => trusted.into_owned().into(),
            // The key of this authority is discarded, so no client certificate is accepted; tokens are.
            (None, None) => Authority::new()?.certificate().into(),
        };
        if let (Some(certificate), Some(key)) = (&self.tls_cert_file, &self.tls_private_key_file) {
            let certificate = certificate_file(certificate, "--tls-cert-file")?;
            let key = certificate_file(key, "--tls-private-key-file")?;
            return Ok(ServingCertificates { certificate, key, client_authority, front_proxy_authority: None });
        }
        let addresses: Vec<IpAddr> = [Some(self.address), host_address(self.address)].into_iter().flatten().collect();
        let identity = Authority::new()?.serving(NAME, &["localhost".to_owned()], &addresses)?;
        Ok(ServingCertificates::of(identity, client_authority))
    }
}

/// The address under which others reach this listener.
fn endpoint(listening: SocketAddr) -> Option<SocketAddr> {
    if listening.ip().is_unspecified() {
        Some((host_address(listening.ip())?, listening.port()).into())
    } else {
        Some(listening)
    }
}
