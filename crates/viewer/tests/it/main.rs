//! What is made of event logs: reports, lessons, comparisons, and the page behind a socket.

mod lessons;
mod partings;
mod reports;
#[cfg(feature = "serve")]
mod serve;
