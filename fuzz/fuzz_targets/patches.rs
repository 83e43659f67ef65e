#![no_main]

#[path = "../../crates/schema/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::patch(bytes));
