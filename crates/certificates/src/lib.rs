//! The names in X.509 certificates and certificate requests, as Go reads them.
//!
//! ```text
//! subject --common_name--> user          subject.iter_organization() --attribute_text--> groups
//! ```
//! Start at [`common_name`]. Not here: who a certificate authenticates (`auth`), what a request may ask for
//! (`admission`), TLS.

mod subject;

pub use subject::{attribute_text, common_name};
