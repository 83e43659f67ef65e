//! Rolls out what a Deployment asks for.

mod rolling;
