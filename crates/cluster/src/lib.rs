//! Puts a control plane together.
