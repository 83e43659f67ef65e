//! Stages: what happens to objects of any kind, and when, said by data. KWOK's `Stage`s, read strictly and played.
//!
//! ```text
//! YAML | object --Tree (lines)--> Stage { Selector, Delay, weight, Step… }      Refusal: line, path, why
//! object --Lifecycle::choose--> Stage --effects (templates)--> patch, apply, event, delete
//!
//! Player --one Show a kind: informer, queue, timers--> Show::reconcile --choose (pure)--> effects (pure) --> API
//! Stage objects --StageObjects--> Programme <-- --stages
//! ```
//! Start at [`Lifecycle`] and [`Player`]. `shipped` holds the stages that KWOK ships.
//! In KWOK: `pkg/apis/v1alpha1`, `pkg/utils/lifecycle`, `pkg/utils/expression`, `pkg/utils/gotpl`.

mod delay;
mod effect;
mod finalizers;
mod functions;
mod lifecycle;
mod objects;
mod player;
mod pools;
mod programme;
mod query;
mod read;
mod refusal;
mod repertoire;
mod selector;
mod shipped;
mod show;
mod shown;
mod source;
mod stage;
#[cfg(test)]
mod tests;
mod tree;
mod usages;
mod value_from;
mod yaml;

pub use lifecycle::Lifecycle;
pub use player::Player;
pub use programme::Programme;
pub use refusal::{FileRefusal, Refusal};
pub use source::read_stages;
pub use stage::Stage;
