use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{Object, Status};
use parking_lot::Mutex;

use super::ConversionWebhook;
use crate::{Registry, Request};

/// What was converted for one request, and what is still to be.
#[derive(Debug)]
pub(crate) struct Conversions {
    webhook: Arc<ConversionWebhook>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By the object as text, and the `apiVersion` that it is wanted in.
    known: BTreeMap<(String, String), Object>,
    wanted: Vec<(Object, String)>,
}

impl Conversions {
    pub(crate) fn new(webhook: Arc<ConversionWebhook>) -> Self {
        Self { webhook, state: Mutex::default() }
    }

    /// The object in another version, if that is known; else it will be.
    pub(crate) fn convert(&self, object: &Object, api_version: &str) -> Result<Object, Status> {
        if object.api_version() == api_version || object.tree().is_empty() {
            return Ok(object.clone());
        }
        let mut state = self.state.lock();
        if let Some(converted) = state.known.get(&key(object, api_version)) {
            return Ok(converted.clone());
        }
        let is_noted = state.wanted.iter().any(|(noted, version)| noted == object && version == api_version);
        if !is_noted {
            state.wanted.push((object.clone(), api_version.to_owned()));
        }
        Err(Status::internal("an object was used before it was converted"))
    }

    /// Forgets what was converted: nobody will ask for it again.
    pub(crate) fn clear(&self) {
        *self.state.lock() = State::default();
    }

    /// Converts what was asked for in vain; says whether there was anything.
    pub(crate) async fn fill(&self, registry: &Registry, request: &Request) -> Result<bool, Status> {
        let mut wanted = std::mem::take(&mut self.state.lock().wanted);
        let asked_for_any = !wanted.is_empty();
        while let Some((_, version)) = wanted.first() {
            let version = version.clone();
            let (now, later): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(_, other)| *other == version);
            wanted = later;
            let objects: Vec<Object> = now.into_iter().map(|(object, _)| object).collect();
            let converted = self.webhook.convert(registry, request, &objects, &version).await?;
            let mut state = self.state.lock();
            for (object, converted) in objects.iter().zip(converted) {
                state.known.insert(key(object, &version), converted);
            }
        }
        Ok(asked_for_any)
    }
}

fn key(object: &Object, api_version: &str) -> (String, String) {
    (object.to_value().to_string(), api_version.to_owned())
}
