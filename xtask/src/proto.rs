//! Writes the Rust of the etcd v3 protocol out of `crates/etcd/proto`, without protoc.
//! Behind the feature `proto`, because nothing else needs a protobuf compiler:
//! `cargo run -p xtask --features proto -- proto`.

use std::path::Path;

pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/etcd");
    let source = root.join("proto");
    let files = ["mvccpb.proto", "etcdserverpb.proto", "health.proto"].map(|name| source.join(name));
    let descriptors = protox::compile(files, [&source])?;
    tonic_prost_build::configure().bytes(".").out_dir(root.join("src/proto")).compile_fds(descriptors)?;
    Ok(())
}
