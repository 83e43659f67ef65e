use std::fmt;

/// As whom somebody is called, and under which name: what a kubeconfig file says beside the address and the authority.
///
/// In Kubernetes: what `rest.Config` has of it.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// The certificate that is shown and its key, both PEM.
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
    /// The content of the header `Authorization`: `Bearer TOKEN`, say.
    pub authorization: Option<String>,
    /// The name that the callee's certificate has to carry, if it is not the one in the URL.
    pub server_name: Option<String>,
}

/// Keys and tokens are not shown.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}
