use std::sync::Arc;
use std::time::Duration;

use coracle_api::core_v1::Pod;
use coracle_controller_runtime::{EventType, ReconcileError};
use coracle_meta::ObjectKey;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::disk::Disk;
use super::executor::Turn;
use super::in_use::{in_use, report};
use super::operations::perform;
use super::populator::{Found, has_claims, populate};
use super::reconciler::{Operation, Work, reconcile};
use super::site::{Progress, Site, Wish};
use super::state::{State, uid_of};

/// How often the claims of a pod that runs are looked at: nobody tells a node of them. In Kubernetes: `SyncFrequency`.
const LOOKS_AT_CLAIMS: Duration = Duration::from_secs(60);
/// How soon a pod whose volumes could not be found out is looked at again. In Kubernetes: `backOffPeriod`.
const LOOKS_AGAIN: Duration = Duration::from_secs(10);
/// How soon a volume is looked at again with which somebody else does something at the moment.
const BUSY: Duration = Duration::from_millis(10);

/// The volumes of one node, as long as one kubelet speaks for it.
pub(crate) struct VolumeManager {
    pub(super) disk: Arc<Disk>,
    pub(super) term: u64,
    pub(super) state: Mutex<State>,
}

impl VolumeManager {
    /// What a kubelet that begins finds on its machine. In Kubernetes: reconstruction.
    pub(crate) fn begin(disk: &Arc<Disk>) -> Self {
        let (term, actual) = disk.reconstruct();
        Self { disk: disk.clone(), term, state: Mutex::new(State { actual, ..State::default() }) }
    }

    /// The kubelet has ended: nothing that it is still at counts.
    pub(crate) fn end(&self) {
        self.disk.end(self.term);
    }

    /// The pods for which anything is mounted or may be.
    pub(crate) fn pods(&self) -> Vec<ObjectKey> {
        self.state.lock().actual.keys().cloned().collect()
    }

    /// The pods that wait for what the status of their node says.
    pub(crate) fn waiting(&self) -> Vec<ObjectKey> {
        self.state.lock().waiting.iter().cloned().collect()
    }

    /// What the status of its Node says of volumes in use; whether that is not what was said, so that it is to be said
    /// again by a pass over any key.
    pub(crate) fn hears(&self, said: &[String]) -> bool {
        let state = &mut *self.state.lock();
        let is_wrong = !state.is_reporting && state.reported.as_deref().is_some_and(|reported| reported != said);
        if is_wrong {
            state.reported = None;
        }
        is_wrong
    }

    /// Takes the volumes of a pod as far as they go, and those that no pod has any more. The first pass of a kubelet, over
    /// whatever key, also takes back what its Node says of volumes that it does not have.
    ///
    /// # Errors
    /// If the API server cannot be asked or told; the pass is to be made again.
    pub(crate) async fn sync(
        &self,
        site: &Site<'_>,
        key: &ObjectKey,
        wish: Wish<'_>,
    ) -> Result<Progress, ReconcileError> {
        let pod = match wish {
            Wish::Mounted(pod) => Some(pod),
            Wish::Unmounted(pod) => pod,
        };
        if self.has_nothing_to_do(key, wish) {
            return Ok(Progress { is_done: true, again: None });
        }
        let failures = self.populate(site, key, wish).await;
        self.report_in_use(site).await?;
        let mut again;
        loop {
            again = None;
            let mut has_moved = false;
            for work in self.works(key) {
                has_moved |= self.advance(site, key, pod, work, &mut again).await?;
            }
            if !has_moved {
                break;
            }
        }
        self.report_in_use(site).await?;
        let now = Instant::now();
        if let (Wish::Mounted(pod), true) = (wish, failures) {
            self.tell_of_failures(site, pod);
        }
        let Progress { is_done, .. } = self.standing(key, wish);
        let state = &mut *self.state.lock();
        let looks = state.uids(key).iter().filter_map(|uid| state.looks.get(uid)).min().copied();
        let again = again.into_iter().chain(looks).min();
        if is_done {
            state.waiting.remove(key);
        }
        Ok(Progress { is_done, again: again.map(|at| at.saturating_duration_since(now)) })
    }

    /// How far a pod's volumes are, without doing anything.
    pub(crate) fn standing(&self, key: &ObjectKey, wish: Wish<'_>) -> Progress {
        let state = self.state.lock();
        let is_done = match wish {
            Wish::Mounted(pod) => state.is_mounted(pod),
            Wish::Unmounted(_) => state.uids(key).iter().all(|uid| state.actual.of_pod(uid).next().is_none()),
        };
        Progress { is_done, again: None }
    }

    /// Most pods come by often, and few have volumes with which something is to be done.
    fn has_nothing_to_do(&self, key: &ObjectKey, wish: Wish<'_>) -> bool {
        let state = self.state.lock();
        let is_quiet = state.actual.idle().next().is_none() && state.reported.is_some();
        match wish {
            Wish::Mounted(pod) if pod.spec.volumes.is_empty() => is_quiet && state.uids(key).is_empty(),
            Wish::Mounted(pod) if !has_claims(pod) => is_quiet && state.is_mounted(pod),
            Wish::Mounted(_) => false,
            Wish::Unmounted(_) => is_quiet && state.uids(key).is_empty(),
        }
    }

    /// Finds out what the pod wants, if it is not known or may be otherwise by now; whether something could not be.
    async fn populate(&self, site: &Site<'_>, key: &ObjectKey, wish: Wish<'_>) -> bool {
        let now = Instant::now();
        let wanted = match wish {
            Wish::Mounted(pod) => Some((pod, uid_of(pod))),
            Wish::Unmounted(_) => None,
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
        let node = site.nodes.get(&ObjectKey::cluster(site.node));
        let Found { mut volumes, mut failures } = populate(site.client(), node.as_deref(), pod, &uid).await;
        let state = &mut *self.state.lock();
        // What is known of a volume stays known while it cannot be asked for.
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
                self.note(site, key, "DesiredStateOfWorld", spec, None);
            }
        }
        state.desired.put(&uid, key, volumes, failures);
        has_failed
    }

    fn works(&self, key: &ObjectKey) -> Vec<Work> {
        let state = self.state.lock();
        reconcile(&state.desired, &state.actual, &state.uids(key))
    }

    /// Does one thing, or sees how far it is; whether anything is otherwise now.
    async fn advance(
        &self,
        site: &Site<'_>,
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
                if work.operation == Operation::VerifyControllerAttachedVolume {
                    // Before the node's status is looked at: what changes then is heard of.
                    self.state.lock().waiting.insert(key.clone());
                }
                let performed = perform(site, pod, &work).await?;
                drop(begun);
                let now = Instant::now();
                match self.state.lock().executor.performs(&work, performed, now) {
                    Some(outcome) => (work, outcome),
                    None => return Ok(true),
                }
            }
        };
        self.note_outcome(site, key, pod, &work, outcome).await
    }

    /// Says in the Node what is in use, if it is not said yet. One at a time, so that what is newest is what stays.
    async fn report_in_use(&self, site: &Site<'_>) -> Result<(), ReconcileError> {
        loop {
            let volumes = {
                let state = &mut *self.state.lock();
                let volumes = in_use(&state.desired, &state.actual);
                let said = || {
                    let node = site.nodes.get(&ObjectKey::cluster(site.node));
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
            report(site.client(), site.node, &volumes).await?;
            self.state.lock().reported = Some(volumes);
            drop(reporting);
        }
    }

    /// In Kubernetes: what `SyncPod` says if `WaitForAttachAndMount` fails.
    fn tell_of_failures(&self, site: &Site<'_>, pod: &Pod) {
        let Some(message) = self.state.lock().unprocessed(pod) else { return };
        site.events.in_pass(site.pass).event(pod, EventType::Warning, "FailedMount", message);
    }
}

/// An operation that somebody is at; whoever drops it without an answer is not at it any more.
struct Begun<'m> {
    manager: &'m VolumeManager,
    work: &'m Work,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.manager.state.lock().executor.gives_up(self.work);
    }
}

/// Somebody tells the API server what is in use.
struct Reporting<'m> {
    manager: &'m VolumeManager,
}

impl Drop for Reporting<'_> {
    fn drop(&mut self) {
        self.manager.state.lock().is_reporting = false;
    }
}
