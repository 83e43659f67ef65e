//! `coracle down` says what is left.

use crate::program::{Folder, Running, coracle, eventually, succeed, text};

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

#[test]
fn a_detached_cluster_outlives_its_command_and_status_counts_what_it_has() {
    let folder = Folder::new("detached");
    let state = folder.join("state");
    let of_state = |name: &str| {
        let mut command = coracle();
        command.args([name, "--state-dir"]).arg(&state);
        command
    };
    let none = of_state("status").output().unwrap();
    assert_eq!(none.status.code(), Some(4), "{}", text(&none));
    let _down = Down(&state);
    let said = succeed(of_state("up").args(["-d", "--ephemeral", "--nodes", "1"]));
    assert!(said.contains(" ready at https://127.0.0.1:") && said.contains("coracle down --state-dir"), "{said}");

    let ready = eventually("a ready node", || {
        let said = succeed(&mut of_state("status"));
        said.contains("nodes    1 of 1 ready").then_some(said)
    });
    for part in ["objects are in memory", "pods     none", "faults   none"] {
        assert!(ready.contains(part), "{part}: {ready}");
    }
    let again = of_state("up").arg("-d").output().unwrap();
    assert_eq!(again.status.code(), Some(2), "{}", text(&again));
    assert!(text(&again).contains("a cluster runs in"), "{}", text(&again));
    assert!(std::fs::read_to_string(state.join("up.log")).unwrap().contains("simulated nodes"));
    assert_eq!(succeed(&mut of_state("down")), "stopped; its objects were in memory, and are gone\n");
}

#[test]
fn a_detached_cluster_that_does_not_start_shows_its_output_and_its_exit_code() {
    let folder = Folder::new("detached-refused");
    let mut up = coracle();
    let up = up.args(["up", "-d", "--ephemeral", "--scheduler-config", "none.yaml", "--state-dir"]);
    let output = up.arg(folder.join("state")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(String::from_utf8_lossy(&output.stderr).contains("none.yaml"), "{}", text(&output));
}

#[test]
fn up_wait_returns_when_the_nodes_are_ready_and_no_work_is_left() {
    let folder = Folder::new("waited");
    let state = folder.join("state");
    let of_state = |name: &str| {
        let mut command = coracle();
        command.args([name, "--state-dir"]).arg(&state);
        command
    };
    let _down = Down(&state);
    let said = succeed(of_state("up").args(["-d", "--wait", "--ephemeral", "--nodes", "3"]));
    assert!(said.contains(" ✓ nodes 3 of 3 ready; the controllers have no work left"), "{said}");
    let status = succeed(&mut of_state("status"));
    assert!(status.contains("nodes    3 of 3 ready\n") && status.contains("work     none left\n"), "{status}");
}

#[test]
fn up_wait_ends_at_its_timeout_and_names_the_node_that_is_not_ready() {
    let folder = Folder::new("waited-in-vain");
    let state = folder.join("state");
    let of_state = |arguments: &[&str]| {
        let mut command = coracle();
        command.args(arguments).arg("--state-dir").arg(&state);
        command
    };
    let _down = Down(&state);
    succeed(&mut of_state(&["up", "-d", "--wait"]));
    succeed(&mut of_state(&["node", "stop", "node-2"]));
    // A cluster that stops in order starts its nodes again first.
    let kill = || {
        let process = std::fs::read_to_string(state.join("pid")).unwrap();
        let signal = |which: &str| std::process::Command::new("kill").args([which, process.trim()]).output().unwrap();
        assert!(signal("-9").status.success());
        // The kernel ends a process after the signal is sent.
        let has_ended = (0..10_000).any(|_| !signal("-0").status.success());
        assert!(has_ended, "process {process} does not end");
    };
    kill();
    let problem = "node node-2: its kubelet does not run, or cannot reach the API server\n";
    let late = "the cluster is not ready after 1s:\n";

    let background = of_state(&["up", "-d", "--wait", "--timeout=1s"]).output().unwrap();
    let said = text(&background);
    assert_eq!(background.status.code(), Some(3), "{said}");
    assert!(said.contains(late) && said.contains(problem) && said.contains("it keeps running"), "{said}");
    let status = succeed(&mut of_state(&["status"]));
    assert!(status.contains("nodes    1 of 2 ready; node-2: its kubelet does not run"), "{status}");

    kill();
    let foreground = of_state(&["up", "--wait", "--timeout", "1s"]).output().unwrap();
    let said = text(&foreground);
    assert_eq!(foreground.status.code(), Some(3), "{said}");
    assert!(said.contains(late) && said.contains(problem) && !said.contains(" ✓ "), "{said}");
}

#[test]
fn why_and_story_without_a_file_read_the_event_log_of_the_running_cluster() {
    let folder = Folder::new("asked");
    let below = folder.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let state = folder.join(".coracle");
    let asked = |arguments: &[&str]| coracle().args(arguments).current_dir(&below).output().unwrap();
    let none = asked(&["why", "namespaces/default"]);
    assert!(none.status.code() == Some(2) && text(&none).contains("no cluster runs in"), "{}", text(&none));
    let started = |flags: &[&str]| {
        let mut up = coracle();
        succeed(up.args(["up", "-d", "--ephemeral", "--nodes", "1"]).args(flags).current_dir(folder.path()))
    };
    {
        let _down = Down(&state);
        started(&["--events", "events.jsonl"]);
        eventually("a written log", || {
            let said = asked(&["why", "nodes/node-1"]);
            (said.status.success() && text(&said).contains("creates nodes/node-1")).then_some(())
        });
        let story = asked(&["story", "nodes/node-1"]);
        assert!(story.status.success() && text(&story).contains("nodes/node-1"), "{}", text(&story));
        let missing = asked(&["story", "missing.jsonl"]);
        assert!(missing.status.code() == Some(2) && text(&missing).contains("missing.jsonl"), "{}", text(&missing));
    }
    let _down = Down(&state);
    started(&[]);
    let without = asked(&["why", "nodes/node-1"]);
    assert!(
        text(&without)
            .contains("writes no event log; stop it with `coracle down`, and start it with `coracle up --events FILE`"),
        "{}",
        text(&without)
    );
}

/// Stops the cluster of a state folder when a test ends, however it ends.
struct Down<'a>(&'a std::path::Path);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        let _ = coracle().args(["down", "--state-dir"]).arg(self.0).output();
    }
}
