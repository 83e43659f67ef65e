//! YAML as Kubernetes' tools read and write it: a strict reader that reports lines and paths, and go-yaml's emitter.
//!
//! ```text
//! text --YamlNode::parse--> YamlNode (values, lines) --At--> a value, or the YamlError at its line and path
//!                                                    |--StrictReader--> all values, or all errors of the file
//!                                                    \--read--> a type that derives `Deserialize`, or a PlacedError
//! JSON value --to_yaml--> text as `kubectl -o yaml` prints it
//! ```
//! Start at [`YamlNode::parse`] and [`to_yaml`]. [`At`] stops at the first error, [`StrictReader`] collects them.
//! [`YamlNode::read`] reads the file formats of Coracle. Not here: objects of the API and their schemas
//! (`schema::decode`).

mod at;
mod emit;
mod error;
mod node;
mod placed_error;
mod reader;
mod scalar;
mod spanned;
mod typed;

pub use at::{At, UnreadFields};
pub use emit::{to_yaml, to_yaml_up_to};
pub use error::{InvalidFile, YamlError};
pub use node::{YamlField, YamlNode, YamlValue};
pub use placed_error::PlacedError;
pub use reader::{KnownFields, StrictReader};
/// A line and a column.
pub use serde_saphyr::Location;
pub use spanned::Spanned;
