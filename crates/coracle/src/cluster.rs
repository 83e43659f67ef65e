use coracle_ambient::Ambient;
use coracle_cluster::scheduler::ConfigurationError as SchedulerConfigurationError;
use coracle_cluster::{Audit, Delays, Error, NodeSpec, ServiceRoutes, Transport, User};
use coracle_journal::Recorder;
use coracle_sim::{ClockMode, Latency};

/// A control plane in this process. It runs until this value is dropped.
///
/// On a runtime with a paused clock (`#[tokio::test(start_paused = true)]`) it runs in virtual time: the clock
/// advances to the next timer whenever all tasks are idle, and the same seed gives the same sequence of events. On
/// any other runtime it runs in real time.
///
/// ```
/// use coracle::Cluster;
/// use coracle::api::core_v1::Node;
/// use coracle::runtime::{Api, ListParams};
///
/// #[tokio::main(flavor = "current_thread", start_paused = true)]
/// async fn main() {
///     let cluster = Cluster::builder().nodes(2).start().await.unwrap();
///     tokio::time::sleep(std::time::Duration::from_secs(1)).await;
///     let nodes = Api::<Node>::of(&cluster.api_client()).list(&ListParams::default()).await.unwrap();
///     assert_eq!(nodes.items.len(), 2);
///     cluster.shutdown().await;
/// }
/// ```
#[derive(Debug)]
pub struct Cluster {
    inner: coracle_cluster::Cluster,
}

/// The options of a [`Cluster`]. Everything has a default.
///
/// ```
/// use std::time::Duration;
/// use coracle::journal::{EntryId, Recorder, Stage};
/// use coracle::simulation::Latency;
/// use coracle::{Cluster, Delays};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let recorder = Recorder::ring(10_000);
/// let cluster = Cluster::builder()
///     .nodes(3)
///     .seed(7)
///     .pod_delays(Delays { ready: Duration::from_secs(30), ..Delays::zero() })
///     .latency(Latency { request: Duration::from_millis(2), watch: Duration::from_millis(1) })
///     .recorder(recorder.clone())
///     .start()
///     .await
///     .unwrap();
/// tokio::time::sleep(Duration::from_secs(1)).await;
/// assert!(recorder.entries(EntryId(0)).iter().any(|entry| entry.stage == Stage::StoreCommit));
/// # cluster.shutdown().await;
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    inner: coracle_cluster::Builder,
}

impl Builder {
    /// This number of simulated nodes, named `node-1` and so on.
    #[must_use]
    pub fn nodes(self, count: usize) -> Self {
        Self { inner: self.inner.nodes(count) }
    }

    /// These simulated nodes: with labels, capacities, static pods.
    #[must_use]
    pub fn node_specs(self, nodes: Vec<NodeSpec>) -> Self {
        Self { inner: self.inner.node_specs(nodes) }
    }

    /// The seed of all randomness: names, uids, and jitter. By default it is 0 in virtual time, and comes from the
    /// operating system otherwise.
    ///
    /// ```
    /// # use coracle::api::core_v1::Namespace;
    /// # use coracle::meta::ObjectKey;
    /// # use coracle::runtime::Api;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let mut uids = Vec::new();
    /// for seed in [7, 7, 8] {
    ///     let cluster = coracle::Cluster::builder().seed(seed).start().await.unwrap();
    ///     let namespaces = Api::<Namespace>::of(&cluster.api_client());
    ///     uids.push(namespaces.get(&ObjectKey::cluster("default")).await.unwrap().metadata.uid);
    /// }
    /// assert_eq!(uids[0], uids[1]);
    /// assert_ne!(uids[1], uids[2]);
    /// # }
    /// ```
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { inner: self.inner.seed(seed) }
    }

    /// How long pods take to start, become ready and stop.
    #[must_use]
    pub fn pod_delays(self, delays: Delays) -> Self {
        Self { inner: self.inner.pod_delays(delays) }
    }

    /// The delay of requests and watch events of the cluster's own components.
    #[must_use]
    pub fn latency(self, latency: Latency) -> Self {
        Self { inner: self.inner.transport_layer(std::sync::Arc::new(move |_, transport| latency.over(transport))) }
    }

    /// The event log.
    #[must_use]
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { inner: self.inner.recorder(recorder) }
    }

    /// The targets of the API server's calls to Services and URLs, for example to webhooks. In virtual time no other
    /// targets are called.
    #[must_use]
    pub fn service_routes(self, routes: ServiceRoutes) -> Self {
        Self { inner: self.inner.service_routes(routes) }
    }

    /// The audit policy and the audit log.
    #[must_use]
    pub fn audit(self, audit: Audit) -> Self {
        Self { inner: self.inner.audit(audit) }
    }

    /// The scheduler's configuration, as the text of a `KubeSchedulerConfiguration` of
    /// kubescheduler.config.k8s.io/v1. The scheduler uses leader election only if the text enables it.
    ///
    /// ```
    /// let text = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profile: []}";
    /// let error = coracle::Cluster::builder().scheduler_configuration(text).unwrap_err();
    /// assert_eq!(error.to_string(), "configuration:1: profile: unknown field");
    /// ```
    ///
    /// # Errors
    /// All errors in it, with lines and paths.
    pub fn scheduler_configuration(mut self, text: &str) -> Result<Self, SchedulerConfigurationError> {
        let read = coracle_cluster::scheduler::Configuration::read("configuration", text)?;
        self.inner = self.inner.scheduler(read.config);
        Ok(self)
    }

    /// Only the API server, as with envtest: no controllers, no scheduler, no nodes.
    ///
    /// ```
    /// # use coracle::api::apps_v1::ReplicaSet;
    /// # use coracle::api::core_v1::Pod;
    /// # use coracle::runtime::{Api, ListParams};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cluster = coracle::Cluster::builder().api_server_only().start().await.unwrap();
    /// let set: ReplicaSet = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "default", "name": "web"},
    ///     "spec": {
    ///         "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
    ///         "template": {
    ///             "metadata": {"labels": {"app": "web"}},
    ///             "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    ///         },
    ///     },
    /// }))
    /// .unwrap();
    /// Api::of(&cluster.api_client()).create(&set).await.unwrap();
    /// tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    /// let pods = Api::<Pod>::of(&cluster.api_client());
    /// assert!(pods.list(&ListParams::default()).await.unwrap().items.is_empty(), "no controller acts on it");
    /// # }
    /// ```
    #[must_use]
    pub fn api_server_only(self) -> Self {
        Self { inner: self.inner.api_server_only() }
    }

    /// Starts the cluster; when this returns, the API is available.
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
    /// The options of a cluster, to change and start.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The API server as a tower service, with the identity of an administrator: for any release of kube, or any
    /// other client.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::runtime::Client;
    ///
    /// let client = Client::new(cluster.service(), cluster.ambient());
    /// let version: serde_json::Value = client.get_path("/version").await.unwrap();
    /// assert_eq!(version["minor"], "35");
    /// # }).unwrap();
    /// ```
    pub fn service(&self) -> Transport {
        self.inner.service()
    }

    /// The API server as a tower service, with the identity of `user`; RBAC decides what is allowed.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::User;
    /// use coracle::api::core_v1::Secret;
    /// use coracle::runtime::{Api, Client, ListParams};
    ///
    /// let jane = cluster.service_as(User::new("jane", ["developers"]));
    /// let secrets = Api::<Secret>::of(&Client::new(jane, cluster.ambient()));
    /// assert!(secrets.list(&ListParams::default()).await.unwrap_err().is_forbidden());
    /// # }).unwrap();
    /// ```
    pub fn service_as(&self, user: User) -> Transport {
        self.inner.service_as(user)
    }

    /// A `kube::Client` of this cluster, with the identity of an administrator; its default namespace is `default`.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// let client: kube::Client = cluster.client();
    /// assert_eq!(client.apiserver_version().await.unwrap().minor, "35");
    /// # }).unwrap();
    /// ```
    ///
    /// # Panics
    /// Outside a tokio runtime. The client stops working when the runtime that created it ends.
    #[cfg(feature = "kube")]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }

    /// A client of this project for this cluster, with the identity of an administrator.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::api::core_v1::ServiceAccount;
    /// use coracle::runtime::{Api, ListParams};
    ///
    /// let accounts = Api::<ServiceAccount>::of(&cluster.api_client());
    /// let names = accounts.list(&ListParams::fields("metadata.name=default")).await.unwrap();
    /// assert!(names.items.iter().all(|account| account.metadata.name.as_deref() == Some("default")));
    /// # }).unwrap();
    /// ```
    pub fn api_client(&self) -> coracle_client::Client {
        self.inner.client_as(User::new("kubernetes-admin", ["system:masters"]))
    }

    /// The clock and the randomness of the cluster. In virtual time both derive from the seed.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// let before = cluster.ambient().clock.now();
    /// tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    /// assert_eq!(cluster.ambient().clock.now().as_second(), before.as_second() + 60);
    /// # }).unwrap();
    /// ```
    pub fn ambient(&self) -> &Ambient {
        self.inner.ambient()
    }

    /// The underlying cluster: single components, nodes, the store.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::Component;
    /// use coracle::api::core_v1::Namespace;
    /// use coracle::meta::{ObjectKey, Resource};
    /// use coracle::runtime::{Api, DeleteParams};
    /// use std::time::Duration;
    ///
    /// let namespaces = Api::<Namespace>::of(&cluster.api_client());
    /// let mut shop = Namespace::default();
    /// shop.metadata.name = Some("shop".to_owned());
    /// namespaces.create(&shop).await.unwrap();
    ///
    /// cluster.parts().kill_component(Component::ControllerManager); // as `kill -9`
    /// namespaces.delete(&shop.key(), &DeleteParams::default()).await.unwrap();
    /// tokio::time::sleep(Duration::from_secs(600)).await;
    /// assert!(namespaces.get(&shop.key()).await.is_ok(), "no controller empties it");
    ///
    /// cluster.parts().start_component(Component::ControllerManager);
    /// tokio::time::sleep(Duration::from_secs(60)).await;
    /// assert!(namespaces.get(&shop.key()).await.unwrap_err().is_not_found());
    /// # }).unwrap();
    /// ```
    pub fn parts(&self) -> &coracle_cluster::Cluster {
        &self.inner
    }

    /// Stops everything in order.
    ///
    /// # Panics
    /// If a task of the cluster panicked, with its name and message.
    pub async fn shutdown(self) {
        self.inner.shutdown().await;
    }
}

/// Runs a test against a cluster with two nodes in virtual time, on a runtime of its own: from any test, async or
/// not.
///
/// The same seed gives the same sequence of events.
///
/// ```
/// use std::time::Duration;
///
/// let woke = coracle::run_virtual(1, async |cluster| {
///     tokio::time::sleep(Duration::from_secs(3600)).await; // takes no hour
///     cluster.ambient().clock.now().to_string()
/// });
/// assert!(woke.unwrap().starts_with("2026-01-01T01:00:00"));
/// ```
///
/// # Errors
/// If the cluster does not start, if one of its tasks panics, or if the runtime cannot be created.
pub fn run_virtual<F, R>(seed: u64, test: F) -> Result<R, Error>
where
    F: AsyncFnOnce(&Cluster) -> R,
{
    let outcome = coracle_sim::run_in(ClockMode::Virtual, async move {
        let cluster = Cluster::builder().nodes(2).seed(seed).start().await?;
        let result = cluster.inner.unless_ended(test(&cluster)).await?;
        cluster.shutdown().await;
        Ok(result)
    });
    outcome.map_err(|error| Error::NotStarted(format!("no runtime: {error}")))?
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
