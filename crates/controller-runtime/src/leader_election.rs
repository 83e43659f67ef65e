use std::time::Duration;

use coracle_api::coordination_v1::Lease;
use coracle_client::{Api, Error};
use coracle_meta::{ObjectKey, format_micro_time};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{EventRecorder, EventType, Process};

/// The duration of a lease and of its renewals. In Kubernetes: `LeaderElectionConfiguration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderTimings {
    /// How long candidates wait before they acquire a lease that is not renewed.
    pub lease: Duration,
    /// How long a leader tries to renew before it gives up the leadership.
    pub renew_deadline: Duration,
    /// The time between two tries.
    pub retry: Duration,
}

impl Default for LeaderTimings {
    /// 15 s, 10 s, 2 s.
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry: Duration::from_secs(2) }
    }
}

/// Elects one of several processes as the leader: the holder of a Lease.
///
/// A lease expires by the time of its last observed change on the local clock, so clocks need not be synchronized. In
/// Kubernetes: `client-go/tools/leaderelection`.
///
/// [`lead`](crate::lead) acquires the lease, works and releases it; by hand it is:
///
/// ```
/// # coracle::run_virtual(1, async |cluster| {
/// use coracle::journal::Recorder;
/// use coracle::meta::ObjectKey;
/// use coracle::runtime::controller::{LeaderElection, LeaderTimings, Process};
/// use std::time::Duration;
///
/// let stand = |host: &str| {
///     let process = Process::new("program", &cluster.api_client(), cluster.ambient(), &Recorder::off()).on_host(host);
///     LeaderElection::new(&process, "program", ObjectKey::new("default", "program"), LeaderTimings::default())
/// };
/// let (mut one, mut other) = (stand("one"), stand("other"));
/// one.acquire().await;
/// let in_vain = tokio::time::timeout(Duration::from_secs(10), other.acquire()).await;
/// assert!(in_vain.is_err(), "the lease lasts 15 s");
/// one.release().await;
/// tokio::time::timeout(Duration::from_secs(1), other.acquire()).await.expect("it was given up");
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct LeaderElection {
    leases: Api<Lease>,
    key: ObjectKey,
    identity: String,
    timings: LeaderTimings,
    process: Process,
    events: EventRecorder,
    seen: Option<Seen>,
}

/// The lease as last observed, and since when it has been unchanged.
#[derive(Debug)]
struct Seen {
    lease: Lease,
    since: Instant,
}

impl LeaderElection {
    /// A candidate for the Lease `key`; `component` is the source of its events.
    pub fn new(process: &Process, component: &str, key: ObjectKey, timings: LeaderTimings) -> Self {
        Self {
            leases: Api::of(&process.client),
            key,
            identity: format!("{}_{}", process.host, process.ambient.random.uuid()),
            timings,
            events: EventRecorder::new(process, component),
            process: process.clone(),
            seen: None,
        }
    }

    /// The name of this process in the lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The durations of the lease and its renewals.
    pub fn timings(&self) -> LeaderTimings {
        self.timings
    }

    /// Waits until this process is the leader.
    pub async fn acquire(&mut self) {
        while !self.try_hold_until(Instant::now() + self.patience()).await {
            // Jitter keeps candidates apart. In Kubernetes: `JitterFactor`.
            let jitter = 1.0 + 1.2 * self.process.ambient.random.fraction();
            sleep(self.timings.retry.mul_f64(jitter)).await;
        }
        if let Some(seen) = &self.seen {
            let message = format!("{} became leader", self.identity);
            self.events.event(&seen.lease, EventType::Normal, "LeaderElection", message);
        }
    }

    /// Renews the lease until that has failed for too long; then this process is not the leader any more.
    pub async fn hold(&mut self) {
        let mut ends = Instant::now() + self.timings.renew_deadline;
        while Instant::now() < ends {
            sleep(self.timings.retry).await;
            // The deadline counts from the request: when a late answer arrives, another process may already lead.
            let asked = Instant::now();
            if self.try_hold_until(ends.min(asked + self.patience())).await {
                ends = asked + self.timings.renew_deadline;
            }
        }
    }

    /// Releases the lease, so that candidates need not wait for its expiry. In Kubernetes: `ReleaseOnCancel`.
    pub async fn release(&mut self) {
        let Some(mut seen) = self.seen.take().filter(|seen| self.holds(&seen.lease)) else { return };
        let now = format_micro_time(self.process.ambient.clock.now());
        seen.lease.spec.holder_identity = Some(String::new());
        seen.lease.spec.lease_duration_seconds = Some(1);
        seen.lease.spec.renew_time = Some(now.clone());
        seen.lease.spec.acquire_time = Some(now);
        if let Err(error) = self.leases.update(&seen.lease).await {
            tracing::debug!(%error, lease = %self.key, "the lease was not given up");
        }
    }

    /// The timeout of a request, which leaves time for a retry. In Kubernetes: the client timeout of
    /// `resourcelock.NewFromKubeconfig`, which is at least 1 s.
    fn patience(&self) -> Duration {
        (self.timings.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// A try that has not ended by `end` has failed. It may have acquired the lease nevertheless; the next try
    /// observes that.
    async fn try_hold_until(&mut self, end: Instant) -> bool {
        timeout_at(end, self.try_hold()).await.unwrap_or(false)
    }

    async fn try_hold(&mut self) -> bool {
        match self.try_update().await {
            Ok(holds) => holds,
            Err(error) => {
                tracing::debug!(%error, lease = %self.key, "no lease");
                false
            }
        }
    }

    /// In Kubernetes: `tryAcquireOrRenew`.
    async fn try_update(&mut self) -> Result<bool, Error> {
        let Some(current) = self.leases.find(&self.key).await? else {
            let lease = self.lease(None);
            let created = self.leases.create(&lease).await?;
            self.see(created);
            return Ok(true);
        };
        if self.seen.as_ref().is_none_or(|seen| seen.lease.spec != current.spec) {
            self.see(current.clone());
        }
        let since = self.seen.as_ref().map_or_else(Instant::now, |seen| seen.since);
        let lasts = current.spec.lease_duration_seconds.unwrap_or(0).max(0);
        let valid = since.elapsed() < Duration::from_secs(u64::from(lasts.unsigned_abs()));
        let held = current.spec.holder_identity.as_deref().is_some_and(|holder| !holder.is_empty());
        if held && valid && !self.holds(&current) {
            return Ok(false);
        }
        let lease = self.lease(Some(current));
        let updated = self.leases.update(&lease).await?;
        self.see(updated);
        Ok(true)
    }

    fn see(&mut self, lease: Lease) {
        self.seen = Some(Seen { lease, since: Instant::now() });
    }

    fn holds(&self, lease: &Lease) -> bool {
        lease.spec.holder_identity.as_deref() == Some(&self.identity)
    }

    /// The lease with this process as its holder.
    fn lease(&self, current: Option<Lease>) -> Lease {
        let now = format_micro_time(self.process.ambient.clock.now());
        let mut lease = current.unwrap_or_default();
        let was_mine = self.holds(&lease);
        let is_new = lease.metadata.uid.is_none();
        lease.metadata.namespace = Some(self.key.namespace.clone());
        lease.metadata.name = Some(self.key.name.clone());
        let spec = &mut lease.spec;
        if !was_mine {
            let transitions = spec.lease_transitions.unwrap_or(0);
            spec.lease_transitions = Some(if is_new { 0 } else { transitions.saturating_add(1) });
            spec.acquire_time = Some(now.clone());
        }
        spec.holder_identity = Some(self.identity.clone());
        spec.lease_duration_seconds = i32::try_from(self.timings.lease.as_secs()).ok();
        spec.renew_time = Some(now);
        lease
    }
}
