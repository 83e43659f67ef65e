use std::fmt;

/// The credentials of a call and the expected server name: what a kubeconfig file sets in addition to the address and
/// the authority.
///
/// In Kubernetes: these parts of `rest.Config`.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// The client certificate and its key (PEM).
    pub certificate: Option<(Vec<u8>, Vec<u8>)>,
    /// The value of the header `Authorization`, such as `Bearer TOKEN`.
    pub authorization: Option<String>,
    /// The name for which the callee's certificate must be valid, if it is not the one in the URL.
    pub server_name: Option<String>,
}

/// Keys and tokens are not shown.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}
