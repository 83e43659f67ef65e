//! Stage and ResourceUsage objects of the API.

use std::sync::Arc;

use coracle_api::core_v1::ObjectReference;
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::{Object, ObjectKey};

use crate::stage::Stage;
use crate::stage_set::StageSet;
use crate::usages::PodUsage;

/// Reads Stage objects into the stage set. For an invalid one it records an event, and removes the earlier version.
pub(crate) struct StageObjects {
    pub(crate) stages: Lister<Object>,
    pub(crate) stage_set: Arc<StageSet>,
    pub(crate) events: EventRecorder,
}

impl Reconciler for StageObjects {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let read = self.stages.get(key).map(|object| (Stage::of_object(&object), object));
        let stage = match read {
            None => None,
            Some((Ok(stage), _)) => Some(stage),
            Some((Err(refusal), object)) => {
                self.events.in_pass(pass).event_on(
                    reference_to(&object),
                    EventType::Warning,
                    "StageRefused",
                    refusal.to_string(),
                );
                None
            }
        };
        pass.decided(|| format!("{} it", if stage.is_some() { "play" } else { "do not play" }));
        self.stage_set.set(&key.name, stage);
        Ok(Action::Done)
    }
}

/// Reads usage objects. For an invalid one it records an event, and the object has no effect.
pub(crate) struct UsageObjects {
    pub(crate) kind: &'static str,
    pub(crate) usages: Lister<Object>,
    pub(crate) stage_set: Arc<StageSet>,
    pub(crate) events: EventRecorder,
}

impl Reconciler for UsageObjects {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let usage = self.usages.get(key).and_then(|object| {
            let read = PodUsage::of_object(self.kind, &object);
            read.map_err(|refusal| {
                let (events, message) = (self.events.in_pass(pass), refusal.to_string());
                events.event_on(reference_to(&object), EventType::Warning, "UsageRefused", message);
            })
            .ok()
        });
        pass.decided(|| format!("{} it", if usage.is_some() { "count by" } else { "do not count by" }));
        self.stage_set.usages.set(self.kind, key, usage);
        Ok(Action::Done)
    }
}

fn reference_to(object: &Object) -> ObjectReference {
    ObjectReference {
        api_version: object.api_version().to_owned(),
        kind: object.kind().to_owned(),
        name: object.name().to_owned(),
        namespace: object.namespace().to_owned(),
        uid: object.uid().to_owned(),
        ..ObjectReference::default()
    }
}
