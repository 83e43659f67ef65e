mod operation_results;

use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_controller_runtime::{EventType, ReconcileError};
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::in_use::{in_use, report};
use crate::lookup::populator::{PodVolumes, has_claims, populate};
use crate::node_context::{NodeContext, Progress, VolumeGoal};
use crate::operation::executor::Turn;
use crate::operation::operations::perform;
use crate::reconciler::{VolumeOperation, Work, reconcile};
use crate::state::{VolumeManagerState, uid_of};
use crate::world::disk::Disk;

/// How often the claims of a running pod are read: a node does not watch claims. In Kubernetes: `SyncFrequency`.
const LOOKS_AT_CLAIMS: Duration = Duration::from_secs(60);
/// How soon the node retries a pod whose volumes could not be found. In Kubernetes: `backOffPeriod`.
const LOOKS_AGAIN: Duration = Duration::from_secs(10);
/// How soon the node retries a volume on which another worker operates.
const BUSY: Duration = Duration::from_millis(10);

/// The volume manager of one node, for the lifetime of one kubelet.
pub struct VolumeManager {
    pub(crate) disk: Arc<Disk>,
    pub(crate) term: u64,
    pub(crate) state: Mutex<VolumeManagerState>,
}

impl VolumeManager {
    /// Reads what is mounted on the machine when a kubelet starts. In Kubernetes: reconstruction.
    pub fn begin(disk: &Arc<Disk>) -> Self {
        let (term, actual) = disk.reconstruct();
        Self {
            disk: disk.clone(),
            term,
            state: Mutex::new(VolumeManagerState { actual, ..VolumeManagerState::default() }),
        }
    }

    /// Ends it with its kubelet: results of running operations are ignored.
    pub fn end(&self) {
        self.disk.end(self.term);
    }

    /// The pods for which a volume is, or may be, mounted.
    pub fn pods(&self) -> Vec<ObjectKey> {
        self.state.lock().actual.keys().cloned().collect()
    }

    /// The pods that wait for the status of their node.
    pub fn waiting(&self) -> Vec<ObjectKey> {
        self.state.lock().waiting.iter().cloned().collect()
    }

    /// Compares the volumes in use that the status of the Node shows with those that were reported; returns whether
    /// they differ, so that the next pass has to report again.
    pub fn observe_in_use(&self, said: &[String]) -> bool {
        let state = &mut *self.state.lock();
        let is_wrong = !state.is_reporting && state.reported.as_deref().is_some_and(|reported| reported != said);
        if is_wrong {
            state.reported = None;
        }
        is_wrong
    }

    /// Advances the volumes of a pod as far as possible, and those that no pod needs any more. The first pass of a
    /// kubelet also removes volumes from the status of the Node that it does not have.
    ///
    /// # Errors
    /// If a request to the API server fails; the caller retries.
    pub async fn sync(
        &self,
        context: &NodeContext<'_>,
        key: &ObjectKey,
        goal: VolumeGoal<'_>,
    ) -> Result<Progress, ReconcileError> {
        let pod = match goal {
            VolumeGoal::Mounted(pod) => Some(pod),
            VolumeGoal::Unmounted(pod) => pod,
        };
        if self.has_nothing_to_do(key, goal) {
            // The report of the pass that did the last work may have failed.
            self.report_in_use(context).await?;
            return Ok(Progress { is_done: true, again: None });
        }
        let failures = self.populate(context, key, goal).await;
        self.report_in_use(context).await?;
        let mut again;
        loop {
            again = None;
            let mut has_moved = false;
            for work in self.pending_work(key) {
                has_moved |= self.advance(context, key, pod, work, &mut again).await?;
            }
            if !has_moved {
                break;
            }
        }
        self.report_in_use(context).await?;
        let now = Instant::now();
        if let (VolumeGoal::Mounted(pod), true) = (goal, failures) {
            self.report_failures(context, pod);
        }
        let Progress { is_done, .. } = self.progress(key, goal);
        let state = &mut *self.state.lock();
        let looks = state.uids(key).iter().filter_map(|uid| state.looks.get(uid)).min().copied();
        let again = again.into_iter().chain(looks).min();
        if is_done {
            state.waiting.remove(key);
        }
        Ok(Progress { is_done, again: again.map(|at| at.saturating_duration_since(now)) })
    }

    /// The progress of a pod's volumes, without any work.
    pub fn progress(&self, key: &ObjectKey, goal: VolumeGoal<'_>) -> Progress {
        let state = self.state.lock();
        let is_done = match goal {
            VolumeGoal::Mounted(pod) => state.is_mounted(pod),
            VolumeGoal::Unmounted(_) => state.uids(key).iter().all(|uid| state.actual.of_pod(uid).next().is_none()),
        };
        Progress { is_done, again: None }
    }

    /// Most passes find no work, so this check is done first.
    fn has_nothing_to_do(&self, key: &ObjectKey, goal: VolumeGoal<'_>) -> bool {
        let state = self.state.lock();
        let is_quiet = state.actual.idle().next().is_none() && state.reported.is_some();
        match goal {
            VolumeGoal::Mounted(pod) if pod.spec.volumes.is_empty() => is_quiet && state.uids(key).is_empty(),
            VolumeGoal::Mounted(pod) if !has_claims(pod) => is_quiet && state.is_mounted(pod),
            VolumeGoal::Mounted(_) => false,
            VolumeGoal::Unmounted(_) => is_quiet && state.uids(key).is_empty(),
        }
    }

    /// Finds the volumes of the pod if they are unknown or may have changed; returns whether any could not be found.
    async fn populate(&self, context: &NodeContext<'_>, key: &ObjectKey, goal: VolumeGoal<'_>) -> bool {
        let now = Instant::now();
        let wanted = match goal {
            VolumeGoal::Mounted(pod) => Some((pod, uid_of(pod))),
            VolumeGoal::Unmounted(_) => None,
        };
        {
            let state = &mut *self.state.lock();
            for uid in state.uids(key).into_iter().filter(|uid| wanted.as_ref().is_none_or(|(_, own)| own != uid)) {
                state.desired.remove(&uid);
                state.looks.remove(&uid);
            }
            let Some((_, uid)) = &wanted else {
                state.waiting.remove(key);
                return false;
            };
            let is_due = state.looks.get(uid).is_some_and(|at| *at <= now);
            if state.desired.pod(uid).is_some() && !is_due {
                return false;
            }
        }
        let Some((pod, uid)) = wanted else { return false };
        let node = context.nodes.get(&ObjectKey::cluster(context.node));
        let PodVolumes { mut volumes, mut failures } =
            populate(context.client(), context.drivers, node.as_deref(), pod, &uid).await;
        let state = &mut *self.state.lock();
        // A volume that was found before stays known while it cannot be read.
        failures.retain(|(word, _)| match state.desired.spec_of(&uid, word) {
            Some(spec) => {
                volumes.push((word.clone(), spec));
                false
            }
            None => true,
        });
        let has_failed = !failures.is_empty();
        if has_claims(pod) {
            let next = now + if has_failed { LOOKS_AGAIN } else { LOOKS_AT_CLAIMS };
            state.looks.insert(uid.clone(), next);
        }
        if state.desired.pod(&uid).is_none() {
            for (_, spec) in &volumes {
                self.note(context, key, "DesiredStateOfWorld", spec, None);
            }
        }
        state.desired.put(&uid, key, volumes, failures);
        has_failed
    }

    fn pending_work(&self, key: &ObjectKey) -> Vec<Work> {
        let state = self.state.lock();
        reconcile(&state.desired, &state.actual, &state.uids(key))
    }

    /// Starts or continues one piece of work; returns whether anything has changed.
    async fn advance(
        &self,
        context: &NodeContext<'_>,
        key: &ObjectKey,
        pod: Option<&Pod>,
        work: Work,
        again: &mut Option<Instant>,
    ) -> Result<bool, ReconcileError> {
        let now = Instant::now();
        let mut not_before = |at: Instant| *again = Some(again.map_or(at, |again| again.min(at)));
        let turn = self.state.lock().executor.turn(&work, now);
        let (work, outcome) = match turn {
            Turn::NotBefore(at) => {
                not_before(at);
                return Ok(false);
            }
            Turn::Busy => {
                not_before(now + BUSY);
                return Ok(false);
            }
            Turn::Ended(work, outcome) => (work, outcome),
            Turn::Begin => {
                let begun = Begun { manager: self, work: &work };
                if work.operation == VolumeOperation::VerifyControllerAttachedVolume {
                    // Registered before the node's status is read, so that no later change is missed.
                    self.state.lock().waiting.insert(key.clone());
                }
                let performed = perform(context, pod, &work).await?;
                drop(begun);
                let now = Instant::now();
                match self.state.lock().executor.performs(&work, performed, now) {
                    Some(outcome) => (work, outcome),
                    None => return Ok(true),
                }
            }
        };
        self.note_outcome(context, key, pod, &work, outcome).await
    }

    /// Reports the volumes in use in the Node if they have changed. One report at a time, so that the newest one is the
    /// last.
    async fn report_in_use(&self, context: &NodeContext<'_>) -> Result<(), ReconcileError> {
        loop {
            let volumes = {
                let state = &mut *self.state.lock();
                let volumes = in_use(&state.desired, &state.actual);
                let said = || {
                    let node = context.nodes.get(&ObjectKey::cluster(context.node));
                    node.map(|node| node.status.volumes_in_use.clone()).unwrap_or_default()
                };
                let is_said = *state.reported.get_or_insert_with(said) == volumes;
                if is_said || state.is_reporting {
                    return Ok(());
                }
                state.is_reporting = true;
                volumes
            };
            let reporting = Reporting { manager: self };
            report(context.client(), context.node, &volumes).await?;
            self.state.lock().reported = Some(volumes);
            drop(reporting);
        }
    }

    /// In Kubernetes: the event of `SyncPod` if `WaitForAttachAndMount` fails.
    fn report_failures(&self, context: &NodeContext<'_>, pod: &Pod) {
        let Some(message) = self.state.lock().unprocessed(pod) else { return };
        context.events.in_pass(context.pass).event(pod, EventType::Warning, "FailedMount", message);
    }
}

/// A started operation. If it is dropped without a result, the operation counts as not started.
struct Begun<'m> {
    manager: &'m VolumeManager,
    work: &'m Work,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.manager.state.lock().executor.gives_up(self.work);
    }
}

/// A running report of the volumes in use.
struct Reporting<'m> {
    manager: &'m VolumeManager,
}

impl Drop for Reporting<'_> {
    fn drop(&mut self) {
        self.manager.state.lock().is_reporting = false;
    }
}
