//! The binary `coracle`.
fn main() {}
