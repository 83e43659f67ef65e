//! Objects of the Kubernetes API and their metadata, independent of verbs.
//!
//! ```text
//! bytes --serde_json--> Object { private tree } --typed accessors--> name, labels, owners, resourceVersion
//!                          \--Resource (generated types in `api`)--> spec, status
//! ```
//! Start at [`Object`]. [`Status`] is the one error that crosses the wire.
//! Not here: shapes and merging (`schema`), what verbs do (`registry`), I/O of any kind.

pub mod any_object;
mod api_object;
mod capabilities;
pub mod channels;
mod cidr;
pub mod cron;
mod field_error;
mod field_path;
pub mod fields;
mod go;
mod int_or_string;
pub mod json;
mod json_key;
mod key;
mod kind;
pub mod lean;
pub mod names;
mod object;
mod object_meta;
pub mod percent;
mod quantity;
mod raw_json;
mod resource;
mod resource_path;
mod resource_version;
mod selector;
mod status;
mod time;
mod verbatim;
mod watch;

pub use any_object::{AnyObject, ObjectType};
pub use api_object::{ApiObject, PartialObject};
pub use capabilities::{RunsOnNode, Scalable};
pub use cidr::{Cidr, NotACidr};
pub use field_error::{FieldError, FieldErrorKind};
pub use field_path::FieldPath;
pub use go::{format_duration, go_json, go_quote, human_duration, parse_duration};
pub use int_or_string::{IntOrString, Rounding};
pub use json_key::JsonKey;
pub use key::ObjectKey;
pub use kind::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource};
pub use object::{NotAnObject, Object};
pub use object_meta::{ManagedFieldsEntry, ObjectMeta, OwnerReference};
pub use quantity::{Quantity, QuantityError};
pub use raw_json::RawJson;
pub use resource::{Resource, Scope};
pub use resource_path::ResourcePath;
pub use resource_version::parse_resource_version;
pub use selector::{FieldRequirement, FieldSelector, LabelOperator, LabelRequirement, LabelSelector, SelectorError};
pub use status::{Status, StatusCause, StatusDetails, reason};
pub use time::{format_micro_time, format_time, parse_time};
pub use verbatim::Verbatim;
pub use watch::{INITIAL_EVENTS_END, WatchEvent, WatchEventType};

/// The part of a JSON object that a type does not know, kept so that a PUT loses nothing.
pub type Unknown = Option<Box<serde_json::Map<String, serde_json::Value>>>;
