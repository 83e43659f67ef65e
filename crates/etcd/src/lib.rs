//! The etcd v3 gRPC protocol, both ways.
