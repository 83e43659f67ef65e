//! Attaches volumes to nodes and detaches them, as VolumeAttachments request.
//!
//! In Kubernetes: external-attacher.

use std::sync::Arc;

use coracle_ambient::Clock;
use coracle_api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use coracle_api::storage_v1::{CSINode, VolumeAttachment, VolumeError};
use coracle_controller_runtime::{
    Action, Controller, EventRecorder, EventType, Pass, Process, ReconcileError, Reconciler, key_of,
};
use coracle_informer::{Lister, Notification};
use coracle_meta::{ObjectKey, Resource, format_time};
use coracle_workqueue::RateLimiter;
use futures_util::future::BoxFuture;

use crate::DRIVER;
use crate::attachment::{AttachmentRequest, FINALIZER, asked, index_by_volume, obstacle, of_volume, volume_of};
use crate::behaviour::{Behaviour, CsiCall, CsiOutcome, failure};
use crate::calls::Calls;
use crate::provisioner::RETRY;
use crate::topology::on_node;

/// The annotation with the driver's name for the node of an attachment.
const NODE_ID: &str = "csi.alpha.kubernetes.io/node-id";

pub(super) fn start(process: &Process) -> BoxFuture<'static, ()> {
    let informers = &process.informers;
    let attachments = informers.informer::<VolumeAttachment>();
    let (volumes, claims) = (informers.informer::<PersistentVolume>(), informers.informer::<PersistentVolumeClaim>());
    let nodes = informers.informer::<CSINode>();
    index_by_volume(&attachments);
    let reconciler = Attacher {
        attachments: attachments.lister(),
        volumes: volumes.lister(),
        claims: claims.lister(),
        nodes: nodes.lister(),
        events: EventRecorder::new(process, &format!("external-attacher {DRIVER}")),
        attaching: Calls::default(),
        detaching: Calls::default(),
        clock: process.ambient.clock.clone(),
    };
    let queue = process.queue("attacher", RateLimiter::exponential(RETRY.0, RETRY.1));
    let [by_volume, by_claim] = [(); 2].map(|()| attachments.lister());
    let let_go = LetGo { volumes: volumes.lister(), attachments: attachments.lister() };
    let attacher = Controller::on_queue(process, "attacher", queue, reconciler)
        .watches(&attachments, key_of)
        .watches(&volumes, move |change| keys(&of_volume(&by_volume, &change.object().key().name)))
        .watches(&claims, move |change| keys(&of_volume(&by_claim, &change.object().spec.volume_name)))
        .reads(&nodes)
        .workers(10);
    let volumes = Controller::new(process, "attacher-volumes", let_go)
        .watches(&volumes, is_let_go)
        .watches(&attachments, crate::attachment::volume_key);
    Box::pin(async move {
        tokio::join!(biased; attacher.run(), volumes.run());
    })
}

fn keys(attachments: &[Arc<VolumeAttachment>]) -> Vec<ObjectKey> {
    attachments.iter().map(|attachment| attachment.key()).collect()
}

struct Attacher {
    attachments: Lister<VolumeAttachment>,
    volumes: Lister<PersistentVolume>,
    claims: Lister<PersistentVolumeClaim>,
    nodes: Lister<CSINode>,
    events: EventRecorder,
    attaching: Calls,
    detaching: Calls,
    clock: Clock,
}

impl Reconciler for Attacher {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let attachment = self.attachments.get(key);
        match attachment.as_deref().map_or(AttachmentRequest::Nothing, asked) {
            AttachmentRequest::Attach => {
                self.detaching.end(key);
                self.attach(pass, key, &attachment.unwrap_or_default()).await
            }
            AttachmentRequest::Detach => {
                self.attaching.end(key);
                self.detach(pass, key, &attachment.unwrap_or_default()).await
            }
            AttachmentRequest::Nothing => {
                self.attaching.end(key);
                self.detaching.end(key);
                pass.done(|| "it is as it is asked to be: nothing to do")
            }
        }
    }
}

impl Attacher {
    async fn attach(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        attachment: &VolumeAttachment,
    ) -> Result<Action, ReconcileError> {
        let node = self.nodes.get(&ObjectKey::cluster(attachment.spec.node_name.as_str()));
        let Some(driver) = node.as_deref().and_then(on_node) else {
            let why = format!("node {:?} has no NodeID annotation", attachment.spec.node_name);
            return self.failed(pass, attachment, CsiCall::Attach, why).await;
        };
        let Some(volume) = volume_of(attachment).and_then(|name| self.volumes.get(&ObjectKey::cluster(name))) else {
            let name = volume_of(attachment).unwrap_or_default();
            return self
                .failed(pass, attachment, CsiCall::Attach, format!("persistentvolume {name:?} not found"))
                .await;
        };
        if volume.metadata.is_terminating() {
            let why = format!("PersistentVolume {:?} is marked for deletion", volume.key().name);
            return self.failed(pass, attachment, CsiCall::Attach, why).await;
        }
        let held = |finalizers: &mut Vec<String>| {
            if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                finalizers.push(FINALIZER.to_owned());
            }
        };
        pass.update(volume.as_ref(), |volume| held(&mut volume.metadata.finalizers)).await?;
        let named = pass.update(attachment, |attachment| {
            held(&mut attachment.metadata.finalizers);
            attachment.metadata.annotations.insert(NODE_ID.to_owned(), driver.node_id.clone());
        });
        let Some(attachment) = named.await?.filter(|attachment| asked(attachment) == AttachmentRequest::Attach) else {
            return Ok(Action::Done);
        };
        let behaviour = match self.behaviour(CsiCall::Attach, &volume) {
            Ok(behaviour) => behaviour,
            Err(why) => return Ok(self.unreadable(pass, &volume, why)),
        };
        let call = self.attaching.progress(key, behaviour.takes);
        if let Some(action) = self.attaching.wait(pass, key, behaviour.outcome, call) {
            return Ok(action);
        }
        let modes = &volume.spec.access_modes;
        let is_shared = modes.iter().any(|mode| mode == "ReadWriteMany" || mode == "ReadOnlyMany");
        let limit = driver.allocatable.as_ref().and_then(|resources| resources.count);
        let obstacle = match behaviour.outcome {
            CsiOutcome::Fails => Some(failure(CsiCall::Attach)),
            _ => obstacle(&attachment, is_shared, &self.attachments.list(), limit),
        };
        if let Some(why) = obstacle {
            return self.failed(pass, &attachment, CsiCall::Attach, why).await;
        }
        pass.decided(|| format!("attach it to {}", attachment.spec.node_name));
        pass.update_status(&attachment, |attachment| {
            attachment.status.attached = true;
            attachment.status.attach_error = None;
        })
        .await?;
        Ok(Action::Done)
    }

    async fn detach(
        &self,
        pass: &Pass,
        key: &ObjectKey,
        attachment: &VolumeAttachment,
    ) -> Result<Action, ReconcileError> {
        let volume = volume_of(attachment).and_then(|name| self.volumes.get(&ObjectKey::cluster(name)));
        let behaviour = match volume.as_deref().map(|volume| (self.behaviour(CsiCall::Detach, volume), volume)) {
            Some((Err(why), volume)) => return Ok(self.unreadable(pass, volume, why)),
            Some((Ok(behaviour), _)) => behaviour,
            None => Behaviour::default(),
        };
        let call = self.detaching.progress(key, behaviour.takes);
        if let Some(action) = self.detaching.wait(pass, key, behaviour.outcome, call) {
            return Ok(action);
        }
        if behaviour.outcome == CsiOutcome::Fails {
            return self.failed(pass, attachment, CsiCall::Detach, failure(CsiCall::Detach)).await;
        }
        pass.decided(|| format!("it is detached from {}", attachment.spec.node_name));
        pass.update(attachment, |attachment| attachment.metadata.finalizers.retain(|one| one != FINALIZER)).await?;
        Ok(Action::Done)
    }

    /// Writes the driver's error into the status of the attachment.
    async fn failed(
        &self,
        pass: &Pass,
        attachment: &VolumeAttachment,
        call: CsiCall,
        why: String,
    ) -> Result<Action, ReconcileError> {
        pass.decided(|| why.clone());
        let time = Some(format_time(self.clock.now()));
        pass.update_status(attachment, |attachment| {
            let status = &mut attachment.status;
            let place = if call == CsiCall::Attach { &mut status.attach_error } else { &mut status.detach_error };
            if place.as_ref().is_none_or(|error| error.message != why) {
                let error = VolumeError { message: why.clone(), time: time.clone(), ..VolumeError::default() };
                *place = Some(Box::new(error));
            }
        })
        .await?;
        Err(ReconcileError::Object(why))
    }

    fn behaviour(&self, call: CsiCall, volume: &PersistentVolume) -> Result<Behaviour, String> {
        let reference = volume.spec.claim_ref.as_deref();
        let key = reference.map(|claim| ObjectKey::new(claim.namespace.as_str(), claim.name.as_str()));
        let claim = key.and_then(|key| self.claims.get(&key)).filter(|claim| volume.is_for(claim));
        let sources: Vec<_> =
            claim.iter().map(|claim| &claim.metadata.annotations).chain([&volume.metadata.annotations]).collect();
        Behaviour::of(call, &sources).map_err(|why| why.to_string())
    }

    fn unreadable(&self, pass: &Pass, volume: &PersistentVolume, why: String) -> Action {
        pass.decided(|| why.as_str());
        self.events.in_pass(pass).event(volume, EventType::Warning, "InvalidBehaviour", why);
        Action::Done
    }
}

/// Removes the attacher's finalizer from volumes that are being deleted and that are attached to no node.
struct LetGo {
    volumes: Lister<PersistentVolume>,
    attachments: Lister<VolumeAttachment>,
}

fn is_let_go(change: &Notification<PersistentVolume>) -> Vec<ObjectKey> {
    let volume = change.object();
    volume.metadata.is_terminating().then(|| volume.key()).into_iter().collect()
}

impl Reconciler for LetGo {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let Some(volume) = self.volumes.get(key).filter(|volume| volume.metadata.is_terminating()) else {
            return pass.done(|| "it is to stay, or not there: nothing to do");
        };
        if !of_volume(&self.attachments, &key.name).is_empty() {
            return pass.done(|| "it is to go and a node has it: wait until none has");
        }
        pass.decided(|| "it is to go and no node has it: let it go");
        pass.update(volume.as_ref(), |volume| volume.metadata.finalizers.retain(|one| one != FINALIZER)).await?;
        Ok(Action::Done)
    }
}
