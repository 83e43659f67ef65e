use crate::{CertificateFile, ProxyClient};

/// The API server's client for nodes that other processes simulate, or that are not simulated.
///
/// In Kubernetes: the `--kubelet-*` flags of kube-apiserver.
#[derive(Clone, Debug)]
pub struct KubeletClient {
    /// `--kubelet-client-certificate` and `--kubelet-client-key`: the client certificate for nodes.
    pub identity: Option<ProxyClient>,
    /// `--kubelet-certificate-authority`: the certificate authority of nodes (PEM); without it, certificates of nodes
    /// are not verified.
    pub authority: Option<CertificateFile>,
    /// `--kubelet-preferred-address-types`: the types of node addresses, the preferred one first.
    pub preferred_address_types: Vec<String>,
    /// `--kubelet-port`: the port of nodes that do not publish a port.
    pub port: u16,
}

impl Default for KubeletClient {
    fn default() -> Self {
        let types = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
        let preferred_address_types = types.map(str::to_owned).into();
        Self { identity: None, authority: None, preferred_address_types, port: 10250 }
    }
}
