use coracle_client::Client;

/// As whom each controller speaks: as a service account of its own, with the rights of that alone.
///
/// In Kubernetes: `--use-service-account-credentials`.
pub trait Identities: Send + Sync {
    /// The way to the API of a service account in `kube-system`.
    fn client(&self, account: &str) -> Client;
}

/// All controllers speak as the program does.
impl Identities for Client {
    fn client(&self, _: &str) -> Client {
        self.clone()
    }
}
