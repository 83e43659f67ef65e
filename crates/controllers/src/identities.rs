use coracle_client::Client;

/// The identity of each controller: a service account with only the rights that it needs.
///
/// In Kubernetes: `--use-service-account-credentials`.
pub trait Identities: Send + Sync {
    /// The API client of a service account in `kube-system`.
    fn client(&self, account: &str) -> Client;
}

/// All controllers use the identity of the program.
impl Identities for Client {
    fn client(&self, _: &str) -> Client {
        self.clone()
    }
}
