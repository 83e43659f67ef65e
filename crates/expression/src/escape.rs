//! Escapes field names that are not valid identifiers.

use crate::syntax::RESERVED;

/// The keywords of expressions.
const WORDS: [&str; 4] = ["true", "false", "null", "in"];

/// The identifier of a field in rules. In Kubernetes: `cel.Escape`.
pub fn escaped(name: &str) -> String {
    if WORDS.contains(&name) || RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__").replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
