//! The etcd v3 protocol: a server that exposes a [`Store`](coracle_store::Store) to etcd clients, and a client that
//! uses an etcd, or this server, as a `Store`.
//!
//! ```text
//! etcdctl, clientv3, EtcdStore --gRPC--> Face --convert--> Store (the engine)
//! Store (what an API server holds) = EtcdStore --gRPC--> etcd cluster | Face
//! ```
//! Start at [`Face`] for the server and at [`EtcdStore`] for the client. This crate makes no decisions: every rule is
//! the store's. It opens no socket; the program that accepts connections passes them to [`Face::serve_connection`].
//! In Kubernetes: etcd's `server/etcdserver/api/v3rpc` and `client/v3`.

mod convert;
mod proto;
mod status;

mod server;

mod client;

pub use client::{EtcdStore, Metrics, Options, Tls};
pub use server::{Face, FaceOptions};
