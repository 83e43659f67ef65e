//! Expands the volumes of claims that request more than they have.
//!
//! In Kubernetes: external-resizer.

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::Lister;
use coracle_meta::{ObjectKey, Quantity, format_time};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use crate::DRIVER;
use crate::behaviour::{Behaviour, CsiCall, CsiOutcome, failure};
use crate::calls::Calls;
use crate::growth::{self, ExpansionStep, STORAGE, step};
use crate::provisioner::RETRY;

pub(super) fn start(process: &Process) -> BoxFuture<'static, ()> {
    let claims = process.informers.informer::<PersistentVolumeClaim>();
    let volumes = process.informers.informer::<PersistentVolume>();
    let reconciler = Resizer {
        claims: claims.lister(),
        volumes: volumes.lister(),
        events: EventRecorder::new(process, &format!("external-resizer {DRIVER}")),
        calls: Calls::default(),
        clock: process.ambient.clock.clone(),
    };
    let queue = process.queue("resizer", RateLimiter::exponential(RETRY.0, RETRY.1));
    let controller = Controller::on_queue(process, "resizer", queue, reconciler)
        .watches(&claims, key_of)
        .watches(&volumes, |change| {
            let reference = change.object().spec.claim_ref.as_deref();
            let key = reference.map(|claim| ObjectKey::new(claim.namespace.as_str(), claim.name.as_str()));
            key.into_iter().collect()
        })
        .workers(10);
    Box::pin(controller.run())
}

struct Resizer {
    claims: Lister<PersistentVolumeClaim>,
    volumes: Lister<PersistentVolume>,
    events: EventRecorder,
    calls: Calls,
    clock: Clock,
}

impl Reconciler for Resizer {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let claim = self.claims.get(key);
        let volume = claim.as_ref().and_then(|claim| {
            let name = Some(claim.spec.volume_name.as_str()).filter(|name| !name.is_empty())?;
            self.volumes.get(&ObjectKey::cluster(name))
        });
        let (Some(claim), Some(volume)) = (claim, volume) else {
            self.calls.end(key);
            return pass.done(|| "it has no volume, or is not there: nothing to do");
        };
        match step(&claim, &volume) {
            ExpansionStep::Nothing => {
                self.calls.end(key);
                pass.done(|| "its volume is as large as it asks for: nothing to do")
            }
            ExpansionStep::Grow(size) => self.grow(pass, key, claim, &volume, size).await,
            ExpansionStep::HandOn(size) => self.hand_on(pass, &claim, &volume, size).await,
        }
    }
}

impl Resizer {
    async fn grow(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        claim: Arc<PersistentVolumeClaim>,
        volume: &PersistentVolume,
        size: Quantity,
    ) -> Result<Action, ReconcileError> {
        let tell = |event_type, reason: &str, message: String| {
            self.events.in_pass(pass).event(claim.as_ref(), event_type, reason, message);
        };
        let annotations = [&claim.metadata.annotations, &volume.metadata.annotations];
        let behaviour = match Behaviour::of(CsiCall::Resize, &annotations) {
            Ok(behaviour) => behaviour,
            Err(why) => {
                tell(EventType::Warning, "InvalidBehaviour", why.to_string());
                return pass.done(|| why.to_string());
            }
        };
        let call = self.calls.progress(key, behaviour.takes);
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        let now = format_time(self.clock.now());
        if call.is_new {
            pass.decided(|| format!("make {name} as large as {size}"));
            if pass.update_status(claim.as_ref(), |claim| growth::begin(claim, size, &now)).await?.is_none() {
                return Ok(Action::Done);
            }
            tell(EventType::Normal, "Resizing", format!("External resizer is resizing volume {name}"));
        }
        if let Some(action) = self.calls.wait(pass, key, behaviour.outcome, call) {
            return Ok(action);
        }
        if behaviour.outcome == CsiOutcome::Fails {
            let why = format!("resize volume {name:?} by resizer {DRIVER:?} failed: {}", failure(CsiCall::Resize));
            pass.update_status(claim.as_ref(), |claim| growth::fail(claim, &failure(CsiCall::Resize), &now)).await?;
            tell(EventType::Warning, "VolumeResizeFailed", why.clone());
            return Err(ReconcileError::Object(why));
        }
        pass.decided(|| format!("the driver is done: {name} has {size}"));
        // The change of the volume enqueues the claim again.
        let grown = |volume: &mut PersistentVolume| {
            volume.spec.capacity.insert(STORAGE.to_owned(), size);
        };
        pass.update(volume, grown).await?;
        Ok(Action::Done)
    }

    async fn hand_on(
        &self,
        pass: &Pass,
        claim: &PersistentVolumeClaim,
        volume: &PersistentVolume,
        size: Quantity,
    ) -> Result<Action, ReconcileError> {
        let is_for_node = volume.spec.volume_mode.as_deref() != Some("Block");
        pass.decided(|| {
            if is_for_node {
                format!("its volume has {size}: the node is to make the file system as large")
            } else {
                format!("its volume has {size}: say so")
            }
        });
        let now = format_time(self.clock.now());
        let Some(noted) = pass.update(claim, |claim| growth::note_node(claim, is_for_node)).await? else {
            return Ok(Action::Done);
        };
        let written = pass.update_status(&noted, |claim| {
            if is_for_node { growth::hand_on(claim, &now) } else { growth::finish(claim, size) }
        });
        if written.await?.is_some() {
            let (reason, message) = if is_for_node {
                ("FileSystemResizeRequired", "Require file system resize of volume on node")
            } else {
                ("VolumeResizeSuccessful", "Resize volume succeeded")
            };
            self.events.in_pass(pass).event(claim, EventType::Normal, reason, message);
        }
        Ok(Action::Done)
    }
}
