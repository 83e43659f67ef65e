//! A cluster whose disk is full: what it says, and what it does when there is space again.
//!
//! Made with the limit on the size of files, which `prlimit` changes from outside; skipped where there is none.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Folder, Running, coracle, eventually, text, there_is};

/// A cluster, and what it prints: not into a file, which would be limited, too.
struct Cluster {
    running: Running,
    process: Pid,
    said: Arc<Mutex<String>>,
    state: PathBuf,
}

impl Cluster {
    fn start(state: &Path, flags: &[&str]) -> Self {
        let mut command = Command::new("sh");
        // The signal of the limit is ignored, so that a write beyond it fails as on a full disk.
        command.args(["-c", "trap '' XFSZ; exec \"$@\" 2>&1", "sh"]).arg(coracle().get_program());
        command.args(["up", "--nodes=0", "--metrics-server=false", "--state-dir"]).arg(state).args(flags);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (process, said) = (Pid::from_child(&child), Arc::new(Mutex::new(String::new())));
        let heard = Arc::clone(&said);
        #[expect(clippy::disallowed_methods, reason = "another process is listened to")]
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().push_str(&format!("{line}\n"));
            }
        });
        let cluster = Self { running: Running::of(child), process, said, state: state.to_owned() };
        cluster.says("get pods -w");
        cluster
    }

    fn says(&self, what: &str) -> String {
        eventually(what, || Some(self.said.lock().clone()).filter(|said| said.contains(what)))
    }

    fn kubectl(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.state.join("kubeconfig")).args(arguments);
        command.env("HOME", &self.state).output().unwrap()
    }

    /// Sets the size that files may have; `None` if this machine cannot.
    fn limit(&self, size: &str) -> Option<()> {
        let process = self.process.as_raw_nonzero().to_string();
        let status = Command::new("prlimit").args(["--pid", &process, &format!("--fsize={size}:unlimited")]).status();
        status.ok()?.success().then_some(())
    }
}

#[test]
fn a_full_disk_is_named_by_every_error_and_by_readyz_and_is_forgotten_when_there_is_space() {
    if !there_is("kubectl") {
        return;
    }
    let folder = Folder::new("full-disk");
    let large = folder.join("large");
    std::fs::write(&large, "x".repeat(900_000)).unwrap();
    let cluster = Cluster::start(&folder.join("state"), &[]);
    assert!(cluster.kubectl(&["get", "--raw", "/readyz"]).status.success());
    let size = std::fs::metadata(folder.join("state/data/log/00000000000000000001")).unwrap().len();
    // Room for two of the objects.
    let size = size + 2_000_000;
    if cluster.limit(&size.to_string()).is_none() {
        println!("SKIPPED: there is no prlimit on this machine");
        return;
    }
    let create = |number: u32| {
        let file = format!("--from-file={}", large.display());
        cluster.kubectl(&["create", "configmap", &format!("large-{number}"), &file])
    };
    let refused = (0..40).map(create).find(|output| !output.status.success()).expect("the disk is full at last");
    let why = "nothing can be written until there is space again; reads go on";
    let said = text(&refused);
    assert!(said.contains("/data/log: ") && said.contains("File too large") && said.contains(why), "{said}");
    let ready = cluster.kubectl(&["get", "--raw", "/readyz?verbose"]);
    assert!(!ready.status.success());
    let ready = text(&ready);
    assert!(ready.contains("[-]etcd-readiness failed: the store cannot write: no space left"), "{ready}");
    assert!(cluster.kubectl(&["get", "configmap", "large-0"]).status.success(), "reads go on");
    assert!(cluster.kubectl(&["get", "--raw", "/livez"]).status.success(), "a restart makes no space");
    cluster.says(why);
    cluster.limit("unlimited").unwrap();
    eventually("writes go on", || create(100).status.success().then_some(()));
    cluster.says("there is space again");
    assert!(cluster.kubectl(&["get", "--raw", "/readyz"]).status.success());
}

#[test]
fn a_store_that_cannot_be_made_because_the_disk_is_full_is_refused_with_the_place_and_the_reason() {
    let folder = Folder::new("full-disk-start");
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(coracle().get_program());
    let output = command.args(["up", "--state-dir"]).arg(folder.join("state")).output().unwrap();
    assert_eq!(output.status.code(), Some(70), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("state/data") && said.contains("File too large (os error 27)"), "{said}");
}

#[test]
fn an_unwritable_events_file_is_reported_at_once_and_at_the_end() {
    if !there_is("kubectl") {
        return;
    }
    let folder = Folder::new("full-events");
    let mut cluster = Cluster::start(&folder.join("state"), &["--ephemeral", "--events", "/dev/full"]);
    cluster.says("coracle: the events file ends here, because it cannot be written: No space left on device");
    let ready = cluster.kubectl(&["get", "--raw", "/readyz?verbose"]);
    assert!(!ready.status.success() && text(&ready).contains("[-]log failed: the event log cannot be written"));
    assert!(cluster.kubectl(&["create", "configmap", "x"]).status.success(), "what happens does not depend on the log");
    kill_process(cluster.process, Signal::TERM).unwrap();
    assert_eq!(cluster.running.wait().code(), Some(70));
    cluster.says("coracle: cannot write the event log: No space left on device");
}
