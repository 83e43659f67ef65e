//! Simulated nodes.
