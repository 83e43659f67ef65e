//! The functions of expressions, by library.
//!
//! In Kubernetes: `cel-go/common/stdlib`, `cel-go/ext` and `apiserver/pkg/cel/library`, in the selection of
//! `apiserver/pkg/cel/environment`.

mod authorization;
mod collections;
mod formats;
mod formatting;
mod function;
mod lists;
mod network;
mod optionals;
mod patterns;
mod quantities;
mod standard;
mod strings;
mod urls;
mod versions;

pub(crate) use collections::map_insert;
pub(crate) use function::Function;
pub(crate) use patterns::{Pattern, PatternError, Patterns, compile_pattern};

/// The function with a name.
pub(crate) fn find(name: &str) -> Option<Function> {
    standard::find(name)
        .or_else(|| strings::find(name))
        .or_else(|| lists::find(name))
        .or_else(|| collections::find(name))
        .or_else(|| optionals::find(name))
        .or_else(|| quantities::find(name))
        .or_else(|| versions::find(name))
        .or_else(|| urls::find(name))
        .or_else(|| network::find(name))
        .or_else(|| formats::find(name))
        .or_else(|| authorization::find(name))
}
