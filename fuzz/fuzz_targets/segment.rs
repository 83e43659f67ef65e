#![no_main]

#[path = "../../crates/store/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::segment(bytes));
