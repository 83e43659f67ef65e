use std::sync::Arc;

use coracle_controller_runtime::LeaderTimings;
use coracle_meta::ObjectKey;

use crate::metrics::Metrics;
use crate::profile::Profile;
use crate::queue::Backoff;

/// What the scheduler can be told. In Kubernetes: `KubeSchedulerConfiguration`.
#[derive(Clone, Debug)]
pub struct Config {
    /// How pods are scheduled, by their `spec.schedulerName`; others are not this scheduler's.
    pub profiles: Vec<Arc<Profile>>,
    /// How long pods wait after failures.
    pub backoff: Backoff,
    /// Where it runs, as its events tell.
    pub host: String,
    /// Whether to stand for election before acting, and how long a lease lasts; none by default, as in the
    /// controller-manager.
    pub leader_election: Option<LeaderTimings>,
    /// The Lease that is stood for.
    pub lease: ObjectKey,
    /// What it does is counted here.
    pub metrics: Metrics,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profiles: vec![Arc::default()],
            backoff: Backoff::default(),
            host: "coracle".to_owned(),
            leader_election: None,
            lease: ObjectKey::new("kube-system", "kube-scheduler"),
            metrics: Metrics::default(),
        }
    }
}
