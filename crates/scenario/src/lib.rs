//! Scenario files: what happens in a cluster, what has to hold meanwhile, and the report about it.
//!
//! ```text
//! FILE --read (errors with file, line, column)--> Scenario --execute--> Report --> terminal | file (`viewer`)
//!                                                     \-- always, never: checked at every revision
//! cluster --RunningFaults--> faults that are added and removed while it runs
//! Scenario --open--> its cluster before the first step, for callers that take steps and let time pass themselves
//! ```
//! Start at [`Scenario`], [`parse::read`] and [`execute`].
//! Not here: the cluster (`cluster`), pictures and sentences (`viewer`), the objects at each revision and the
//! evaluation of checks (`sim`).

mod broken_controller;
mod change;
mod claims;
mod component_words;
mod counting_controller;
mod disturbance;
mod end_state;
mod execute;
mod fault_list;
mod fault_words;
mod faults;
mod faulty_server;
/// The format of scenario files.
pub mod file;
mod fork;
mod json_schema;
mod log;
mod maintenance;
mod manifests;
mod misfit;
mod mode;
mod node_faults;
mod object_file;
mod objects;
mod open;
/// Reading and checking scenario files.
pub mod parse;
mod path;
mod patience;
mod placed;
mod plan_faults;
mod question;
mod report;
mod rerun;
mod run;
mod running_faults;
mod schema_words;
mod served;
mod step_file;
mod step_memory;
mod taint;
mod typed;
mod vacuous;
mod vocabulary;
mod wait;
mod word;
mod word_lists;
mod workload;
mod written_fault;

pub use change::{Change, ChangeOutcome};
pub use claims::ClaimVerdict;
pub use disturbance::{Disturbance, NotADisturbance};
pub use end_state::{Beside, EndState};
pub use execute::{Options, Wiring, execute, execute_until};
pub use fault_list::{FaultContext, FaultList, PluralsOfKinds, UncheckedFaults, parse_faults, read_faults};
pub use faulty_server::FaultyServer;
pub use file::Scenario;
pub use json_schema::{file_schema, scenario_schema};
pub use maintenance::drain;
pub use misfit::Misfit;
pub use mode::{Mode, NotAMode};
pub use object_file::parse_objects;
pub use open::{OpenScenario, StartState, open};
pub use parse::{Problem, Vocabulary};
pub use path::Position;
pub use question::{expected_and_found, question_of};
pub use report::{Check, Failure, Outcome, Report};
pub use rerun::{NotChanged, Rerun, rerun};
pub use running_faults::{FaultStatus, RunningFaults};
pub use schema_words::schema_of_words;
pub use step_file::{parse_change, read_change};
pub use step_memory::StepMemory;
pub use taint::new_taint;
pub use vocabulary::BuiltIn;
pub use workload::{RunningWorkload, Workload};
