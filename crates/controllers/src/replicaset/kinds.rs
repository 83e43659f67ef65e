//! The two kinds that one controller serves.

use coracle_api::apps_v1::{ReplicaSet, ReplicaSetStatus};
use coracle_api::core_v1::{
    PodTemplateSpec, ReplicationController, ReplicationControllerCondition, ReplicationControllerStatus,
};
use coracle_api::meta_v1;
use coracle_meta::{LabelSelector, Resource};

use super::decide::SetStatus;

/// A set of identical pods.
pub(super) trait ReplicaOwner: Resource + PartialEq {
    /// The component in the events of this kind.
    const COMPONENT: &'static str;

    /// The desired number of pods.
    fn replicas(&self) -> i32;

    /// How long a pod must be ready before it counts as available.
    fn min_ready_seconds(&self) -> i32;

    /// Which pods may belong to the set; matches nothing if the selector is invalid.
    fn selector(&self) -> LabelSelector;

    /// The template of its pods.
    fn template(&self) -> Option<&PodTemplateSpec>;

    /// Its status.
    fn status(&self) -> SetStatus;

    /// Sets its status.
    fn set_status(&mut self, status: SetStatus);
}

impl ReplicaOwner for ReplicaSet {
    const COMPONENT: &'static str = "replicaset-controller";

    fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec.min_ready_seconds
    }

    fn selector(&self) -> LabelSelector {
        meta_v1::LabelSelector::of_object(self.spec.selector.as_deref())
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        Some(&self.spec.template)
    }

    fn status(&self) -> SetStatus {
        SetStatus {
            replicas: self.status.replicas,
            fully_labeled_replicas: self.status.fully_labeled_replicas,
            ready_replicas: self.status.ready_replicas,
            available_replicas: self.status.available_replicas,
            terminating_replicas: self.status.terminating_replicas,
            observed_generation: self.status.observed_generation,
            conditions: self.status.conditions.clone(),
        }
    }

    fn set_status(&mut self, status: SetStatus) {
        self.status = ReplicaSetStatus {
            replicas: status.replicas,
            fully_labeled_replicas: status.fully_labeled_replicas,
            ready_replicas: status.ready_replicas,
            available_replicas: status.available_replicas,
            terminating_replicas: status.terminating_replicas,
            observed_generation: status.observed_generation,
            conditions: status.conditions,
            unknown: self.status.unknown.take(),
        };
    }
}

impl ReplicaOwner for ReplicationController {
    const COMPONENT: &'static str = "replication-controller";

    fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    fn min_ready_seconds(&self) -> i32 {
        self.spec.min_ready_seconds
    }

    fn selector(&self) -> LabelSelector {
        if self.spec.selector.is_empty() {
            LabelSelector::nothing()
        } else {
            LabelSelector::of_labels(&self.spec.selector)
        }
    }

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.template.as_deref()
    }

    fn status(&self) -> SetStatus {
        let conditions =
            self.status.conditions.iter().cloned().map(|condition| coracle_api::apps_v1::ReplicaSetCondition {
                type_: condition.type_,
                status: condition.status,
                reason: condition.reason,
                message: condition.message,
                last_transition_time: condition.last_transition_time,
                unknown: condition.unknown,
            });
        SetStatus {
            replicas: self.status.replicas,
            fully_labeled_replicas: self.status.fully_labeled_replicas,
            ready_replicas: self.status.ready_replicas,
            available_replicas: self.status.available_replicas,
            // The older kind does not report how many are terminating.
            terminating_replicas: None,
            observed_generation: self.status.observed_generation,
            conditions: conditions.collect(),
        }
    }

    fn set_status(&mut self, status: SetStatus) {
        let conditions = status.conditions.into_iter().map(|condition| ReplicationControllerCondition {
            type_: condition.type_,
            status: condition.status,
            reason: condition.reason,
            message: condition.message,
            last_transition_time: condition.last_transition_time,
            unknown: condition.unknown,
        });
        self.status = ReplicationControllerStatus {
            replicas: status.replicas,
            fully_labeled_replicas: status.fully_labeled_replicas,
            ready_replicas: status.ready_replicas,
            available_replicas: status.available_replicas,
            observed_generation: status.observed_generation,
            conditions: conditions.collect(),
            unknown: self.status.unknown.take(),
        };
    }
}
