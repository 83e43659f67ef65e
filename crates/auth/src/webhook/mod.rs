//! The token webhook and the authorization webhook.
//!
//! ```text
//! Credentials --TokenWebhook--> (Remembered) --TokenReview--+
//!                                                           +--ReviewWebhook (retries)--> Registry::call_for_itself
//! Attributes --AccessWebhook--> (Remembered) --SubjectAccessReview--+
//! ```

mod access;
mod remembered;
mod review;
mod token;

pub use access::AccessWebhook;
pub use remembered::Remembered;
pub use review::{ReviewVersion, ReviewWebhook, UnknownReviewVersion};
pub use token::TokenWebhook;
