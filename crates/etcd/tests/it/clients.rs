//! Programs that use etcd's own client libraries do the same with our face and with a real etcd, and see the same.
//!
//! In Go, where there is a Go toolchain: `tests/clients/etcd-go`. Not in Rust: the crate `etcd-client` needs protoc to
//! be built, which a bare machine does not have.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{find, open_disk, real_etcd, serve, serve_engine};

/// Builds the program in Go; `None`, with a line that says why, where that cannot be done.
fn go_program() -> Option<PathBuf> {
    let Some(go) = find("go") else {
        println!("SKIPPED: there is no Go on this machine");
        return None;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/etcd-go");
    let run = |arguments: &[&str]| Command::new(&go).args(arguments).current_dir(&folder).output().unwrap();
    let downloaded = run(&["mod", "download"]);
    if !downloaded.status.success() {
        println!("SKIPPED: the modules of tests/clients/etcd-go cannot be had: {}", text(&downloaded));
        return None;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etcd-go");
    let built = run(&["build", "-buildvcs=false", "-o", program.to_str().unwrap(), "."]);
    assert!(built.status.success(), "{}", text(&built));
    Some(program)
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// What the program prints over a store.
async fn over(program: &Path, url: &str) -> String {
    let run = tokio::process::Command::new(program).arg(url.trim_start_matches("http://")).output();
    let output = run.await.unwrap();
    assert!(output.status.success(), "{url}: {}", text(&output));
    text(&output)
}

#[tokio::test(flavor = "multi_thread")]
async fn recipes_leases_watches_and_mirrors_of_the_go_client_end_alike_on_memory_on_disk_and_on_an_etcd() {
    let Some(program) = go_program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (engine, thread) = open_disk(&folder.path().join("data"));
    let (memory, disk) = (serve().await, serve_engine(engine.clone()).await);
    let (on_memory, on_disk) = tokio::join!(over(&program, &memory.url), over(&program, &disk.url));
    assert!(on_memory.contains("counted 32") && on_memory.contains("sum 500"), "{on_memory}");
    assert_eq!(on_memory, on_disk);
    engine.close();
    thread.join().unwrap();
    let Some(etcd) = real_etcd().await else { return };
    assert_eq!(over(&program, &etcd.url).await, on_memory);
}
