//! A command that waits for more than a second shows on a terminal what it waits for.

use std::process::{Command, Stdio};

use crate::program::{Folder, Running, coracle, eventually, text};
use crate::pty::Terminal;

const TERMINAL: Terminal = Terminal { columns: 80, has_colour: false, is_utf8: true };

/// A run that takes three seconds of the machine's clock.
fn slow_run(folder: &Folder) -> Command {
    let scenario = folder.join("slow.yaml");
    let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: slow}\nspec:\n  cluster: {nodes: 0}\n  \
                steps:\n  - name: slow\n    try:\n    - sleep: {duration: 3s}\n";
    std::fs::write(&scenario, text).unwrap();
    let mut command = coracle();
    command.args(["run", "-q", "--mode", "real"]).arg(&scenario);
    command
}

#[test]
fn a_wait_of_more_than_a_second_is_shown_and_erased() {
    let folder = Folder::new("progress-run");
    let shown = TERMINAL.run_errors(slow_run(&folder));
    assert_eq!(shown.code, Some(0), "{}", shown.written);
    assert!(
        shown.written.contains("\r\x1b[2Krunning slow  t ") && shown.written.contains("  2 s"),
        "{:?}",
        shown.written
    );
    assert_eq!(shown.screen, "\n", "nothing is left");

    let shown = TERMINAL.run(slow_run(&folder), &[]);
    assert!(shown.written.contains("running slow  t "), "{:?}", shown.written);
    let lines: Vec<&str> = shown.screen.lines().collect();
    assert!(lines.len() == 1 && lines[0].starts_with(" PASS  slow"), "the result alone is left: {lines:?}");
}

#[test]
fn without_a_terminal_a_wait_is_not_shown() {
    let folder = Folder::new("progress-none");
    let output = slow_run(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let mut dumb = Command::new("env");
    dumb.arg("TERM=dumb").arg(slow_run(&folder).get_program()).args(slow_run(&folder).get_args());
    assert_eq!(TERMINAL.run_errors(dumb).written, "", "a dumb terminal cannot erase");
}

#[test]
fn down_shows_that_it_waits_for_a_cluster() {
    let folder = Folder::new("progress-down");
    let state = folder.join("state");
    let mut up = coracle();
    let up = up.args(["up", "--ephemeral", "--state-dir"]).arg(&state);
    let up = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let process = up.id();
    let mut up = Running::of(up);
    eventually("a cluster", || state.join("kubeconfig").exists().then_some(()));
    // A process that is held does not stop, so that the wait is longer than a second.
    let signal = |name: &str| format!("kill -{name} {process}");
    assert!(Command::new("sh").args(["-c", &signal("STOP")]).status().unwrap().success());
    let _waker = Running::start(Command::new("sh").args(["-c", &format!("sleep 3; {}", signal("CONT"))]));
    let mut down = coracle();
    down.args(["down", "--state-dir"]).arg(&state);
    let shown = TERMINAL.run(down, &[]);
    assert_eq!(shown.code, Some(0), "{}", shown.written);
    assert!(shown.written.contains("stopping the cluster  1 s"), "{:?}", shown.written);
    assert_eq!(shown.screen, "stopped; its objects were in memory, and are gone\n");
    up.wait();
}

#[test]
fn check_shows_how_many_runs_it_has_made() {
    let folder = Folder::new("progress-check");
    let sample = folder.join("sample.yaml");
    std::fs::write(&sample, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    let mut check = coracle();
    check.args(["check", "--host-network", "--faults", "none", "--sample"]).arg(&sample).args(["--", "sleep", "1000"]);
    let shown = TERMINAL.run_errors(check);
    assert!(shown.written.contains("\r\x1b[2Kchecking"), "{:?}", shown.written);
    assert!(!shown.screen.contains("checking"), "{}", shown.screen);
}
