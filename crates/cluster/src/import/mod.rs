//! Imports objects of another cluster from the output of `kubectl get -o yaml`.
//!
//! ```text
//! FILE --documents--> Document --kinds, plan: everything is checked, nothing sent--> Plan --make--> Report
//! ```
//! A controlled object is created before its controller and without a reference to it, so that the controller adopts
//! the object instead of creating another one. The reference is added afterwards, with the uid that the owner got here.

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
