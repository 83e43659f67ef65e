use std::sync::Arc;

use coracle_controller_runtime::LeaderTimings;
use coracle_meta::ObjectKey;
use coracle_release::Release;

use crate::metrics::SchedulerMetrics;
use crate::profile::Profile;
use crate::queue::Backoff;

/// The configuration of the scheduler. In Kubernetes: `KubeSchedulerConfiguration`.
#[derive(Clone, Debug)]
pub struct Config {
    /// The release for which it was made.
    pub release: Release,
    /// The profiles, by `spec.schedulerName`; this scheduler ignores other pods.
    pub profiles: Vec<Arc<Profile>>,
    /// The back-off of pods after failures.
    pub backoff: Backoff,
    /// The host name in its events.
    pub host: String,
    /// Whether leader election is used, and its timings; off by default, as in the controller-manager.
    pub leader_election: Option<LeaderTimings>,
    /// The Lease for leader election.
    pub lease: ObjectKey,
    /// Metrics of the scheduler.
    pub metrics: SchedulerMetrics,
}

impl Default for Config {
    fn default() -> Self {
        Self::of(&Release::default())
    }
}

impl Config {
    /// The default configuration of a release.
    pub fn of(release: &Release) -> Self {
        Self {
            release: release.clone(),
            profiles: vec![Arc::new(Profile::of("default-scheduler", release))],
            backoff: Backoff::default(),
            host: "coracle".to_owned(),
            leader_election: None,
            lease: ObjectKey::new("kube-system", "kube-scheduler"),
            metrics: SchedulerMetrics::default(),
        }
    }
}
