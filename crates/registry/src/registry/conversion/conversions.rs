use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{Object, Status};
use parking_lot::Mutex;

use super::ConversionWebhook;
use crate::registry::questions::Conversion;
use crate::{Planned, Registry, Request};

/// The objects that a webhook has converted for one request.
#[derive(Debug)]
pub(crate) struct Conversions {
    webhook: Arc<ConversionWebhook>,
    /// By the object as text, and the `apiVersion` that it is wanted in.
    known: Mutex<BTreeMap<(String, String), Object>>,
}

impl Conversions {
    pub(crate) fn new(webhook: Arc<ConversionWebhook>) -> Self {
        Self { webhook, known: Mutex::default() }
    }

    /// The object in another version, if the webhook has converted it.
    ///
    /// # Errors
    /// The conversion to ask for first.
    pub(crate) fn convert(&self, object: &Object, api_version: &str) -> Planned<Object> {
        if object.api_version() == api_version || object.tree().is_empty() {
            return Ok(object.clone());
        }
        let known = self.known.lock().get(&key(object, api_version)).cloned();
        known.ok_or_else(|| Conversion { object: object.clone(), api_version: api_version.to_owned() }.into())
    }

    /// Forgets all objects, because nothing reads them again.
    pub(crate) fn clear(&self) {
        self.known.lock().clear();
    }

    /// Lets the webhook convert objects: one call for each version, which names each object once.
    ///
    /// # Errors
    /// The refusal of the webhook.
    pub(crate) async fn ask(
        &self,
        registry: &Registry,
        request: &Request,
        mut wanted: Vec<Conversion>,
    ) -> Result<(), Status> {
        while let Some(first) = wanted.first() {
            let version = first.api_version.clone();
            let (now, later): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|other| other.api_version == version);
            wanted = later;
            let (keys, objects) = distinct(now);
            let converted = self.webhook.convert(registry, request, &objects, &version).await?;
            self.known.lock().extend(keys.into_iter().zip(converted));
        }
        Ok(())
    }
}

/// The conversions in their order, each once.
fn distinct(wanted: Vec<Conversion>) -> (Vec<(String, String)>, Vec<Object>) {
    let mut seen = std::collections::BTreeSet::new();
    let keyed = wanted.into_iter().map(|wanted| (key(&wanted.object, &wanted.api_version), wanted.object));
    keyed.filter(|(key, _)| seen.insert(key.clone())).unzip()
}

fn key(object: &Object, api_version: &str) -> (String, String) {
    (object.to_value().to_string(), api_version.to_owned())
}
