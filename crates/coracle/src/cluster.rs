use coracle_ambient::Ambient;
use coracle_cluster::{Delays, Error, Transport, User};
use coracle_journal::Recorder;
use coracle_sim::{ClockMode, Latency};

/// A control plane in this process, for as long as this value lives.
///
/// On a runtime with a paused clock (`#[tokio::test(start_paused = true)]`) it runs in virtual time: the clock jumps to the
/// next timer whenever all is idle, and the same seed gives the same course of events. On any other it runs in real time.
#[derive(Debug)]
pub struct Cluster {
    inner: coracle_cluster::Cluster,
}

/// What a [`Cluster`] is made of. Everything has a default.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    inner: coracle_cluster::Builder,
}

impl Builder {
    /// So many simulated nodes, called `node-1` and so on.
    #[must_use]
    pub fn nodes(self, count: usize) -> Self {
        Self { inner: self.inner.nodes(count) }
    }

    /// The seed of all randomness.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { inner: self.inner.seed(seed) }
    }

    /// How long pods take to start, become ready and stop.
    #[must_use]
    pub fn pod_delays(self, delays: Delays) -> Self {
        Self { inner: self.inner.pod_delays(delays) }
    }

    /// How long requests and watch events of the cluster's own components take.
    #[must_use]
    pub fn latency(self, latency: Latency) -> Self {
        Self { inner: self.inner.transport_layer(std::sync::Arc::new(move |_, transport| latency.over(transport))) }
    }

    /// Where what happens is recorded.
    #[must_use]
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { inner: self.inner.recorder(recorder) }
    }

    /// Only the API server: no controllers, no scheduler, no nodes.
    #[must_use]
    pub fn api_server_only(self) -> Self {
        Self { inner: self.inner.api_server_only() }
    }

    /// Starts the cluster; when this returns, the API answers.
    ///
    /// # Errors
    /// If an option is not valid.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn start(self) -> Result<Cluster, Error> {
        Ok(Cluster { inner: self.inner.start().await? })
    }
}

impl Cluster {
    /// What a cluster is made of, to be changed and started.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The API server as a tower service, asking as an administrator: for any release of kube, or any other client.
    pub fn service(&self) -> Transport {
        self.inner.service()
    }

    /// The API server as a tower service, asking as `user`.
    pub fn service_as(&self, user: User) -> Transport {
        self.inner.service_as(user)
    }

    /// A `kube::Client` on this cluster, asking as an administrator; its default namespace is `default`.
    ///
    /// # Panics
    /// Outside a tokio runtime. The client dies with the runtime that it was made on.
    #[cfg(feature = "kube")]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client of our own on this cluster, asking as an administrator.
    pub fn api_client(&self) -> coracle_client::Client {
        self.inner.client_as(User::new("kubernetes-admin", ["system:masters"]))
    }

    /// The clock and the randomness of the cluster.
    pub fn ambient(&self) -> &Ambient {
        self.inner.ambient()
    }

    /// The cluster beneath: single components, nodes, the store.
    pub fn parts(&self) -> &coracle_cluster::Cluster {
        &self.inner
    }

    /// Stops everything in order.
    pub async fn shutdown(self) {
        self.inner.shutdown().await;
    }
}

/// Runs a test against a cluster with two nodes in virtual time, on a runtime of its own: from any test, async or not.
///
/// The same seed gives the same course of events.
///
/// # Errors
/// If the cluster does not start, or the system does not give what a runtime needs.
pub fn run_virtual<F, R>(seed: u64, test: F) -> Result<R, Error>
where
    F: AsyncFnOnce(&Cluster) -> R,
{
    let outcome = coracle_sim::run_in(ClockMode::Virtual, async move {
        let cluster = Cluster::builder().nodes(2).seed(seed).start().await?;
        let result = test(&cluster).await;
        cluster.shutdown().await;
        Ok(result)
    });
    outcome.map_err(|error| Error::Options(format!("no runtime: {error}")))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_hour_of_a_cluster_passes_in_a_moment() {
        let (before, after) = run_virtual(1, async |cluster| {
            let before = cluster.ambient().clock.now();
            tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
            (before, cluster.ambient().clock.now())
        })
        .unwrap();
        assert_eq!(after.as_second() - before.as_second(), 3600);
    }

    #[test]
    fn the_same_seed_gives_the_same_names() {
        let uid = |seed| {
            run_virtual(seed, async |cluster| {
                let namespaces: coracle_client::Api<coracle_api::core_v1::Namespace> =
                    coracle_client::Api::of(&cluster.api_client());
                let key = coracle_meta::ObjectKey::cluster("default");
                namespaces.get(&key).await.unwrap().metadata.uid
            })
            .unwrap()
        };
        assert_eq!(uid(1), uid(1));
        assert_ne!(uid(1), uid(2));
    }
}
