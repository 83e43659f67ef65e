//! The store of a control plane: opened as a configuration says, killed and started again while it runs.
//!
//! ```text
//! StoreSpec --open--> OpenStore { a store::Store, its maintenance tasks } --close-->
//!     in memory, on disk (feature `sled`), in an etcd (feature `etcd`)
//! StoreControl: kill, start, slow, fill, compact      StoreContent: the start of another store
//! ```
//! Start at [`StoreSpec`]; at [`StoreControl`] for faults of the store. In Kubernetes:
//! `k8s.io/apiserver/pkg/storage/storagebackend`.
//! Not here: revisions, transactions and watches (`store`), etcd's protocol (`etcd`), objects (`storage`).

mod error;
mod restartable;
mod store;
mod store_content;
mod store_control;

pub use error::Error;
pub use store::{EtcdServers, OpenStore, StoreOptions, StoreSpec};
pub use store_content::StoreContent;
pub use store_control::StoreControl;
