use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::options::{Options, Running};

const TOKEN: &str = "bench-token";

/// An API server under load: our own release binary, or one that runs already.
pub(crate) struct Server {
    pub(crate) running: Running,
    child: Option<Process>,
}

struct Process {
    child: Child,
    folder: PathBuf,
    /// Held open to its end: what it says later must not break a pipe.
    out: BufReader<ChildStdout>,
}

impl Process {
    fn start(command: &mut Command, folder: PathBuf) -> (Self, u32) {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary runs");
        let out = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let id = child.id();
        (Self { child, folder, out }, id)
    }

    /// The next word that it prints and that begins so.
    fn word(&mut self, begins: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).expect("it greets") > 0, "no {begins} in its greeting");
            if let Some(word) = line.split_whitespace().find(|word| word.starts_with(begins)) {
                return word.trim_end_matches([';', ',']).to_owned();
            }
        }
    }
}

/// A folder of its own for a server.
fn folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("coracle-bench-api-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for certificates");
    folder
}

/// A file that lets the benchmark in.
fn tokens(folder: &Path) -> PathBuf {
    let tokens = folder.join("tokens.csv");
    std::fs::write(&tokens, format!("{TOKEN},bench,bench,\"system:masters\"\n")).expect("a token file");
    tokens
}

impl Server {
    /// Starts an API server alone, with its store in memory; or takes the one that the options name.
    pub(crate) fn start(options: &Options) -> Self {
        match &options.running {
            Some(running) => Self { running: running.clone(), child: None },
            None => Self::spawn(),
        }
    }

    fn spawn() -> Self {
        let folder = folder();
        let mut command = Command::new(env!("CARGO_BIN_EXE_coracle"));
        command
            .args(["apiserver", "--store", "memory", "--secure-port", "0"])
            .args(["--disable-admission-plugins", "ServiceAccount", "--cert-dir"])
            .arg(&folder)
            .arg("--token-auth-file")
            .arg(tokens(&folder));
        Self::run(&mut command, folder, "ca.crt")
    }

    /// Starts a whole cluster without nodes, with these flags beside.
    pub(crate) fn up(flags: &[&str]) -> Self {
        let folder = folder();
        let mut command = Command::new(env!("CARGO_BIN_EXE_coracle"));
        command.args(["up", "--ephemeral", "--nodes", "0", "--state-dir"]).arg(&folder).args(flags);
        command.arg("--token-auth-file").arg(tokens(&folder));
        Self::run(&mut command, folder, "pki/ca.crt")
    }

    /// Starts a process that tells its address; `ca` is the certificate authority within its folder.
    fn run(command: &mut Command, folder: PathBuf, ca: &str) -> Self {
        let (mut process, pid) = Process::start(command, folder);
        let running = Running {
            url: process.word("https://"),
            ca: process.folder.join(ca),
            token: TOKEN.to_owned(),
            pids: vec![pid],
        };
        Self { running, child: Some(process) }
    }

    /// The link to the page that it serves.
    pub(crate) fn page(&mut self) -> String {
        self.child.as_mut().expect("it was started here").word("http://")
    }

    /// The CPU time that the server has taken so far.
    pub(crate) fn cpu(&self) -> Duration {
        self.running.pids.iter().map(|pid| cpu_of(*pid)).sum()
    }

    /// Its resident memory in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.running.pids.iter().map(|pid| memory_of(*pid)).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = &mut self.child {
            let _ = process.child.kill();
            let _ = process.child.wait();
            let _ = std::fs::remove_dir_all(&process.folder);
        }
    }
}

/// User and system time of a process, in the kernel's ticks of 10 ms.
fn cpu_of(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

fn memory_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) * 1024
}
