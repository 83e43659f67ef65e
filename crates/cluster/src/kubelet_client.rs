use crate::{CertificateFile, ProxyClient};

/// How the API server calls nodes that other processes simulate, or that are none of Coracle's.
///
/// In Kubernetes: the `--kubelet-*` flags of kube-apiserver.
#[derive(Clone, Debug)]
pub struct KubeletClient {
    /// `--kubelet-client-certificate` and `--kubelet-client-key`: what nodes are shown.
    pub identity: Option<ProxyClient>,
    /// `--kubelet-certificate-authority`: who vouches for nodes, PEM; without one no certificate is looked at.
    pub authority: Option<CertificateFile>,
    /// `--kubelet-preferred-address-types`: by which of its addresses a node is called, the best first.
    pub preferred_address_types: Vec<String>,
    /// `--kubelet-port`: the port of a node that says none.
    pub port: u16,
}

impl Default for KubeletClient {
    fn default() -> Self {
        let types = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
        let preferred_address_types = types.map(str::to_owned).into();
        Self { identity: None, authority: None, preferred_address_types, port: 10250 }
    }
}
