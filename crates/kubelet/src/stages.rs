//! Stages: data that defines what happens to objects of any kind, and when. These are KWOK's `Stage`s, parsed strictly.
//!
//! ```text
//! YAML | object --Tree (lines)--> Stage { Selector, Delay, weight, Step… }      Refusal: line, path, why
//! object --Lifecycle::choose--> Stage --effects (templates)--> patch, apply, event, delete
//!
//! StageRunner --one StageController per kind--> reconcile --choose (pure)--> effects (pure) --> API
//! Stage objects --StageObjects--> StageSet <-- --stages
//! ```
//! Start at [`Lifecycle`] and [`StageRunner`]. `built_in` holds the stages that KWOK ships.
//! In KWOK: `pkg/apis/v1alpha1`, `pkg/utils/lifecycle`, `pkg/utils/expression`, `pkg/utils/gotpl`.

mod built_in;
mod delay;
mod effect;
mod finalizers;
mod functions;
mod lifecycle;
mod object_cache;
mod objects;
mod pools;
mod query;
mod read;
mod refusal;
mod rest_mapper;
mod selector;
mod source;
mod stage;
mod stage_controller;
mod stage_runner;
mod stage_set;
#[cfg(test)]
mod tests;
mod tree;
mod usages;
mod value_from;
mod yaml;

pub use lifecycle::Lifecycle;
pub use refusal::{FileRefusal, Refusal};
pub use source::read_stages;
pub use stage::Stage;
pub use stage_runner::StageRunner;
pub use stage_set::StageSet;
