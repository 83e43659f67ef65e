//! How Go writes and reads what crosses the wire as text: clients compare it byte by byte.

mod duration;
mod human_duration;
mod json;
mod quote;

pub use duration::{format_duration, parse_duration};
pub use human_duration::human_duration;
pub use json::go_json;
pub use quote::go_quote;
