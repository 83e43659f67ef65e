use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_api::resource_v1 as api;
use coracle_expression::{Attribute, Device, Expression, device_environment};
use parking_lot::Mutex;

use super::DeviceId;

/// The cached results of CEL device selectors, valid until devices change.
#[derive(Debug, Default)]
pub(super) struct Selectors {
    compiled: Mutex<BTreeMap<String, Arc<Result<Expression, String>>>>,
    said: Mutex<BTreeMap<String, Said>>,
}

/// By device: whether the expression selects it, or the error.
type Said = BTreeMap<DeviceId, Result<bool, String>>;

/// How many expressions are cached.
const MOST: usize = 1000;

impl Selectors {
    /// Clears the cache, because devices have changed.
    pub(super) fn forget(&mut self) {
        self.said.get_mut().clear();
    }

    /// Whether an expression selects a device.
    ///
    /// # Errors
    /// The compile error or the runtime error of the expression.
    pub(super) fn choose(&self, text: &str, id: &DeviceId, device: &api::Device) -> Result<bool, String> {
        if let Some(said) = self.said.lock().get(text).and_then(|said| said.get(id)) {
            return said.clone();
        }
        let said = self.ask(text, id, device);
        let mut all = self.said.lock();
        if all.len() > MOST {
            all.clear();
        }
        all.entry(text.to_owned()).or_default().insert(id.clone(), said.clone());
        said
    }

    fn ask(&self, text: &str, id: &DeviceId, device: &api::Device) -> Result<bool, String> {
        let compiled = self.compiled(text);
        let expression = compiled.as_ref().as_ref().map_err(|why| format!("CEL compile error: {why}"))?;
        let attributes = device.attributes.iter().filter_map(|(name, one)| Some((name.as_str(), attribute(one)?)));
        let capacity = device.capacity.iter().filter_map(|(name, one)| Some((name.as_str(), one.value?.to_string())));
        let device = Device::new(&id.driver, attributes, capacity);
        device.is_chosen_by(expression).map_err(|error| format!("CEL runtime error: {error}"))
    }

    fn compiled(&self, text: &str) -> Arc<Result<Expression, String>> {
        let mut compiled = self.compiled.lock();
        if let Some(known) = compiled.get(text) {
            return known.clone();
        }
        if compiled.len() > MOST {
            compiled.clear();
        }
        let new = Expression::compile_in(text, &device_environment()).map_err(|error| error.to_string());
        let new = Arc::new(new);
        compiled.insert(text.to_owned(), new.clone());
        new
    }
}

fn attribute(attribute: &api::DeviceAttribute) -> Option<Attribute<'_>> {
    let text = || attribute.string.as_deref().map(Attribute::Text);
    let version = || attribute.version.as_deref().map(Attribute::Version);
    attribute.int.map(Attribute::Int).or(attribute.bool.map(Attribute::Bool)).or_else(text).or_else(version)
}
