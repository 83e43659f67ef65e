//! Writes the Rust of the etcd v3 protocol out of `crates/etcd/proto`, without protoc.
//! Behind the feature `proto`, because nothing else needs a protobuf compiler:
//! `cargo run -p xtask --features proto -- proto`.

use std::path::Path;

pub(crate) fn write() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/etcd");
    let source = root.join("proto");
    let files = ["mvccpb.proto", "etcdserverpb.proto"].map(|name| source.join(name));
    let descriptors = protox::compile(files, [&source])?;
    let target = root.join("src/proto");
    tonic_prost_build::configure().bytes(".").out_dir(&target).compile_fds(descriptors)?;
    for name in ["mvccpb.rs", "etcdserverpb.rs"] {
        let path = target.join(name);
        std::fs::write(&path, without_allowances(&std::fs::read_to_string(&path)?))?;
    }
    Ok(())
}

/// What the generator allows itself is said once, where its code is included.
fn without_allowances(code: &str) -> String {
    let mut kept = String::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let attribute = line.trim_start();
        if attribute.starts_with("#[allow(") || attribute.starts_with("#![allow(") {
            let mut end = line;
            while !end.ends_with(")]") {
                let Some(next) = lines.next() else { break };
                end = next;
            }
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}
