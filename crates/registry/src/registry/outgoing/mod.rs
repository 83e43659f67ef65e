//! The API server's own calls of other programs, such as webhooks.
//!
//! ```text
//! caller --Call--> Registry::call (log, deadline) --Outgoing--> Answer --words of client-go--> JSON | CallError
//!        --Question--> Registry::ask (log, deadline) --Outgoing--> Answer
//! ```

mod answer;
mod call;
mod callee;
mod caller;
mod question;
mod review_kind;

pub use answer::OutgoingResponse;
pub use call::{CallError, Outgoing, OutgoingCall};
pub use callee::{Callee, ClientConfig, ServiceAddress};
pub use caller::Caller;
pub use question::{ExtensionRequest, Trust};
pub use review_kind::check_review_kind;
