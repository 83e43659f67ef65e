//! The values of expressions.
//!
//! ```text
//! JSON + Schema --from_json, nothing copied--> Value --to_json--> JSON
//!                                                \--equal, compare, add, ...
//! ```
//! Start at [`Value`]. In Kubernetes: `cel-go/common/types` and `apiserver/pkg/cel/common.UnstructuredToVal`.

mod arithmetic;
mod compare;
mod convert;
mod format;
mod json;
mod list;
mod map;
mod message;
mod opaque;
mod text;
mod time;
mod values;

pub(crate) use format::Format;
pub(crate) use json::{from_json, references, to_json};
pub(crate) use opaque::{Cidr, Ip, Opaque, Semver, Url};
pub(crate) use text::Text;
pub(crate) use time::Time;
pub(crate) use values::{Key, ListValue, Map, Message, Value};
