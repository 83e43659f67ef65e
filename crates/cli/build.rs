//! Links the optimized program smaller.

/// Generic code that several crates compile is often the same, byte for byte: the linker keeps one copy. Only for the
/// target whose linker is known to understand the flag, which is Rust's own `lld`, and not if the caller chooses another.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let chooses_linker =
        ["linker", "link-arg", "lld"].iter().any(|flag| variable("CARGO_ENCODED_RUSTFLAGS").contains(flag))
            || !variable("RUSTC_LINKER").is_empty();
    if variable("TARGET") == "x86_64-unknown-linux-gnu" && variable("OPT_LEVEL") != "0" && !chooses_linker {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}
