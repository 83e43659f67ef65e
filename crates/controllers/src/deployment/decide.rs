//! What a Deployment needs next: one step, after which it is processed again.

use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::apps_v1::{Deployment, ReplicaSet};
use coracle_api::core_v1::Pod;
use coracle_meta::{ObjectKey, Resource, Rounding};
use jiff::SignedDuration;

use super::conditions::{PAUSED, PROGRESSING, TIMED_OUT, condition, progress_deadline};
use super::revision::{
    REVISION, Sets, annotate, by_age, desired_replicas, max_replicas, new_set, note_bounds, revision_of, size,
};
use super::rolling::{Bounds, SetSize, in_proportion, new_size, shrink_old};
use super::status::{counted, is_complete, rolling_out, time_left};
use crate::conditions::{append, find};

/// What a pass sees.
#[derive(Clone, Debug)]
pub(super) struct ObservedDeployment {
    /// The Deployment.
    pub(super) deployment: Arc<Deployment>,
    /// The sets that the Deployment owns.
    pub(super) sets: Vec<Arc<ReplicaSet>>,
    /// The pods of those sets, if the Deployment waits for their termination.
    pub(super) pods: Vec<Arc<Pod>>,
}

/// What a pass does, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    /// Writes to sets.
    pub(super) sets: Vec<SetWrite>,
    /// The Deployment with the desired status (and revision); `None` if it is up to date.
    pub(super) status: Option<Box<Deployment>>,
    /// When to sync again if nothing changes before.
    pub(super) again: Option<SignedDuration>,
}

impl Plan {
    /// The decision as a sentence, for the event log.
    pub(super) fn sentence(&self, observed: &ObservedDeployment) -> String {
        let want = observed.deployment.spec.replicas.unwrap_or(1);
        let see: Vec<String> = observed.sets.iter().map(|set| format!("{} {}", name(set), size(set))).collect();
        let see = if see.is_empty() { "no set".to_owned() } else { see.join(", ") };
        let mut deeds: Vec<String> = self.sets.iter().map(SetWrite::sentence).collect();
        if self.status.is_some() {
            deeds.push("write the status".to_owned());
        }
        let deeds = if deeds.is_empty() { "nothing to do".to_owned() } else { deeds.join(", ") };
        format!("want {want}, see {see}: {deeds}")
    }
}

impl SetWrite {
    fn sentence(&self) -> String {
        match self {
            Self::Create(set) => format!("create {} with {}", name(set), size(set)),
            Self::Update { set, from } if *from != size(set) => {
                format!("scale {} from {from} to {}", name(set), size(set))
            }
            Self::Update { set, .. } => format!("update {}", name(set)),
            Self::Delete(key) => format!("delete {}", key.name),
        }
    }
}

fn name(set: &ReplicaSet) -> &str {
    set.metadata.name.as_deref().unwrap_or_default()
}

/// A write to one set.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SetWrite {
    /// Create it.
    Create(Box<ReplicaSet>),
    /// Update it; `from` is its previous size.
    Update { set: Box<ReplicaSet>, from: i32 },
    /// Delete it.
    Delete(ObjectKey),
}

/// One step.
pub(super) fn plan(observed: &ObservedDeployment, now: Timestamp) -> Plan {
    let rollout = Rollout {
        deployment: &observed.deployment,
        sets: Sets::of(&observed.deployment, observed.sets.clone()),
        pods: &observed.pods,
        bounds: bounds(&observed.deployment),
        now,
    };
    let deployment = rollout.deployment;
    if deployment.metadata.is_terminating() {
        return rollout.up_to_date().unwrap_or_else(|| rollout.rest());
    }
    if let Some(plan) = rollout.pause_or_resume() {
        return plan;
    }
    if let Some(plan) = rollout.up_to_date() {
        return plan;
    }
    let scaled = rollout.sets.all().filter(|set| size(set) > 0).filter_map(|set| desired_replicas(set));
    if deployment.spec.paused || scaled.into_iter().any(|desired| desired != rollout.bounds.replicas) {
        return rollout.scale();
    }
    if deployment.spec.strategy.type_ == "Recreate" { rollout.recreate() } else { rollout.roll() }
}

/// The limits of the Deployment as numbers: the surge is rounded up, the unavailability down.
pub(super) fn bounds(deployment: &Deployment) -> Bounds {
    let replicas = deployment.spec.replicas.unwrap_or(1);
    let strategy = &deployment.spec.strategy;
    if strategy.type_ == "Recreate" {
        return Bounds::recreate(replicas);
    }
    let update = strategy.rolling_update.as_deref();
    let surge = update.and_then(|update| update.max_surge.as_ref()?.scaled(replicas, Rounding::Up));
    let unavailable = update.and_then(|update| update.max_unavailable.as_ref()?.scaled(replicas, Rounding::Down));
    Bounds::rolling(replicas, surge.unwrap_or(0), unavailable.unwrap_or(0))
}

struct Rollout<'a> {
    deployment: &'a Arc<Deployment>,
    sets: Sets,
    pods: &'a [Arc<Pod>],
    bounds: Bounds,
    now: Timestamp,
}

impl Rollout<'_> {
    /// Sets or clears the condition that the Deployment is paused.
    fn pause_or_resume(&self) -> Option<Plan> {
        progress_deadline(self.deployment)?;
        let progressing = find(&self.deployment.status.conditions, PROGRESSING);
        if progressing.is_some_and(|condition| condition.reason == TIMED_OUT) {
            return None;
        }
        let said = progressing.is_some_and(|condition| condition.reason == PAUSED);
        let (reason, message) = match (self.deployment.spec.paused, said) {
            (true, false) => (PAUSED, "Deployment is paused"),
            (false, true) => ("DeploymentResumed", "Deployment is resumed"),
            _ => return None,
        };
        let mut deployment = Deployment::clone(self.deployment);
        append(&mut deployment.status.conditions, condition(PROGRESSING, "Unknown", reason, message, self.now));
        Some(Plan { status: Some(Box::new(deployment)), ..Plan::default() })
    }

    /// Brings the new set, if it exists, and the Deployment to the right revision; `None` if they are up to date.
    ///
    /// In Kubernetes: the first half of `getNewReplicaSet`.
    fn up_to_date(&self) -> Option<Plan> {
        let new = self.sets.new.as_ref()?;
        let mut changed = ReplicaSet::clone(new);
        let annotated = annotate(self.deployment, &mut changed, self.sets.next_revision());
        if annotated || new.spec.min_ready_seconds != self.deployment.spec.min_ready_seconds {
            changed.spec.min_ready_seconds = self.deployment.spec.min_ready_seconds;
            let write = SetWrite::Update { from: size(new), set: Box::new(changed) };
            return Some(Plan { sets: vec![write], ..Plan::default() });
        }
        let mut deployment = Deployment::clone(self.deployment);
        let revision = new.metadata.annotations.get(REVISION).cloned().unwrap_or_default();
        deployment.metadata.annotations.insert(REVISION.to_owned(), revision);
        if progress_deadline(&deployment).is_some() && find(&deployment.status.conditions, PROGRESSING).is_none() {
            let message = format!("Found new replica set {:?}", new.metadata.name.as_deref().unwrap_or_default());
            let found = condition(PROGRESSING, "True", "FoundNewReplicaSet", message, self.now);
            append(&mut deployment.status.conditions, found);
        }
        (deployment != **self.deployment).then(|| Plan { status: Some(Box::new(deployment)), ..Plan::default() })
    }

    /// Creates the set for the template, as large as the strategy allows.
    fn create(&self) -> Plan {
        let revision = self.sets.next_revision();
        let mut new = new_set(self.deployment, revision);
        let sum = self.sets.old.iter().map(|set| i64::from(size(set))).sum();
        new.spec.replicas = Some(if self.deployment.spec.strategy.type_ == "Recreate" {
            self.bounds.replicas
        } else {
            new_size(self.bounds, 0, sum)
        });
        note_bounds(&mut new, self.bounds);
        let mut deployment = Deployment::clone(self.deployment);
        deployment.metadata.annotations.insert(REVISION.to_owned(), revision.to_string());
        if progress_deadline(&deployment).is_some() {
            let message = format!("Created new replica set {:?}", new.metadata.name.as_deref().unwrap_or_default());
            let created = condition(PROGRESSING, "True", "NewReplicaSetCreated", message, self.now);
            append(&mut deployment.status.conditions, created);
        }
        let status = (deployment != **self.deployment).then(|| Box::new(deployment));
        Plan { sets: vec![SetWrite::Create(Box::new(new))], status, again: None }
    }

    /// Only the number of replicas changed: scales the sets.
    fn scale(&self) -> Plan {
        let mut writes = self.scale_writes();
        if self.deployment.spec.paused {
            writes.extend(self.surplus());
        }
        let status = counted(self.deployment, &self.sets, self.bounds, self.now);
        self.with_status(writes, status)
    }

    fn scale_writes(&self) -> Vec<SetWrite> {
        let active: Vec<&Arc<ReplicaSet>> = self.sets.all().filter(|set| size(set) > 0).collect();
        let only = match active.as_slice() {
            [] => self.sets.new.as_ref().or_else(|| self.sets.old.iter().max_by(|a, b| by_age(a).cmp(&by_age(b)))),
            [one] => Some(*one),
            _ => None,
        };
        if let Some(only) = only {
            return self.resize(only, self.bounds.replicas).into_iter().collect();
        }
        if active.is_empty() {
            return Vec::new();
        }
        let saturated = |new: &Arc<ReplicaSet>| {
            size(new) == self.bounds.replicas
                && desired_replicas(new) == Some(self.bounds.replicas)
                && new.status.available_replicas == self.bounds.replicas
        };
        if self.sets.new.as_ref().is_some_and(saturated) {
            return self.sets.old.iter().filter_map(|old| self.resize(old, 0)).collect();
        }
        if self.deployment.spec.strategy.type_ == "Recreate" {
            return Vec::new();
        }
        let sizes: Vec<SetSize> = active.iter().map(|set| measure(set)).collect();
        let sizes = in_proportion(self.bounds, &sizes, self.deployment.status.replicas);
        let resize = |set: &&Arc<ReplicaSet>| {
            let to = *sizes.get(set.metadata.name.as_deref()?)?;
            self.write(set, to)
        };
        active.iter().filter_map(resize).collect()
    }

    /// In Kubernetes: `rolloutRolling`.
    fn roll(&self) -> Plan {
        let Some(new) = &self.sets.new else { return self.create() };
        let sum = self.sets.all().map(|set| i64::from(size(set))).sum();
        if let Some(write) = self.resize(new, new_size(self.bounds, size(new), sum)) {
            return self.rolled(vec![write]);
        }
        let active: Vec<SetSize> = self.sets.old.iter().filter(|set| size(set) > 0).map(|set| measure(set)).collect();
        let smaller = shrink_old(self.bounds, &measure(new), &active);
        let writes: Vec<SetWrite> = self
            .sets
            .old
            .iter()
            .filter_map(|set| self.resize(set, *smaller.get(set.metadata.name.as_deref()?)?))
            .collect();
        if writes.is_empty() { self.finish() } else { self.rolled(writes) }
    }

    /// In Kubernetes: `rolloutRecreate`.
    fn recreate(&self) -> Plan {
        let writes: Vec<SetWrite> = self.sets.old.iter().filter_map(|old| self.resize(old, 0)).collect();
        if !writes.is_empty() || self.old_pods_run() {
            return self.rolled(writes);
        }
        let Some(new) = &self.sets.new else { return self.create() };
        match self.resize(new, self.bounds.replicas) {
            Some(write) => self.rolled(vec![write]),
            None => self.finish(),
        }
    }

    fn old_pods_run(&self) -> bool {
        let reported = self.sets.old.iter().any(|set| set.status.replicas > 0);
        let new = self.sets.new.as_ref().and_then(|set| set.metadata.uid.as_ref());
        let old_pod = |pod: &Arc<Pod>| !pod.is_finished() && pod.controller().map(|owner| &owner.uid) != new;
        reported || self.pods.iter().any(old_pod)
    }

    /// No set needs scaling: old sets beyond the history limit are deleted, and the status is updated.
    fn finish(&self) -> Plan {
        let complete = is_complete(self.deployment, &self.deployment.status);
        self.rolled(if complete { self.surplus() } else { Vec::new() })
    }

    /// Empty old sets beyond the history limit, those with the lowest revision first.
    fn surplus(&self) -> Vec<SetWrite> {
        let Some(limit) = self.deployment.spec.revision_history_limit.filter(|limit| *limit != i32::MAX) else {
            return Vec::new();
        };
        let mut old: Vec<&Arc<ReplicaSet>> =
            self.sets.old.iter().filter(|set| !set.metadata.is_terminating()).collect();
        old.sort_by_key(|set| revision_of(set));
        let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        let empty = |set: &&&Arc<ReplicaSet>| {
            let observed = set.metadata.generation.unwrap_or(0) <= set.status.observed_generation;
            size(set) == 0 && set.status.replicas == 0 && observed
        };
        old.iter().take(surplus).filter(empty).map(|set| SetWrite::Delete(set.key())).collect()
    }

    fn rest(&self) -> Plan {
        let status = counted(self.deployment, &self.sets, self.bounds, self.now);
        self.with_status(Vec::new(), status)
    }

    fn rolled(&self, writes: Vec<SetWrite>) -> Plan {
        let status = rolling_out(self.deployment, &self.sets, self.bounds, self.now);
        let mut plan = self.with_status(writes, status);
        let complete = is_complete(self.deployment, &self.deployment.status);
        if plan.status.is_none() && !complete {
            // One second more, because times are written in whole seconds.
            let again = time_left(self.deployment, self.now).map(|left| left + SignedDuration::from_secs(1));
            plan.again = again.map(|again| again.max(SignedDuration::from_secs(1)));
        }
        plan
    }

    fn with_status(&self, sets: Vec<SetWrite>, status: coracle_api::apps_v1::DeploymentStatus) -> Plan {
        let changed = status != self.deployment.status;
        let status = changed.then(|| Box::new(Deployment { status, ..Deployment::clone(self.deployment) }));
        Plan { sets, status, again: None }
    }

    /// A write that resizes a set; `None` if it has that size.
    fn resize(&self, set: &Arc<ReplicaSet>, to: i32) -> Option<SetWrite> {
        if size(set) == to { None } else { self.write(set, to) }
    }

    /// A write that sets a set's size and its desired-replicas annotations; `None` if that changes nothing.
    fn write(&self, set: &Arc<ReplicaSet>, to: i32) -> Option<SetWrite> {
        let mut changed = ReplicaSet::clone(set);
        let noted = note_bounds(&mut changed, self.bounds);
        changed.spec.replicas = Some(to);
        (noted || size(set) != to).then(|| SetWrite::Update { from: size(set), set: Box::new(changed) })
    }
}

fn measure(set: &ReplicaSet) -> SetSize {
    SetSize {
        name: set.metadata.name.clone().unwrap_or_default(),
        created: set.metadata.creation_timestamp.clone().unwrap_or_default(),
        replicas: size(set),
        available: set.status.available_replicas,
        max_replicas: max_replicas(set),
    }
}
