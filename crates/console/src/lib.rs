//! A console that understands kubectl's verbs, and prints what kubectl prints.
//!
//! ```text
//! line --words--> words --verbs, flags--> Verb, Flags --CommandSession--> requests of the client --> Output
//! ```
//! Start at [`Console`]. A verb is a file in `verbs` and a line in its list. The console has no sockets, threads or
//! files: it calls the API through any [`Client`](coracle_client::Client), so it runs in a browser tab. It waits by
//! watches and by timers of tokio, so it also waits in virtual time. In Kubernetes: `k8s.io/kubectl` and
//! `k8s.io/cli-runtime`. Not here: the programs of containers, and what a verb of the API means.

mod await_object;
mod change;
mod complete;
mod console;
mod containers;
mod describe;
mod explanation;
mod failure;
mod flags;
mod generator;
mod input;
mod json_path;
mod kinds;
mod last_applied;
mod manifests;
mod metadata_maps;
mod nodes;
mod pairs;
mod printer;
mod rollouts;
mod selection;
mod session;
mod setting;
mod suggestions;
mod table;
mod tabs;
mod three_way;
mod values;
mod verb;
mod verbs;
mod words;
mod write_flags;

pub use complete::Completion;
pub use console::{Console, Output};
pub use input::Input;
