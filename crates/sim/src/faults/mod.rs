//! Faults as data: each is a word with an argument, what it acts on, when and for how long.
//!
//! ```text
//! FAULTS: lose, slow, refuse, kill, ...     one file each: word, argument, document, contract, effect
//!    |
//!  Fault { kind, argument, request, target, lasts }
//!    |
//!  Injector: start --> rule with turns --> Wire --strike--> observer: begins, ends, records fault.on and fault.off
//!    |\--> ClusterOperation --> ClusterHandle: kill and start a component, a node, the store
//!    \--> verdicts: struck, or how near it came
//! ```
//!
//! Start at [`FAULTS`] for what exists, at [`Injector`] for how a fault takes place. `docs/faults.md` is made from
//! [`FAULTS`]; `docs/adding-a-fault.md` shows how to add one.
//! Not here: the format of files and the conditions on steps, times and objects (`scenario`); what an effect does
//! (`wire`).

mod argument_form;
mod bookmark_only;
mod close;
mod cut;
#[cfg(test)]
mod document;
mod double;
mod fault;
mod fault_kind;
mod gone;
mod hang;
mod injector;
mod kill;
mod lag;
mod list;
mod lose;
mod node;
mod operation;
mod pause;
mod refuse;
mod skew;
mod slow;
mod stale;
mod store;
mod verdict;

pub use argument_form::ArgumentForm;
pub use fault::{Fault, FaultRequest, Lasts};
pub use fault_kind::{FaultEffect, FaultKind, FaultTarget, Now};
pub use injector::{FaultId, Injector};
pub use list::{FAULTS, fault_kind};
pub use operation::{ClusterOperation, Length};
pub use verdict::{FaultProgress, FaultStrike, FaultVerdict};
