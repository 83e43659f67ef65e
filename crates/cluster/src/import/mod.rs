//! Objects of another cluster, as `kubectl get -o yaml` prints them, made anew in this one.
//!
//! ```text
//! FILE --documents--> Document --kinds, plan: everything is checked, nothing sent--> Plan --make--> Report
//! ```
//! What is controlled is made before its controller, without it, so that the controller finds and adopts it instead of
//! making another; it is linked afterwards, by the uids that owners have here.

mod documents;
mod kinds;
mod make;
mod order;
mod plan;
mod prepare;
mod report;

pub use documents::{Document, read_documents};
pub use make::{ImportOptions, NotImported, import};
pub use report::{Fate, ImportReport, Imported};
