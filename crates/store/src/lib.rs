//! The etcd-like versioned store.
