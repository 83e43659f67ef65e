//! Stages that are objects of the API.

use std::sync::Arc;

use coracle_api::core_v1::ObjectReference;
use coracle_controller_runtime::{Action, EventRecorder, EventType, Pass, ReconcileError, Reconciler};
use coracle_informer::Lister;
use coracle_meta::{Object, ObjectKey};

use super::programme::Programme;
use super::stage::Stage;

/// Takes Stages into the programme; one that cannot be read is told so by an event, and what it was before stays out.
pub(crate) struct StageObjects {
    pub(crate) stages: Lister<Object>,
    pub(crate) programme: Arc<Programme>,
    pub(crate) events: EventRecorder,
}

impl Reconciler for StageObjects {
    async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
        let read = self.stages.get(key).map(|object| (Stage::of_object(&object), object));
        let stage = match read {
            None => None,
            Some((Ok(stage), _)) => Some(stage),
            Some((Err(refusal), object)) => {
                let reference = ObjectReference {
                    api_version: object.api_version().to_owned(),
                    kind: object.kind().to_owned(),
                    name: key.name.clone(),
                    uid: object.uid().to_owned(),
                    ..ObjectReference::default()
                };
                let events = self.events.in_pass(pass);
                events.event_on(reference, EventType::Warning, "StageRefused", refusal.to_string());
                None
            }
        };
        self.programme.set(&key.name, stage);
        Ok(Action::Done)
    }
}
