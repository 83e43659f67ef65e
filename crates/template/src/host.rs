use serde_json::Value as Json;

/// The functions of whoever renders a template.
pub trait Host {
    /// What the function of this name gives; an error ends the rendering. A value that is missing is null.
    fn call(&self, name: &str, arguments: &[Json]) -> Result<Json, String>;
}

/// A host that has no functions.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Host for Alone {
    fn call(&self, name: &str, _: &[Json]) -> Result<Json, String> {
        Err(format!("function {name:?} not defined"))
    }
}
