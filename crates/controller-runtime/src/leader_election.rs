use std::time::Duration;

use coracle_api::coordination_v1::Lease;
use coracle_client::{Api, Error};
use coracle_meta::{ObjectKey, format_micro_time};
use tokio::time::{Instant, sleep, timeout_at};

use crate::{EventRecorder, EventType, Process};

/// How long a lease lasts and how often it is renewed. In Kubernetes: `LeaderElectionConfiguration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderTimings {
    /// How long others wait before they take a lease that is not renewed.
    pub lease: Duration,
    /// How long a leader tries to renew before it steps down.
    pub renew_deadline: Duration,
    /// How long between two tries.
    pub retry: Duration,
}

impl Default for LeaderTimings {
    /// 15 s, 10 s, 2 s.
    fn default() -> Self {
        Self { lease: Duration::from_secs(15), renew_deadline: Duration::from_secs(10), retry: Duration::from_secs(2) }
    }
}

/// Lets one of several processes act: the one that holds a Lease.
///
/// A lease is judged by when it was last seen to change, on one's own clock, so that clocks need not agree.
/// In Kubernetes: `client-go/tools/leaderelection`.
///
/// [`lead`](crate::lead) stands, works and gives the lease up; by hand it is:
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

/// The lease as it was last seen, and since when it has looked so.
#[derive(Debug)]
struct Seen {
    lease: Lease,
    since: Instant,
}

impl LeaderElection {
    /// Stands for election on the Lease `key`; `component` names itself in the event.
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

    /// The name under which this process holds the lease.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// How long the lease lasts, and how often it is renewed.
    pub fn timings(&self) -> LeaderTimings {
        self.timings
    }

    /// Waits until this process leads.
    pub async fn acquire(&mut self) {
        while !self.try_hold_until(Instant::now() + self.patience()).await {
            // Others that wait as long are kept apart. In Kubernetes: `JitterFactor`.
            let jitter = 1.0 + 1.2 * self.process.ambient.random.fraction();
            sleep(self.timings.retry.mul_f64(jitter)).await;
        }
        if let Some(seen) = &self.seen {
            let message = format!("{} became leader", self.identity);
            self.events.event(&seen.lease, EventType::Normal, "LeaderElection", message);
        }
    }

    /// Renews the lease until that has not worked for too long; then this process leads no more.
    pub async fn hold(&mut self) {
        let mut ends = Instant::now() + self.timings.renew_deadline;
        while Instant::now() < ends {
            sleep(self.timings.retry).await;
            // An answer that comes after the end comes too late: by then another may lead.
            let asked = Instant::now();
            if self.try_hold_until(ends.min(asked + self.patience())).await {
                ends = asked + self.timings.renew_deadline;
            }
        }
    }

    /// Gives the lease up, so that another need not wait for its end. In Kubernetes: `ReleaseOnCancel`.
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

    /// How long a request may take: one that hangs leaves time for another.
    /// In Kubernetes: the timeout of the client of `resourcelock.NewFromKubeconfig`, which is at least 1 s.
    fn patience(&self) -> Duration {
        (self.timings.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// A try that has not ended by then has failed; it is not known whether it took the lease, and the next one sees it.
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

    /// The lease as this process holds it.
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
