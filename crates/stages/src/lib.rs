//! Stages: data that defines what happens to objects of any kind, and when. These are KWOK's `Stage`s, parsed strictly.
//!
//! ```text
//! YAML | object --YamlNode (lines)--> Stage { Selector, Delay, weight, Step… }     YamlError: line, path, message
//! object --Lifecycle::choose--> Stage --effects (templates)--> patch, apply, event, delete
//!
//! StageRunner --one StageController per kind--> reconcile --choose (pure)--> effects (pure) --> API
//! Stage objects --StageObjects--> StageSet <-- --stages
//! ```
//! Start at [`Lifecycle`] and [`StageRunner`]. `built_in` holds the stages that KWOK ships. `expressions`
//! evaluates jq, CEL and templates, and `controller` applies stages to the API.
//! In KWOK: `pkg/apis/v1alpha1`, `pkg/utils/lifecycle`, `pkg/utils/expression`, `pkg/utils/gotpl`.
//!
//! Not here: what a kubelet does for pods without Stages (`kubelet`), which sees a [`StageSet`] as
//! [`StagedKinds`](coracle_kubelet_api::StagedKinds).

mod block_yaml;
mod built_in;
mod controller;
mod effect;
mod expressions;
mod finalizers;
mod lifecycle;
mod source;
mod stage;
mod stage_set;
#[cfg(test)]
mod tests;
mod usages;
mod yaml;

pub use controller::stage_runner::StageRunner;
pub use lifecycle::Lifecycle;
pub use source::read_stages;
pub use stage::Stage;
pub use stage_set::StageSet;
