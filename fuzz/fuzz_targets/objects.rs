#![no_main]

#[path = "../../crates/cluster/tests/every_object/mod.rs"]
mod every_object;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| every_object::survive(bytes));
