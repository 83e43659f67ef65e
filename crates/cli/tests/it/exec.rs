//! `coracle exec`: a program that runs against a cluster, the signals that it gets, and what stays behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Folder, Running, coracle, eventually, text};

/// A program that says that it runs, by a file, and which signal it got, by its exit code and the file.
const TRAPS: &str = "for s in INT:41 TERM:42 HUP:43 QUIT:44; do trap \"echo ${s%:*} >> said; exit ${s#*:}\" ${s%:*}; done; \
                     echo $KUBECONFIG > said; while :; do sleep 0.05; done";

fn exec(folder: &Path, script: &str) -> Command {
    let mut command = coracle();
    command.args(["exec", "--", "sh", "-c", script]).current_dir(folder).env("TMPDIR", folder);
    // Not the terminal's group: there Ctrl-C reaches the program without us.
    command.env_remove("CORACLE_STATE_DIR").process_group(0);
    command
}

/// The folders of clusters of their own.
fn left(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("coracle-exec-")).collect()
}

/// Starts it, and waits until the program within runs.
fn started(folder: &Path, script: &str) -> (Running, Pid) {
    let mut command = exec(folder, script);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let process = Pid::from_child(&child);
    let running = Running::of(child);
    eventually("the program runs", || fs::read_to_string(folder.join("said")).ok().filter(|said| said.contains('\n')));
    (running, process)
}

#[test]
fn exec_forwards_signals_returns_the_exit_code_and_removes_its_folder() {
    let folder = Folder::new("exec");
    for (signal, name, code) in
        [(Signal::INT, "INT", 41), (Signal::TERM, "TERM", 42), (Signal::HUP, "HUP", 43), (Signal::QUIT, "QUIT", 44)]
    {
        let _ = fs::remove_file(folder.join("said"));
        let (mut running, process) = started(folder.path(), TRAPS);
        let keys = left(folder.path());
        assert!(keys.len() == 1 && keys[0].join("pki/admin.token").exists(), "{keys:?}");
        kill_process(process, signal).unwrap();
        assert_eq!(running.wait().code(), Some(code), "{name}");
        let said = fs::read_to_string(folder.join("said")).unwrap();
        assert!(said.ends_with(&format!("\n{name}\n")), "the program got one signal, this: {said}");
        assert_eq!(left(folder.path()), Vec::<PathBuf>::new(), "{name}");
    }
}

#[test]
fn a_program_ended_by_a_signal_has_a_shells_exit_code() {
    let folder = Folder::new("exec-killed");
    for (script, code) in [("kill -TERM $$", 143), ("kill -KILL $$", 137), ("exit 7", 7), ("true", 0)] {
        let output = exec(folder.path(), script).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{script}: {}", text(&output));
    }
    let missing = coracle().args(["exec", "--", "/no/such/program"]).env("TMPDIR", folder.path()).output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing));
    assert_eq!(left(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn folders_of_a_killed_exec_are_removed_and_used_ones_are_not() {
    let folder = Folder::new("exec-swept");
    let (mut killed, _) = started(folder.path(), "echo a > said; exec sleep 60");
    let dead = left(folder.path());
    killed.kill();
    fs::remove_file(folder.join("said")).unwrap();
    assert!(dead[0].join("pki/admin.token").exists(), "no process can catch this signal");
    let (mut other, process) = started(folder.path(), TRAPS);
    let lives = left(folder.path());
    assert!(lives.len() == 1 && lives != dead, "{lives:?}");
    let third = exec(folder.path(), "true").output().unwrap();
    assert!(third.status.success(), "{}", text(&third));
    assert_eq!(left(folder.path()), lives);
    kill_process(process, Signal::TERM).unwrap();
    other.wait();
}
