//! `coracle down` says what is left.

use crate::program::{Folder, Running, coracle, eventually, succeed};

#[test]
fn down_reports_whether_the_objects_are_kept() {
    let folder = Folder::new("down");
    let state = folder.join("state");
    let stopped = |flags: &[&str]| {
        let _ = std::fs::remove_file(state.join("kubeconfig"));
        let _up = Running::start(coracle().args(["up", "--state-dir"]).arg(&state).args(flags));
        eventually("a cluster", || state.join("kubeconfig").exists().then_some(()));
        succeed(coracle().args(["down", "--state-dir"]).arg(&state))
    };
    assert_eq!(stopped(&["--ephemeral"]), "stopped; its objects were in memory, and are gone\n");
    assert_eq!(stopped(&[]), format!("stopped; the state is kept in {}\n", state.display()));
    let earlier = state.join("data");
    let beside = format!("those of an earlier cluster are kept in {}\n", earlier.display());
    assert_eq!(stopped(&["--ephemeral"]), format!("stopped; its objects were in memory, and are gone; {beside}"));
    assert!(earlier.exists() && !state.join("ephemeral").exists());
}
