//! Conversion of custom objects by a webhook.
//!
//! ```text
//! Registry::planned: pure code asks a Conversions for an object in another version
//!     known --> the code continues     unknown --> the code ends with questions; ConversionWebhook converts all these
//!                                                  objects in one call, and the code runs again
//! ```
//! In Kubernetes: `apiextensions-apiserver/pkg/apiserver/conversion`, where each conversion is a separate call.

mod conversions;
mod metadata;
mod webhook;

pub(crate) use conversions::Conversions;
pub use webhook::ConversionWebhook;
