//! Calls out: what the server asks of programs that it does not contain, such as webhooks.
//!
//! ```text
//! who asks --Call--> Registry::call (log, deadline) --Outgoing--> Answer --words of client-go--> JSON | CallError
//! ```

mod answer;
mod call;
mod callee;

pub use answer::Answer;
pub use call::{Call, CallError, Outgoing};
pub use callee::{Callee, ClientConfig, ServiceAddress};
