//! Exports the function that JavaScript calls once before all others.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_FAMILY").unwrap_or_default();
    if target.split(',').any(|family| family == "wasm") {
        // Without this export, the linker adds the constructors and destructors of libc to each call of an export.
        println!("cargo:rustc-link-arg-cdylib=--export=__wasm_call_ctors");
    }
}
