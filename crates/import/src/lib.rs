//! Creates the objects of another cluster, as `kubectl get -o yaml` prints them, again in this one.
//!
//! ```text
//! FILE --documents--> Document --kinds, plan: checks everything, sends nothing--> Item --make--> ImportReport
//! ```
//! A controlled object is created before its controller and without a reference to it, so that the controller finds and
//! adopts it instead of creating another. The reference is added afterwards, with the uid that the owner has here.
//! Start at [`import`]. Not here: the command `coracle import` (`cli`).

mod documents;
mod kinds;
mod make;
mod order;
mod plan;
mod prepare;
mod report;

pub use documents::{Document, read_documents};
pub use make::{ImportOptions, NotImported, import};
pub use report::{ImportOutcome, ImportReport, Imported};
