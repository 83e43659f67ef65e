//! The messages and services of the protocol, written by `cargo run -p xtask --features proto -- proto`.

#![expect(dead_code, unreachable_pub, clippy::all, reason = "generated")]

#[rustfmt::skip]
pub(crate) mod mvccpb {
    include!("mvccpb.rs");
}

#[rustfmt::skip]
pub(crate) mod etcdserverpb {
    include!("etcdserverpb.rs");
}
