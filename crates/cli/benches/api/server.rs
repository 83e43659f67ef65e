use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::options::{Options, Running};

const TOKEN: &str = "bench-token";

/// An API server under load: our own release binary, or one that runs already.
pub(crate) struct Server {
    pub(crate) running: Running,
    child: Option<(Child, PathBuf)>,
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
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("coracle-bench-api-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for certificates");
        let tokens = folder.join("tokens.csv");
        std::fs::write(&tokens, format!("{TOKEN},bench,bench,\"system:masters\"\n")).expect("a token file");
        let mut child = Command::new(env!("CARGO_BIN_EXE_coracle"))
            .args(["apiserver", "--store", "memory", "--secure-port", "0"])
            .args(["--disable-admission-plugins", "ServiceAccount", "--cert-dir"])
            .arg(&folder)
            .arg("--token-auth-file")
            .arg(&tokens)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let mut greeting = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        out.read_line(&mut greeting).expect("it greets");
        let url =
            greeting.split_whitespace().find(|word| word.starts_with("https://")).expect("the greeting has a URL");
        let url = url.trim_end_matches(';').to_owned();
        let (ca, token, pids) = (folder.join("ca.crt"), TOKEN.to_owned(), vec![child.id()]);
        Self { running: Running { url, ca, token, pids }, child: Some((child, folder)) }
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
        if let Some((child, folder)) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
            let _ = std::fs::remove_dir_all(folder);
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
