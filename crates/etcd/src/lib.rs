//! The etcd v3 protocol, both ways: serves a [`Store`](coracle_store::Store) to etcd's own clients, and speaks to an
//! etcd, or to our own face, as a `Store`.
//!
//! ```text
//! etcdctl, clientv3, EtcdStore --gRPC--> Face --convert--> Store (the engine)
//! Store (what an API server holds) = EtcdStore --gRPC--> etcd cluster | Face
//! ```
//! Start at [`Face`] for the serving side and at [`EtcdStore`] for the asking side. This crate decides nothing: every
//! rule is the store's. It binds no socket; whoever accepts connections hands them to [`Face::serve_connection`].
//! In Kubernetes: etcd's `server/etcdserver/api/v3rpc` and `client/v3`.

mod convert;
mod proto;
mod status;

mod server;

mod client;

pub use client::{EtcdStore, Metrics, Options, Tls};
pub use server::{Face, FaceOptions};
