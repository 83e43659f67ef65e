//! A search for the fewest faults that break a controller.
//!
//! ```text
//! ControllerCheck (controller, CRDs, samples)
//!    |
//! five runs without a fault --Site::of--> requests that write, in each of these runs the same
//!    |                                       |
//!    |                                   candidates: faults at each site, likeliest first
//!    v                                       |
//! Trial: one run in virtual time <-----------/      --> Run --sim::checks--> Findings
//!                                                            \-- shrink: fewer faults, shorter --> Plan (a file)
//! ```
//!
//! Start at [`check`] and [`ControllerCheck`]; [`Report`] is what a search returns. What is checked is in
//! `coracle_sim::checks`, what can fail is in `coracle_sim::faults`.
//! Not here: programs in other languages, which need real time.

mod baseline;
mod candidates;
mod change;
mod connection;
mod controller_check;
mod error;
mod given;
mod plan;
mod plan_file;
mod report;
mod search;
mod shrink;
mod site;
mod trial;
mod work;

pub use connection::Connection;
pub use controller_check::{ControllerCheck, check};
pub use error::Error;
pub use plan::Plan;
pub use report::{Found, Report, Tried};
pub use site::Site;
