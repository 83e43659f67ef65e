//! Names of fields that are no names in expressions.

use crate::syntax::RESERVED;

/// The words that have a meaning in expressions.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// The identifier under which rules find a field. In Kubernetes: `cel.Escape`.
pub fn escaped(name: &str) -> String {
    if WORDS.contains(&name) || RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
