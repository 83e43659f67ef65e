//! What commands print goes to readers that go away, and to full disks.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::program::{Folder, coracle, repository, text};

/// The exit code where the reader has gone, as of a program that SIGPIPE has ended.
const READER_GONE: i32 = 141;
/// The exit code where the system refused what a command needs.
const FAILED: i32 = 70;

/// An end of a pipe whose other end is closed.
fn broken_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full_disk() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// Commands that answer, with what they need in a folder; all of them end by themselves.
fn commands(folder: &Folder) -> Vec<Command> {
    let scenario = folder.join("scenario.yaml");
    let text = "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec:\n  cluster: {nodes: 0}\n  steps:\n  \
                - name: made\n    try:\n    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}\n";
    std::fs::write(&scenario, text).unwrap();
    let events = folder.join("events.jsonl");
    let made = coracle().args(["run", "-q", "--events"]).args([&events, &scenario]).output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", crate::program::text(&made));
    let step = folder.join("step.yaml");
    std::fs::write(&step, "sleep: {duration: 1s}\n").unwrap();
    let list = folder.join("list.yaml");
    std::fs::write(&list, "apiVersion: v1\nkind: List\nitems: []\n").unwrap();
    let data = folder.join("data");
    let (events, scenario, step, state) = (&events, &scenario, &step, &folder.join("state"));
    let with = |arguments: &[&str]| {
        let mut command = coracle();
        command.args(arguments);
        command
    };
    let mut all = vec![
        with(&["--help"]),
        with(&["--version"]),
        with(&["up", "--help"]),
        with(&["learn"]),
        with(&["learn", "--list"]),
        with(&["learn", "conflict-is-fine"]),
        with(&["exercise", "list"]),
        with(&["version"]),
        with(&["completion", "bash"]),
        with(&["env", "--envtest"]),
        with(&["down"]),
    ];
    let sample = folder.join("sample.yaml");
    std::fs::write(&sample, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    let mut check = with(&["check", "--host-network", "--faults", "none", "--sample"]);
    let controller = format!("exec '{}' scheduler --kubeconfig \"$KUBECONFIG\"", env!("CARGO_BIN_EXE_coracle"));
    check.arg(&sample).args(["--", "sh", "-c", &controller]);
    all.push(check);
    for arguments in [&["run"][..], &["run", "-v"], &["validate"]] {
        let mut command = with(arguments);
        command.arg(scenario);
        all.push(command);
    }
    let mut both = with(&["run", "-q"]);
    both.args([scenario, scenario]);
    let log = std::fs::read_to_string(events).unwrap();
    let began = log.lines().find(|line| line.contains("\"step.start\"")).unwrap();
    let began = began.trim_start_matches("{\"i\":").split(',').next().unwrap();
    let mut put = with(&["run", "-q", "--at", began, "--put"]);
    put.arg(step).arg(scenario);
    let mut story = with(&["story"]);
    story.arg(events).arg("configmaps/default/x");
    let mut why = with(&["why", "configmaps/default/x", "--events"]);
    why.arg(events);
    let mut diff = with(&["diff"]);
    diff.args([events, events]);
    let mut view = with(&["view", "--report"]);
    view.arg(folder.join("report.html")).arg(events);
    let mut snapshot = with(&["store", "check"]);
    store_folder(&data);
    snapshot.arg(&data);
    all.extend([both, put, story, why, diff, view, snapshot]);
    for command in &mut all {
        command.env("CORACLE_STATE_DIR", state);
    }
    all
}

/// A folder with the data of a store that has run.
fn store_folder(data: &std::path::Path) {
    let mut store = coracle();
    store.args(["store", "--listen-client-urls=http://127.0.0.1:0", "--data-dir"]).arg(data);
    // Its first line says that it serves; the test does not read that, so that the program ends.
    let ended = store.stdout(full_disk()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.code(), Some(FAILED), "a server that cannot say where it serves does not serve");
}

#[test]
fn a_closed_pipe_ends_a_command_silently_and_a_full_disk_with_an_error() {
    let folder = Folder::new("full-output");
    for mut command in commands(&folder) {
        let gone = command.stdout(broken_pipe()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((gone.status.code(), text(&gone).as_str()), (Some(READER_GONE), ""), "{command:?}");
        let full = command.stdout(full_disk()).output().unwrap();
        assert_eq!(full.status.code(), Some(FAILED), "{command:?}: {}", text(&full));
        let said = "coracle: cannot write to the standard output: No space left on device (os error 28)\n";
        assert_eq!(text(&full), said, "{command:?}");
    }
}

#[test]
fn a_reader_of_the_first_line_alone_ends_a_command_silently() {
    let folder = Folder::new("first-line");
    for mut command in commands(&folder) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let ended = child.wait_with_output().unwrap();
        assert!(line.ends_with('\n'), "{command:?}");
        assert_eq!(text(&ended), "", "{command:?}");
        // A short output is complete before the reader goes.
        let code = ended.status.code().unwrap();
        assert!([0, 1, 3, READER_GONE].contains(&code), "{command:?}: {code}");
    }
}

#[test]
fn unread_errors_do_not_change_the_exit_code() {
    let folder = Folder::new("full-errors");
    let missing = folder.join("missing.yaml");
    let (missing, repository) = (missing.to_str().unwrap(), repository());
    let cases: [(&[&str], i32); 6] = [
        (&["run", missing], 2),
        (&["learn", "99"], 4),
        (&["kubectl", "get", "pods"], 2),
        (&["no-such-command"], 2),
        (&["apiserver", "--feature-gates=A=true", "--store=none"], 2),
        (&["run", repository.to_str().unwrap()], 4),
    ];
    for (arguments, code) in cases {
        for errors in [broken_pipe(), full_disk().into()] {
            let mut command = coracle();
            command.args(arguments).env("CORACLE_STATE_DIR", folder.join("state")).current_dir(folder.path());
            let status = command.stdout(Stdio::null()).stderr(errors).status().unwrap();
            assert_eq!(status.code(), Some(code), "{arguments:?}");
        }
    }
}
