//! What a Kubernetes release decides, as data: a base, and what each later release adds, changes and removes.
//!
//! ```text
//! data/1.35/*.txt (base) + data/1.36/*.txt (changes) + ... --> Release --enabled("Gate")--> all components
//!                                                                     --list("controllers")-->
//!                                                                     --types(), resources()--> schema::Table
//! ```
//! Start at [`Release`]. Code asks for a capability by the name of its feature gate, or by the name of a changed
//! behaviour, and never for a version number. `cargo xtask release` writes the data from the published modules of
//! Kubernetes. How a release is added: `docs/adding-a-release.md`.
//!
//! Not here: the code that a gate turns on, and the table of kinds (`coracle_schema::Table::of`).

mod data;
mod error;
mod gates;
mod lists;
mod release;
mod resources_text;
mod stage;
mod state;
mod types_text;

pub use error::{GateError, UnknownRelease};
pub use gates::Gate;
pub use release::Release;
pub use stage::GateStage;
pub use types_text::TypeText;
