#![no_main]

#[path = "../../crates/etcd/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzzed::message(bytes);
});
