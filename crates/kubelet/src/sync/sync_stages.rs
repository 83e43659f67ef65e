//! The stages of a sync of a pod, except for the last one.

use std::sync::Arc;

use coracle_api::core_v1::{ConfigMap, Secret};
use coracle_container_programs::{Sources, references};
use coracle_controller_runtime::{EventType, ReconcileError};

use crate::pod::container_runs::runs;
use crate::status::pod_events::PodEvent;
use crate::status::pod_status::pod_status;
use crate::status::status_manager;
use crate::sync::fetch::{fetch, fetch_trust_bundles};
use crate::sync::sync_pass::{Interrupted, SyncPass};

impl SyncPass<'_> {
    /// Requests the certificates of the pod. Fetches the ConfigMaps, Secrets and trust bundles that it refers to, as long
    /// as any of its containers may still be created. Then reads what the node knows about the pod.
    pub(crate) async fn resolve_sources(&mut self) -> Result<(), Interrupted> {
        let certificates = self.issue_certificates().await;
        self.interrupt_if_ended()?;
        if !self.pod.is_finished() && !self.node.machine.is_settled(self.key, self.uid()) {
            let (maps, secrets) = (self.pass.api::<ConfigMap>(), self.pass.api::<Secret>());
            let fetched = fetch(&maps, &secrets, &self.key.namespace, references(self.pod)).await;
            let objects = fetched.map_err(ReconcileError::from)?;
            let mut projected = fetch_trust_bundles(&self.pass.api(), self.pod).await;
            projected.extend(certificates);
            self.sources = Arc::new(Sources { objects, projected });
        }
        self.interrupt_if_ended()?;
        self.load();
        Ok(())
    }

    /// Admits or rejects a new pod before any of its volumes is mounted.
    pub(crate) fn admit(&mut self) {
        if self.runtime.is_none() && !self.pod.spec.volumes.is_empty() {
            self.context.waits_for_volumes = true;
            self.run_steps();
            self.report_events();
        }
    }

    /// Mounts the volumes of a pod, or unmounts those of a pod that has ended.
    pub(crate) async fn sync_volumes(&mut self) -> Result<(), Interrupted> {
        let goal = self.volume_goal();
        self.volumes = self.pods.volumes_of(self.node, self.pass, self.key).sync(goal, &self.sources).await?;
        self.interrupt_if_ended()?;
        self.context.waits_for_volumes = !self.has_ended() && !self.volumes.is_done;
        Ok(())
    }

    /// Advances the pod and its containers until they have to wait, and counts what they use from now on.
    pub(crate) fn advance(&mut self) {
        self.step = self.run_steps();
        self.measure();
    }

    /// Reports the events of what has changed.
    pub(crate) fn report_events(&mut self) {
        let events = self.node.events.in_pass(self.pass);
        for (object, event) in self.events.drain(..) {
            events.event_on(object, event.event_type, &event.reason, event.message);
        }
    }

    /// Unmounts the volumes of a pod that has ended.
    pub(crate) async fn release_volumes(&mut self) -> Result<(), Interrupted> {
        if self.has_ended() {
            let goal = self.volume_goal();
            self.volumes = self.pods.volumes_of(self.node, self.pass, self.key).sync(goal, &self.sources).await?;
        }
        Ok(())
    }

    /// Reports the status of the pod to the API.
    pub(crate) async fn report_status(&self) -> Result<(), Interrupted> {
        let (Some(runtime), Some(in_api)) = (&self.runtime, &self.bound.in_api) else { return Ok(()) };
        let now = self.pods.clock.now();
        let status = pod_status(self.pod, runtime, &self.context, &self.node.machine.address, now);
        if status_manager::report_status(self.node, self.pass, in_api, &status).await? {
            return Ok(());
        }
        let done = self.pass.done(|| "it is gone, or another pod of that name: wait for the cache")?;
        Err(Interrupted::Done(done))
    }

    /// Ends the sync if the node has stopped during a request.
    fn interrupt_if_ended(&self) -> Result<(), Interrupted> {
        if self.node.has_ended() {
            return Err(Interrupted::Done(self.pass.done(|| "the node has stopped meanwhile")?));
        }
        Ok(())
    }

    fn measure(&mut self) {
        let Some(runtime) = &self.runtime else { return };
        let (meters, now) = (&self.node.machine.meters, self.pods.clock.now());
        let given = self.pods.usage_overrides(self.node, self.pod);
        self.pods.enqueue_node(self.node, self.context.has_annotations() || !given.of_containers.is_empty());
        let runs = runs(self.pod, runtime, &self.context, now);
        for message in meters.observe(self.pod, runtime.seen, &runs, &given, now) {
            self.add_event(PodEvent {
                place: None,
                event_type: EventType::Warning,
                reason: "InvalidUsage".into(),
                message,
            });
        }
    }
}
