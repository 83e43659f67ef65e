//! A search for the fewest faults that break a controller.
//!
//! ```text
//! ControllerCheck (controller, CRDs, samples, workload, properties)
//!    |
//! five runs without a fault --FaultSite::of--> requests that write, in each of these runs the same
//!    |                                       |
//!    |                                   candidates: faults at each site, likeliest first
//!    v                                       |
//! Trial: one run in virtual time <-----------/      --> Run --sim::checks--> Findings
//!                                                            \-- shrink: fewer faults, shorter --> Plan (a file)
//! ```
//!
//! Start at [`check`] and [`ControllerCheck`]; [`CheckReport`] is what a search returns. What is checked is in
//! `coracle_sim::checks`, what can fail is in `coracle_sim::faults`.
//! Not here: the socket and the process of a program in another language (`cli`).

mod acts;
mod baseline;
mod candidates;
mod change;
mod check_report;
mod connection;
mod controller_check;
mod differing_write;
mod error;
mod fault_site;
mod fault_table;
mod given;
mod last_acts;
mod leases;
mod limits;
mod observed_wire;
mod pace;
mod parallel;
mod plan;
mod plan_document;
mod plan_file;
mod plan_origin;
mod plan_queue;
mod plan_writer;
mod properties;
mod rbac;
mod reaction;
mod replay;
mod report_json;
mod report_junit;
mod report_sarif;
mod rest;
mod running_program;
mod scenario;
mod search;
mod search_progress;
mod search_stop;
mod shrink;
mod subject;
mod trace;
mod trial;
mod trial_work;
mod user_work;
mod webhook_hint;
mod workload;
mod workload_user;

pub use check_report::{CheckReport, Found, Tried};
pub use connection::Connection;
pub use controller_check::{ControllerCheck, check, check_program};
pub use differing_write::DifferingWrite;
pub use error::Error;
pub use fault_site::FaultSite;
pub use fault_table::FaultTable;
pub use plan::Plan;
pub use plan_document::plan_schema;
pub use plan_file::PlanFile;
pub use rbac::{RbacReport, Roles};
pub use replay::Replayed;
pub use scenario::{Accepted, ScenarioCheck, ScenarioReport};
pub use search_progress::SearchProgress;
pub use search_stop::SearchStop;
pub use subject::{ProgramHost, ProgramProcess, ServedProgram};
pub use workload_user::WorkloadUser;
