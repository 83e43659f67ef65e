//! The sample controller.
fn main() {}
