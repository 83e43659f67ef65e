use serde_json::Value as Json;

/// Functions that the caller of the renderer provides.
pub trait Host {
    /// The result of the function with this name; an error aborts the rendering. A missing value is null.
    fn call(&self, name: &str, arguments: &[Json]) -> Result<Json, String>;
}

/// A host without functions.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Host for Alone {
    fn call(&self, name: &str, _: &[Json]) -> Result<Json, String> {
        Err(format!("function {name:?} not defined"))
    }
}
