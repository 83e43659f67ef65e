use serde_json::{Map, Value};

use super::node::{Additional, Structural};
use super::path::{MOST_TEXT, path_below, push_below};

/// The fields of every object, independently of its schema.
const OF_THE_API: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Structural {
    /// Removes undeclared fields from a resource, and returns their paths: `spec.containers[0].foo`. The first paths up
    /// to 16 MiB of text are returned. In Kubernetes: `pruning.PruneWithOptions`.
    pub fn prune(&self, resource: &mut Map<String, Value>) -> Vec<String> {
        let mut pruning = Pruning { path: String::new(), unknown: Vec::new(), bytes: 0 };
        pruning.fields(resource, Some(self), true);
        pruning.unknown.sort();
        pruning.unknown
    }
}

struct Pruning {
    path: String,
    unknown: Vec<String>,
    bytes: usize,
}

impl Pruning {
    fn within(&mut self, step: &str, run: impl FnOnce(&mut Self)) {
        let dot = if self.path.is_empty() || step.starts_with('[') { "" } else { "." };
        let length = push_below(&mut self.path, dot, step, "");
        run(self);
        self.path.truncate(length);
    }

    fn value(&mut self, value: &mut Value, schema: Option<&Structural>) {
        match value {
            Value::Object(fields) => self.fields(fields, schema, schema.is_some_and(|schema| schema.embedded_resource)),
            Value::Array(items) => {
                let below = schema.and_then(|schema| schema.items.as_deref());
                let keeps = schema.is_some_and(|schema| schema.preserves_unknown);
                for (index, item) in items.iter_mut().enumerate() {
                    if !keeps || below.is_some() {
                        self.within(&format!("[{index}]"), |pruning| pruning.value(item, below));
                    }
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, schema: Option<&Structural>, is_resource: bool) {
        let keeps = schema.is_some_and(|schema| schema.preserves_unknown);
        let is_root = self.path.is_empty();
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            let is_of_the_api = OF_THE_API.contains(&name.as_str());
            if is_resource && is_of_the_api {
                continue;
            }
            let declared = schema.and_then(|schema| schema.properties.get(&name));
            let additional = schema.map(|schema| &schema.additional);
            let below = match (declared, additional) {
                (Some(declared), _) => Some(Some(declared)),
                (None, Some(Additional::Schema(schema))) => Some(Some(schema.as_ref())),
                (None, Some(Additional::Allowed(true))) => Some(None),
                (None, _) => None,
            };
            match below {
                Some(below) => {
                    if let Some(value) = fields.get_mut(&name) {
                        self.within(&name, |pruning| pruning.value(value, below));
                    }
                }
                None if keeps => {}
                None => {
                    if !(is_root && is_of_the_api) && self.bytes <= MOST_TEXT {
                        let unknown = path_below(&self.path, if is_root { "" } else { "." }, &name, "");
                        self.bytes += unknown.len();
                        self.unknown.push(unknown);
                    }
                    fields.remove(&name);
                }
            }
        }
    }
}
