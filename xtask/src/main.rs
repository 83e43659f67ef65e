//! Code that writes code.
fn main() {}
