//! What a StatefulSet needs next.
//!
//! ```text
//! each number from the first:  gone -> create    failed, finished -> delete    stuck -> wait (in order only)
//! then, all of them well:      beyond the replicas, from the highest -> delete
//! then:                        of another revision, from the highest down to the partition -> delete
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::{StatefulSet, StatefulSetStatus};
use coracle_api::core_v1::{PersistentVolumeClaim, Pod};
use coracle_controller_runtime::ReconcileError;
use coracle_meta::{ObjectKey, OwnerReference, Resource, Rounding};
use coracle_release::Release;
use jiff::SignedDuration;

use super::claims::{Owners, belongs_to_earlier, has_other_controller, owners};
use super::history::{Revision, Revisions};
use super::members::{claims, identify, member, numbers, ordinal, revision_of};
use super::update::{self, Member};
use crate::pods::{Availability, availability};

/// How many pods one sync creates or deletes at most.
const BURST: usize = 500;

/// Looks up a claim.
pub(super) type FindClaim<'a> = dyn Fn(&ObjectKey) -> Option<Arc<PersistentVolumeClaim>> + Send + Sync + 'a;

/// What a pass sees.
#[derive(Clone)]
pub(super) struct ObservedStatefulSet<'a> {
    pub(super) set: &'a StatefulSet,
    /// The pods of the set.
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) claim: &'a FindClaim<'a>,
    pub(super) revisions: Revisions,
    pub(super) release: &'a Release,
}

/// One action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StatefulSetStep {
    /// Create the missing claims, then the pod.
    Create { pod: Box<Pod>, claims: Vec<PersistentVolumeClaim> },
    /// Create the claims that a pending pod waits for.
    Claim { pod: Arc<Pod>, claims: Vec<PersistentVolumeClaim> },
    /// Change the owners of claims.
    Own { claims: Vec<(Arc<PersistentVolumeClaim>, Vec<OwnerReference>)> },
    /// Restore a pod's identity, its volumes and the owners of its claims; `pod` is the desired state.
    Repair {
        pod: Box<Pod>,
        claims: Vec<(Arc<PersistentVolumeClaim>, Vec<OwnerReference>)>,
        missing: Vec<PersistentVolumeClaim>,
    },
    /// Delete a pod.
    Delete(Arc<Pod>),
}

/// The actions in phases: those of a phase run in parallel where the set allows it, and a failed phase ends the sync.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) phases: Vec<Vec<StatefulSetStep>>,
    /// Claims that another controller manages, though the policy is to delete them.
    pub(super) contested: Vec<String>,
    /// What the sync waits for before it continues.
    pub(super) waits_for: Option<String>,
    /// How many pods of the current revision are deleted to be created again.
    pub(super) replaced_current: usize,
}

impl Plan {
    /// The decision as a sentence, for the event log.
    pub(super) fn sentence(&self, observed: &ObservedStatefulSet<'_>) -> String {
        let deed = |step: &StatefulSetStep| match step {
            StatefulSetStep::Create { pod, .. } => Some(format!("create {}", pod.name())),
            StatefulSetStep::Repair { pod, .. } => Some(format!("repair {}", pod.name())),
            StatefulSetStep::Claim { pod, .. } => Some(format!("make the claims of {}", pod.name())),
            StatefulSetStep::Own { .. } => Some("change owners of claims".to_owned()),
            StatefulSetStep::Delete(pod) => Some(format!("delete {}", pod.name())),
        };
        let mut deeds: Vec<_> = self.phases.iter().flatten().filter_map(deed).collect();
        deeds.extend(self.waits_for.as_ref().map(|pod| format!("wait for {pod}")));
        if deeds.is_empty() {
            deeds.push("nothing to do".to_owned());
        }
        let want = observed.set.spec.replicas.unwrap_or(1);
        format!("want {want}, see {}: {}", observed.pods.len(), deeds.join(", "))
    }
}

/// What to do.
///
/// In Kubernetes: `updateStatefulSet`.
pub(super) fn plan(observed: &ObservedStatefulSet<'_>, now: Timestamp) -> Result<Plan, ReconcileError> {
    if observed.set.metadata.is_terminating() {
        return Ok(Plan::default());
    }
    let mut planning = Planning { observed, now, in_order: !is_parallel(observed.set), plan: Plan::default() };
    let (members, surplus) = planning.tell_apart();
    if planning.replicas(&members)? && planning.surplus(&members, &surplus) {
        planning.update(&members);
    }
    Ok(planning.plan)
}

/// Whether pods may be created and deleted in parallel.
pub(super) fn is_parallel(set: &StatefulSet) -> bool {
    set.spec.pod_management_policy == "Parallel"
}

/// Pods by their ordinals.
type Members = BTreeMap<i64, Arc<Pod>>;

struct Planning<'a> {
    observed: &'a ObservedStatefulSet<'a>,
    now: Timestamp,
    in_order: bool,
    plan: Plan,
}

impl Planning<'_> {
    /// The pods within the replicas, and the others from the highest ordinal down.
    fn tell_apart(&self) -> (Members, Vec<Arc<Pod>>) {
        let set = self.observed.set;
        let numbered = self.observed.pods.iter().filter_map(|pod| Some((ordinal(set, pod)?, pod.clone())));
        let (members, surplus): (Members, Members) = numbered.partition(|(number, _)| numbers(set).contains(number));
        (members, surplus.into_values().rev().collect())
    }

    /// Creates missing pods, and deletes finished ones; false if this pass must do nothing else.
    fn replicas(&mut self, members: &Members) -> Result<bool, ReconcileError> {
        let mut steps = Vec::new();
        let mut goes_on = true;
        for number in numbers(self.observed.set) {
            let is_well = match members.get(&number) {
                None => self.missing(number, &mut steps)?,
                Some(pod) => self.existing(number, pod, &mut steps),
            };
            if !is_well && self.in_order || steps.len() >= BURST {
                goes_on = false;
                break;
            }
        }
        self.plan.phases.push(steps);
        Ok(goes_on)
    }

    fn missing(&mut self, number: i64, steps: &mut Vec<StatefulSetStep>) -> Result<bool, ReconcileError> {
        let ObservedStatefulSet { set, revisions, .. } = self.observed;
        let Revision { name, template } =
            if self.is_of_current(number) { &revisions.current } else { &revisions.update };
        let pod = member(set, template, name, number)?;
        if self.claims_of(number).any(|claim| belongs_to_earlier(&claim, set, &pod)) {
            self.plan.waits_for = Some(format!("the claims of an earlier {}", pod.name()));
        } else {
            steps.push(StatefulSetStep::Create { pod: Box::new(pod), claims: self.missing_claims(number) });
        }
        Ok(false)
    }

    /// Whether a new pod of this ordinal is still created from the current revision.
    fn is_of_current(&self, number: i64) -> bool {
        let set = self.observed.set;
        let start = numbers(set).start;
        match set.spec.update_strategy.rolling_update.as_deref() {
            Some(rolling) => number < start + i64::from(rolling.partition.unwrap_or(0)),
            None => {
                let current = i64::from(set.status.current_replicas);
                set.spec.update_strategy.type_ == "RollingUpdate" && number < start + current
            }
        }
    }

    /// Whether the next ordinal may be processed.
    fn existing(&mut self, number: i64, pod: &Arc<Pod>, steps: &mut Vec<StatefulSetStep>) -> bool {
        if pod.is_finished() {
            if !pod.is_terminating() {
                steps.push(StatefulSetStep::Delete(pod.clone()));
            }
            return false;
        }
        let changes = self.owner_changes(number, pod, true);
        if pod.phase() == "Pending" {
            let missing = self.missing_claims(number);
            if !missing.is_empty() {
                steps.push(StatefulSetStep::Claim { pod: pod.clone(), claims: missing });
            }
            if !changes.is_empty() {
                steps.push(StatefulSetStep::Own { claims: changes });
            }
            self.plan.waits_for = Some(pod.name().to_owned());
            return false;
        }
        if self.is_unavailable(pod) || pod.phase() != "Running" {
            self.plan.waits_for = Some(pod.name().to_owned());
            return false;
        }
        let mut repaired = Pod::clone(pod);
        identify(self.observed.set, &mut repaired, number);
        if repaired != **pod || !changes.is_empty() {
            let missing = if repaired == **pod { Vec::new() } else { self.missing_claims(number) };
            steps.push(StatefulSetStep::Repair { pod: Box::new(repaired), claims: changes, missing });
        }
        true
    }

    /// Deletes pods beyond the replicas; false if the update has to wait.
    fn surplus(&mut self, members: &Members, surplus: &[Arc<Pod>]) -> bool {
        let set = self.observed.set;
        let numbered = surplus.iter().filter_map(|pod| Some((ordinal(set, pod)?, pod)));
        let changes: Vec<_> = numbered.flat_map(|(number, pod)| self.owner_changes(number, pod, false)).collect();
        let mut steps = Vec::new();
        if !changes.is_empty() {
            steps.push(StatefulSetStep::Own { claims: changes });
        }
        let first_unavailable = members.values().chain(surplus.iter().rev()).find(|pod| self.is_unavailable(pod));
        let mut goes_on = true;
        for pod in surplus {
            let holds = first_unavailable.is_some_and(|first| first.name() != pod.name());
            if self.in_order && (pod.is_terminating() || self.is_unavailable(pod) && holds) {
                self.plan.waits_for = Some(pod.name().to_owned());
                goes_on = false;
                break;
            }
            if !pod.is_terminating() {
                steps.push(StatefulSetStep::Delete(pod.clone()));
            }
            if self.in_order {
                goes_on = false;
                break;
            }
        }
        self.plan.phases.push(steps);
        goes_on
    }

    /// Deletes pods of another revision, from the highest ordinal down to the partition: as many as may be
    /// unavailable, or, in a release without `maxUnavailable`, one whenever those above it are available.
    fn update(&mut self, members: &Members) {
        let set = self.observed.set;
        if set.spec.update_strategy.type_ == "OnDelete" {
            return;
        }
        let updating = self.updating(members);
        let replaced = if self.observed.release.enabled("MaxUnavailableStatefulSet") {
            update::within(self.most_unavailable(), &updating, !self.in_order)
        } else {
            let (goes, waits_for) = update::one_by_one(&updating);
            self.plan.waits_for = waits_for.map(|pod| pod.name().to_owned()).or(self.plan.waits_for.take());
            goes.cloned().into_iter().collect()
        };
        let current = &self.observed.revisions.current.name;
        self.plan.replaced_current = replaced.iter().filter(|pod| revision_of(pod) == current).count();
        self.plan.phases.push(replaced.into_iter().map(StatefulSetStep::Delete).collect());
    }

    /// The members from the highest ordinal down.
    fn updating(&self, members: &Members) -> Vec<Member> {
        let all = numbers(self.observed.set);
        let rolling = self.observed.set.spec.update_strategy.rolling_update.as_deref();
        let partition = rolling.and_then(|rolling| rolling.partition).unwrap_or(0).max(0);
        let kept_below = all.start.saturating_add(i64::from(partition));
        let member = |number: i64| {
            let pod = members.get(&number);
            Member {
                is_old: pod.is_some_and(|pod| self.is_replaced(pod)),
                is_unavailable: pod.is_none_or(|pod| self.is_unavailable(pod)),
                is_kept: number < kept_below,
                pod: pod.cloned(),
            }
        };
        all.rev().map(member).collect()
    }

    /// In Kubernetes: `getStatefulSetMaxUnavailable`.
    fn most_unavailable(&self) -> usize {
        let spec = &self.observed.set.spec;
        let rolling = spec.update_strategy.rolling_update.as_deref();
        let bound = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let bound = bound.and_then(|bound| bound.scaled(spec.replicas.unwrap_or(1), Rounding::Down)).unwrap_or(1);
        usize::try_from(bound).unwrap_or(1).max(1)
    }

    /// Whether the update replaces a pod.
    fn is_replaced(&self, pod: &Pod) -> bool {
        revision_of(pod) != self.observed.revisions.update.name && !pod.is_terminating()
    }

    fn is_unavailable(&self, pod: &Pod) -> bool {
        pod.is_terminating() || !is_available(self.observed.set, pod, self.now)
    }

    fn claims_of(&self, number: i64) -> impl Iterator<Item = Arc<PersistentVolumeClaim>> {
        claims(self.observed.set, number).filter_map(|claim| (self.observed.claim)(&claim.key()))
    }

    fn missing_claims(&self, number: i64) -> Vec<PersistentVolumeClaim> {
        claims(self.observed.set, number).filter(|claim| (self.observed.claim)(&claim.key()).is_none()).collect()
    }

    fn owner_changes(
        &mut self,
        number: i64,
        pod: &Pod,
        stays: bool,
    ) -> Vec<(Arc<PersistentVolumeClaim>, Vec<OwnerReference>)> {
        let set = self.observed.set;
        let (mut changes, mut contested) = (Vec::new(), Vec::new());
        for claim in self.claims_of(number) {
            if let Owners::Become(owners) = owners(&claim, set, pod, stays) {
                if has_other_controller(&claim, set, pod) {
                    contested.push(claim.name().to_owned());
                }
                changes.push((claim, owners));
            }
        }
        self.plan.contested.extend(contested);
        changes
    }
}

fn is_available(set: &StatefulSet, pod: &Pod, now: Timestamp) -> bool {
    availability(pod, set.spec.min_ready_seconds, now) == Availability::Available
}

/// The status for the observed state, before the effects of this pass.
///
/// In Kubernetes: `updateStatus` and `completeUpdate`.
pub(super) fn status(observed: &ObservedStatefulSet<'_>, plan: &Plan, now: Timestamp) -> StatefulSetStatus {
    let ObservedStatefulSet { set, pods, revisions, .. } = observed;
    let members: Vec<_> = pods.iter().filter(|pod| ordinal(set, pod).is_some() && !pod.phase().is_empty()).collect();
    let count = |counts: &dyn Fn(&Pod) -> bool| members.iter().filter(|pod| counts(pod)).count() as i32;
    let is_ready = |pod: &Pod| pod.phase() == "Running" && pod.is_ready();
    let is_of = |pod: &Pod, revision: &Revision| !pod.is_terminating() && revision_of(pod) == revision.name;
    let mut status = StatefulSetStatus {
        observed_generation: set.metadata.generation.unwrap_or(0),
        replicas: count(&|_| true),
        ready_replicas: count(&is_ready),
        available_replicas: count(&|pod| is_ready(pod) && is_available(set, pod, now)),
        current_replicas: count(&|pod| is_of(pod, &revisions.current)) - plan.replaced_current as i32,
        updated_replicas: count(&|pod| is_of(pod, &revisions.update)),
        current_revision: revisions.current.name.clone(),
        update_revision: revisions.update.name.clone(),
        collision_count: Some(revisions.collision_count),
        ..set.status.clone()
    };
    let want = set.spec.replicas.unwrap_or(1);
    let is_complete = [status.updated_replicas, status.ready_replicas, status.replicas].iter().all(|&has| has == want);
    let completes = set.spec.update_strategy.type_ == "RollingUpdate"
        || observed.release.has("StatefulSetUpdateCompletesInAllStrategies");
    if completes && is_complete {
        status.current_replicas = status.updated_replicas;
        status.current_revision.clone_from(&status.update_revision);
    }
    status
}

/// How long until the next ready pod becomes available; `None` without one.
pub(super) fn next_available(observed: &ObservedStatefulSet<'_>, now: Timestamp) -> Option<SignedDuration> {
    observed.pods.iter().filter_map(|pod| availability(pod, observed.set.spec.min_ready_seconds, now).left()).min()
}
