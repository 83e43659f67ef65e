//! `coracle clock`, `settle`, `reset` and `fork` on a cluster whose clock stands still.

use crate::program::{Folder, coracle, in_state, succeed, text};

#[test]
fn a_clock_that_stands_still_is_advanced_reset_and_forked() {
    let folder = Folder::new("control");
    let state = folder.join("state");
    let run = |arguments: &[&str]| succeed(&mut in_state(&state, arguments));
    let fails = |arguments: &[&str]| {
        let output = in_state(&state, arguments).output().unwrap();
        (output.status.code(), text(&output))
    };
    run(&["up", "--ephemeral", "--time", "stepped", "--seed", "3", "--detach"]);
    let began = run(&["clock"]);
    assert!(began.ends_with("stepped\n"), "{began}");
    assert_eq!(run(&["clock"]), began, "the clock stands still");
    assert!(run(&["clock", "advance", "1h"]).ends_with("advanced 1h0m0s\n"));
    assert!(run(&["settle"]).contains("settled at revision"));
    assert!(run(&["reset", "--keep", "base"]).starts_with("snapshot/base kept"));
    let kept = run(&["clock"]);
    run(&["clock", "advance", "24h"]);
    assert!(run(&["reset", "base"]).contains("reset to base"));
    assert_eq!(run(&["clock"]), kept);
    assert!(run(&["fork"]).contains("export KUBECONFIG="));
    assert!(run(&["fork", "list"]).starts_with("fork-1  https://127.0.0.1:"));
    let fork = state.join("fork-1.kubeconfig");
    let fork = fork.to_str().unwrap();
    run(&["clock", "advance", "2h", "--kubeconfig", fork]);
    assert_eq!(run(&["clock"]), kept, "a fork has a clock of its own");
    run(&["reset"]);
    assert_eq!(run(&["clock"]), began);
    assert_eq!(fails(&["reset", "none"]).0, Some(2));
    let until = folder.join("none.yaml");
    std::fs::write(&until, "{apiVersion: v1, kind: Pod, metadata: {name: none}}").unwrap();
    let (code, said) = fails(&["clock", "until", until.to_str().unwrap(), "--within", "1m"]);
    assert!(code == Some(3) && said.contains("not within 1m0s"), "{code:?} {said}");
    assert!(run(&["fork", "stop", "fork-1"]).contains("fork-1 stopped"));
    run(&["down"]);
    let (code, said) = fails(&["up", "--time", "stepped"]);
    assert!(code == Some(2) && said.contains("add --ephemeral"), "{code:?} {said}");
}

#[test]
fn a_cluster_on_disk_is_not_reset_and_its_clock_advances_by_itself() {
    let folder = Folder::new("control-on-disk");
    let state = folder.join("state");
    succeed(&mut in_state(&state, &["up", "--detach"]));
    for arguments in [&["reset"][..], &["fork"], &["clock", "advance", "1h"]] {
        let output = in_state(&state, arguments).output().unwrap();
        let said = text(&output);
        assert!(output.status.code() == Some(2) && said.contains("start the server with --"), "{arguments:?}: {said}");
    }
    succeed(&mut in_state(&state, &["down"]));
    assert!(coracle().arg("clock").env("CORACLE_STATE_DIR", &state).output().unwrap().status.code() == Some(2));
}
