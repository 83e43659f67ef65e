//! Keeps a local, indexed cache of one kind of object up to date, and notifies handlers of changes.
//!
//! ```text
//! apiserver --list, watch--> Reflector --Delta--> DeltaFifo --pop--> SharedInformer --> Indexer (read through a Lister)
//!                                                                       \--> SharedProcessor --> ProcessorListener, one
//!                                                                            a handler --> handler --> a work queue
//! ```
//! Start at [`SharedInformer`]; a process has one for each kind, from its [`InformerFactory`]. In Kubernetes:
//! client-go `tools/cache`. Not here: which key a change concerns (the controller's handler decides), and what to do
//! about it.

mod any_informer;
mod backoff;
mod delta;
mod delta_fifo;
mod factory;
mod handler_scope;
mod indexer;
mod lister;
mod notification;
mod processor;
mod reads;
mod records;
mod reflector;
mod reflector_store;
mod shared_informer;
mod signal;

pub use any_informer::AnyInformer;
pub use delta::{Delta, DeltaType};
pub use delta_fifo::{DeltaFifo, Popped};
pub use factory::InformerFactory;
pub use handler_scope::HandlerScope;
pub use indexer::Indexer;
pub use lister::Lister;
pub use notification::Notification;
pub use processor::HandlerRegistration;
pub use reads::{Reads, noting_reads};
pub use records::Records;
pub use reflector::Selection;
pub use shared_informer::SharedInformer;
pub use signal::Signal;
