//! Capability tests and foreign clients.
