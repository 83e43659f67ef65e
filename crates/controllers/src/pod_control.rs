//! Creates and deletes the pods of an owner, and records the events.

use std::sync::Arc;

use coracle_api::core_v1::Pod;
use coracle_client::{Api, DeleteParams, Error};
use coracle_controller_runtime::{EventRecorder, EventType, Pass, slow_start};
use coracle_meta::Resource;
use futures_util::future::join_all;

/// Creates and deletes the pods of one owner in one pass.
///
/// In Kubernetes: `controller.RealPodControl` with `slowStartBatch`.
pub(crate) struct PodControl<'a, O> {
    owner: &'a O,
    events: EventRecorder,
    pods: Api<Pod>,
}

impl<'a, O: Resource> PodControl<'a, O> {
    pub(crate) fn new(pass: &Pass, events: &EventRecorder, owner: &'a O) -> Self {
        Self { owner, events: events.in_pass(pass), pods: pass.api() }
    }

    /// Creates this many pods in growing batches (slow start); returns how many were created, and the first error.
    pub(crate) async fn create_many<'p>(&self, count: usize, pod: impl Fn(usize) -> &'p Pod) -> (usize, Option<Error>) {
        slow_start(count, |index| self.create(pod(index))).await
    }

    /// Creates a pod. In a terminating namespace creation always fails, so that is not an error and is not retried.
    pub(crate) async fn create(&self, pod: &Pod) -> Result<(), Error> {
        match self.pods.create(pod).await {
            Ok(created) => {
                self.say(EventType::Normal, "SuccessfulCreate", format!("Created pod: {}", created.name()));
                Ok(())
            }
            Err(error) if error.is_namespace_terminating() => Ok(()),
            Err(error) => {
                self.say(EventType::Warning, "FailedCreate", format!("Error creating: {error}"));
                Err(error)
            }
        }
    }

    /// Deletes pods in parallel; returns the first error.
    pub(crate) async fn delete_many(&self, pods: &[Arc<Pod>]) -> Option<Error> {
        join_all(pods.iter().map(|pod| self.delete(pod))).await.into_iter().find_map(Result::err)
    }

    /// Deletes a pod; a missing pod is not an error.
    pub(crate) async fn delete(&self, pod: &Pod) -> Result<(), Error> {
        match self.pods.delete(&pod.key(), &DeleteParams::default()).await {
            Ok(_) => {
                self.say(EventType::Normal, "SuccessfulDelete", format!("Deleted pod: {}", pod.name()));
                Ok(())
            }
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => {
                self.say(EventType::Warning, "FailedDelete", format!("Error deleting: {error}"));
                Err(error)
            }
        }
    }

    fn say(&self, event_type: EventType, reason: &str, message: String) {
        self.events.event(self.owner, event_type, reason, message);
    }
}
