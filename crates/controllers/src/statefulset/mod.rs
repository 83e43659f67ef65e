//! Keeps the ordered pods of a StatefulSet, each with its name and its claims.
//!
//! Watches the sets and the pods, and reads claims and revisions. [`decide`] decides what a set needs next; this
//! module carries that out. In Kubernetes: `pkg/controller/statefulset`.

mod claims;
mod decide;
mod history;
mod members;
#[cfg(test)]
mod tests;
mod update;

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::apps_v1::{ControllerRevision, StatefulSet};
use coracle_api::core_v1::{PersistentVolumeClaim, Pod};
use coracle_api::meta_v1;
use coracle_client::DeleteParams;
use coracle_controller_runtime::ownership::{self, Terms};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of, slow_start,
};
use coracle_informer::Lister;
use coracle_meta::{LabelSelector, ObjectKey, OwnerReference, Resource};
use coracle_release::Release;
use futures_util::future::BoxFuture;

use self::decide::{FindClaim, ObservedStatefulSet, StatefulSetStep};
use self::members::{ordinal, revision_of};
use crate::Config;
use crate::again::again;
use crate::index::{candidates_of, index_by_controller};
use crate::revisions;
use crate::selecting::Selecting;
use crate::stale_pods::wait_or_ignore;

pub(crate) fn start(process: &Process, config: &Config) -> BoxFuture<'static, ()> {
    let sets = process.informers.informer::<StatefulSet>();
    let pods = process.informers.informer::<Pod>();
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let revisions = process.informers.informer::<ControllerRevision>();
    index_by_controller(&pods);
    index_by_controller(&revisions);
    let selecting = Selecting::of(&sets, &process.actor("statefulset"), selector);
    let reconciler = StatefulSets {
        sets: sets.lister(),
        pods: pods.lister(),
        claims: claims.lister(),
        revisions: revisions.lister(),
        events: EventRecorder::new(process, "statefulset-controller"),
        clock: process.ambient.clock.clone(),
        release: config.release.clone(),
    };
    let controller = Controller::new(process, "statefulset", reconciler)
        .client(config.client(process))
        .stale_caches(wait_or_ignore(&config.release, "StaleControllerConsistencyStatefulSet"))
        .watches(&sets, key_of)
        .watches(&pods, move |notification| selecting.concerned_by(notification, StatefulSet::KIND))
        .reads(&claims)
        .reads(&revisions)
        .workers(5);
    Box::pin(controller.run())
}

fn selector(set: &StatefulSet) -> LabelSelector {
    meta_v1::LabelSelector::of_object(set.spec.selector.as_deref())
}

struct StatefulSets {
    sets: Lister<StatefulSet>,
    pods: Lister<Pod>,
    claims: Lister<PersistentVolumeClaim>,
    revisions: Lister<ControllerRevision>,
    events: EventRecorder,
    clock: Clock,
    release: Release,
}

impl Reconciler for StatefulSets {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(set) = self.sets.get(key) else { return pass.gone() };
        let history = self.history(pass, &set).await?;
        let find_claim = |key: &ObjectKey| self.claims.get(key);
        let observed = self.observe(pass, &set, &history, &find_claim).await?;
        let now = self.clock.now();
        let plan = decide::plan(&observed, now)?;
        pass.decided(|| plan.sentence(&observed));
        let events = self.events.in_pass(pass);
        let effects = Effects { pass, set: &set, claims: &self.claims, events, release: &self.release };
        for claim in &plan.contested {
            effects.warn_contested(claim);
        }
        let done = effects.carry_out(&plan.phases).await;
        let status = decide::status(&observed, &plan, now);
        pass.update_status(&*set, |set| set.status = status.clone()).await?;
        done?;
        self.trim(pass, &observed, &history).await?;
        Ok(again(decide::next_available(&observed, now)))
    }
}

impl StatefulSets {
    /// The set's revisions, from the oldest to the newest.
    async fn history(&self, pass: &Pass, set: &StatefulSet) -> Result<Vec<Arc<ControllerRevision>>, ReconcileError> {
        let selector = selector(set);
        let mut candidates = candidates_of(&self.revisions, set);
        candidates.retain(|one| selector.matches(&one.metadata.labels));
        let mut history = ownership::claim(pass, set, &selector, candidates).await?;
        revisions::sort(&mut history);
        Ok(history)
    }

    async fn observe<'a>(
        &'a self,
        pass: &Pass,
        set: &'a StatefulSet,
        history: &[Arc<ControllerRevision>],
        claim: &'a FindClaim<'a>,
    ) -> Result<ObservedStatefulSet<'a>, ReconcileError> {
        let is_member = |pod: &Pod| ordinal(set, pod).is_some();
        let terms = Terms { selector: &selector(set), accepts: &is_member, finalizer: None };
        let pods = ownership::claim_by(pass, set, &terms, candidates_of(&self.pods, set)).await?;
        let revisions = history::revisions_of(pass, set, history).await?;
        Ok(ObservedStatefulSet { set, pods, claim, revisions, release: &self.release })
    }

    /// Deletes the oldest revisions that no pod uses.
    async fn trim(
        &self,
        pass: &Pass,
        observed: &ObservedStatefulSet<'_>,
        history: &[Arc<ControllerRevision>],
    ) -> Result<(), ReconcileError> {
        let ObservedStatefulSet { set, pods, revisions, .. } = observed;
        let Ok(keep) = usize::try_from(set.spec.revision_history_limit.unwrap_or(10)) else { return Ok(()) };
        let in_use = [revisions.current.name.as_str(), &revisions.update.name];
        let in_use = pods.iter().map(|pod| revision_of(pod)).chain(in_use).map(str::to_owned).collect();
        revisions::trim(pass, history, &in_use, keep).await
    }
}

/// The writes of one pass.
struct Effects<'a> {
    pass: &'a Pass,
    set: &'a StatefulSet,
    claims: &'a Lister<PersistentVolumeClaim>,
    events: EventRecorder,
    release: &'a Release,
}

impl Effects<'_> {
    /// Carries out the actions: one after the other, or in growing batches where the set allows it.
    async fn carry_out(&self, phases: &[Vec<StatefulSetStep>]) -> Result<(), ReconcileError> {
        for steps in phases {
            if decide::is_parallel(self.set) {
                if let (_, Some(error)) = slow_start(steps.len(), |index| self.step(&steps[index])).await {
                    return Err(error);
                }
            } else {
                for step in steps {
                    self.step(step).await?;
                }
            }
        }
        Ok(())
    }

    async fn step(&self, step: &StatefulSetStep) -> Result<(), ReconcileError> {
        match step {
            StatefulSetStep::Create { pod, claims } => self.create(pod, claims).await,
            StatefulSetStep::Claim { pod, claims } => self.make_claims(pod, claims).await,
            StatefulSetStep::Own { claims } => self.own(claims).await,
            StatefulSetStep::Repair { pod, claims, missing } => self.repair(pod, claims, missing).await,
            StatefulSetStep::Delete(pod) => {
                let done = match self.pass.api::<Pod>().delete(&pod.key(), &DeleteParams::default()).await {
                    Err(error) if error.is_not_found() && self.release.has("StatefulSetDeletesGonePods") => Ok(()),
                    done => done.map(drop).map_err(ReconcileError::from),
                };
                self.record_result("Delete", pod, done)
            }
        }
    }

    async fn create(&self, pod: &Pod, claims: &[PersistentVolumeClaim]) -> Result<(), ReconcileError> {
        if let Err(error) = self.make_claims(pod, claims).await {
            return self.record_result("Create", pod, Err(error));
        }
        match self.pass.api::<Pod>().create(pod).await {
            Err(error) if error.is_already_exists() || error.is_namespace_terminating() => Err(error.into()),
            created => self.record_result("Create", pod, created.map(drop).map_err(ReconcileError::from)),
        }
    }

    /// Creates the missing claims of a pod; existing ones must not be terminating.
    async fn make_claims(&self, pod: &Pod, missing: &[PersistentVolumeClaim]) -> Result<(), ReconcileError> {
        let mut errors = Vec::new();
        for claim in missing {
            let name = claim.name();
            let about = format!("Claim {name}");
            let set = self.set.name();
            match self.pass.api::<PersistentVolumeClaim>().create(claim).await {
                Ok(_) => {
                    let message = format!("Create {about} Pod {} in StatefulSet {set} success", pod.name());
                    self.events.event(self.set, EventType::Normal, "SuccessfulCreate", message);
                }
                Err(error) => {
                    if !error.is_already_exists() {
                        let message =
                            format!("Create {about} for Pod {} in StatefulSet {set} failed error: {error}", pod.name());
                        self.events.event(self.set, EventType::Warning, "FailedCreate", message);
                    }
                    errors.push(format!("failed to create PVC {name}: {error}"));
                }
            }
        }
        let going = ordinal(self.set, pod).into_iter().flat_map(|number| members::claims(self.set, number));
        let going =
            going.filter(|claim| self.claims.get(&claim.key()).is_some_and(|one| one.metadata.is_terminating()));
        errors.extend(going.map(|claim| format!("pvc {} is being deleted", claim.key().name)));
        match errors.as_slice() {
            [] => Ok(()),
            [error] => Err(ReconcileError::Object(error.clone())),
            _ => Err(ReconcileError::Object(format!("[{}]", errors.join(", ")))),
        }
    }

    async fn own(&self, claims: &[(Arc<PersistentVolumeClaim>, Vec<OwnerReference>)]) -> Result<(), ReconcileError> {
        for (claim, owners) in claims {
            self.pass.update(&**claim, |claim| claim.metadata.owner_references.clone_from(owners)).await?;
        }
        Ok(())
    }

    async fn repair(
        &self,
        pod: &Pod,
        claims: &[(Arc<PersistentVolumeClaim>, Vec<OwnerReference>)],
        missing: &[PersistentVolumeClaim],
    ) -> Result<(), ReconcileError> {
        let repair = async {
            self.make_claims(pod, missing).await?;
            self.own(claims).await?;
            let Some(found) = self.pass.api::<Pod>().find(&pod.key()).await? else { return Ok(()) };
            let number = ordinal(self.set, pod).unwrap_or(0);
            self.pass.update(&found, |pod| members::identify(self.set, pod, number)).await.map(drop)
        };
        let repaired = repair.await;
        self.record_result("Update", pod, repaired)
    }

    /// Records an event about the result of an action on a pod.
    fn record_result(&self, verb: &str, pod: &Pod, done: Result<(), ReconcileError>) -> Result<(), ReconcileError> {
        let (pod, set) = (pod.name(), self.set.name());
        let (event_type, reason, message) = match &done {
            Ok(()) => (EventType::Normal, "Successful", format!("{verb} Pod {pod} in StatefulSet {set} successful")),
            Err(error) => {
                (EventType::Warning, "Failed", format!("{verb} Pod {pod} in StatefulSet {set} failed error: {error}"))
            }
        };
        self.events.event(self.set, event_type, &format!("{reason}{verb}"), message);
        done
    }

    fn warn_contested(&self, claim: &str) {
        let message = format!(
            "PersistentVolumeClaim {claim} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim"
        );
        self.events.event(self.set, EventType::Warning, "ConflictingController", message);
    }
}
