//! The program that `coracle check` checks: its sockets, its kubeconfigs and its processes.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use coracle_check::{ProgramHost, ServedProgram};
use coracle_pki::{Authority, Credential};
use futures_util::{FutureExt, future};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::commands::checked_process::CheckedProcess;
use crate::commands::program_networks::{Gate, ProgramNetworks};
use crate::commands::program_temp;
use crate::commands::server_flags::ServerFlags;
use crate::exec_folder::ExecFolder;
use crate::random::random_letters;

/// The folder with the authorities of all runs, in the folder of the check.
const PKI: &str = "pki";
/// The file with the output of the program, in the folder of the check.
const OUTPUT: &str = "output";
/// What to do about a port that another process has.
const PORT_IN_USE: &str = "another process of this machine has the port at which the program listens: give it a free \
                           port or none, or use --jobs 1";
/// How many of the last lines of the output are shown.
const LAST_LINES: usize = 5;
/// How much of such a line is shown: some loggers write a stack into it.
const LONGEST_LINE: usize = 400;

/// The network that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// One of its own in each run, if the system permits it.
    Own,
    /// That of this machine.
    Host,
}

/// Where the program finds the API server of a run.
#[derive(Clone)]
struct Place {
    kubeconfig: PathBuf,
    port: u16,
    /// The socket file through which a network of its own leads to it.
    gate: PathBuf,
}

/// A program that is checked. Clones are the same.
#[derive(Clone)]
pub(crate) struct CheckedProgram {
    shared: Arc<Shared>,
}

struct Shared {
    command: Vec<String>,
    /// The user as which it sends requests.
    user: String,
    /// Its groups, other than those of all users.
    groups: &'static str,
    token: String,
    folder: ExecFolder,
    /// The networks of the runs; `None` if all use that of this machine.
    networks: Option<ProgramNetworks>,
    /// The temporary folder of the program.
    temp: PathBuf,
    /// How many sockets were opened.
    sockets: AtomicU64,
    /// The process groups that run.
    process_groups: Mutex<BTreeSet<i32>>,
}

impl Shared {
    /// The folder with the authorities of all runs.
    fn pki(&self) -> PathBuf {
        self.folder.path().join(PKI)
    }
}

impl CheckedProgram {
    pub(crate) fn new(command: Vec<String>, user: &str, is_admin: bool, network: Network) -> Result<Self> {
        let folder = ExecFolder::create()?;
        let networks = (network == Network::Own).then(|| ProgramNetworks::of(folder.path())).flatten();
        // The runs read these files at the same time.
        let pki = folder.path().join(PKI);
        ServerFlags::default().options(&pki)?;
        let temp = program_temp::create(folder.path(), &Authority::open(&pki)?)?;
        let shared = Shared {
            command,
            user: user.to_owned(),
            groups: if is_admin { "system:masters" } else { "" },
            token: random_letters()?,
            folder,
            networks,
            temp,
            sockets: AtomicU64::new(0),
            process_groups: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(crate) fn host(&self) -> ProgramHost {
        let program = self.clone();
        Arc::new(move || {
            let program = program.clone();
            async move { program.open().await.map_err(|error| format!("{error:#}")) }.boxed()
        })
    }

    /// Opens a socket for a run.
    async fn open(self) -> Result<ServedProgram> {
        let Shared { user, groups, token, folder, sockets, networks, .. } = &*self.shared;
        let pki = self.shared.pki();
        let server = ServerFlags::default();
        let mut options = server.options(&pki)?;
        let serving = server.open(&pki, 0, &mut options).await?;
        options.tokens = Some(format!("{token},{user},,{groups}\n"));
        let number = sockets.fetch_add(1, Ordering::Relaxed);
        let kubeconfig = folder.path().join(format!("kubeconfig-{number}"));
        serving.write_kubeconfig_with(&kubeconfig, Credential::Token(token))?;
        let listener = serving.listener;
        let process = Arc::new(CheckedProcess::default());
        let running = Arc::clone(&process);
        let place =
            Place { kubeconfig, port: listener.address().port(), gate: folder.path().join(format!("gate-{number}")) };
        let gate = networks.as_ref().map(|_| Gate::open(&place.gate, listener.address())).transpose()?;
        Ok(ServedProgram {
            process,
            options,
            serve: Box::new(move |front| {
                let serving = listener.serve(front, std::future::pending());
                match gate {
                    Some(gate) => future::select(serving.boxed(), gate.forward().boxed()).map(drop).boxed(),
                    None => serving.boxed(),
                }
            }),
            run: Arc::new(move || {
                let (program, place, running) = (self.clone(), place.clone(), Arc::clone(&running));
                async move {
                    if let Err(error) = program.run(&place, &running).await {
                        program.note(&format!("coracle: {error:#}\n"));
                    }
                }
                .boxed()
            }),
        })
    }

    /// Runs the program to its end. It is killed with its children when the future is dropped.
    async fn run(&self, place: &Place, process: &Arc<CheckedProcess>) -> Result<()> {
        let [program, arguments @ ..] = &self.shared.command[..] else { return Ok(()) };
        let output = self.output()?;
        let mut command = match &self.shared.networks {
            Some(networks) => networks.command(place.port, &place.gate, &self.shared.command),
            None => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        };
        command.env("KUBECONFIG", &place.kubeconfig).env("TMPDIR", &self.shared.temp).stdin(Stdio::null());
        command.stdout(output.try_clone()?).stderr(output);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = tokio::process::Command::from(command).kill_on_drop(true).spawn();
        let mut child = child.with_context(|| format!("cannot run `{program}`"))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        self.shared.process_groups.lock().insert(group);
        let _running = Running { program: self.clone(), group, process: Arc::clone(process) };
        process.starts(group);
        child.wait().await?;
        Ok(())
    }

    fn output_path(&self) -> PathBuf {
        self.shared.folder.path().join(OUTPUT)
    }

    fn output(&self) -> Result<File> {
        let path = self.output_path();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        file.with_context(|| format!("cannot open {}", path.display()))
    }

    fn note(&self, text: &str) {
        if let Ok(mut file) = self.output() {
            // The output is only shown, so a full disk does not matter.
            let _ = std::io::Write::write_all(&mut file, text.as_bytes());
        }
    }

    /// Why it may have ended, if its output has a known reason.
    pub(crate) fn known_reason(&self) -> Option<&'static str> {
        let output = std::fs::read(self.output_path()).unwrap_or_default();
        let output = String::from_utf8_lossy(&output).to_lowercase();
        output.contains("address already in use").then_some(PORT_IN_USE)
    }

    /// The last lines of the output of all processes, after the last error, which may be far above them.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let bytes = std::fs::read(self.output_path()).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&bytes))
    }

    /// Kills all processes.
    pub(crate) fn kill(&self) {
        std::mem::take(&mut *self.shared.process_groups.lock()).into_iter().for_each(kill);
    }
}

/// A process group that runs.
struct Running {
    program: CheckedProgram,
    group: i32,
    process: Arc<CheckedProcess>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.ends();
        if self.program.shared.process_groups.lock().remove(&self.group) {
            kill(self.group);
        }
    }
}

fn kill(group: i32) {
    if let Some(group) = Pid::from_raw(group) {
        // It may have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// The last lines of an output, after the last line before them that is an error.
fn last_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let error = before.iter().rfind(|line| is_error(line)).filter(|_| !last.iter().any(|line| is_error(line)));
    error.into_iter().chain(last).map(|line| line.chars().take(LONGEST_LINE).collect()).collect()
}

fn is_error(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    line.contains(r#""level":"error""#) || ["error", "panic", "fatal"].iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_shown_although_a_usage_follows_it() {
        let usage: Vec<String> = (0..9).map(|number| format!("  --flag-{number} one of 'json' or 'error'")).collect();
        let output = format!("starts\nError: no certificate\nUsage:\n{}\n\n", usage.join("\n"));
        let shown = last_lines(&output);
        assert_eq!((shown.len(), shown[0].as_str()), (LAST_LINES + 1, "Error: no certificate"));
        assert_eq!(last_lines("one\ntwo"), ["one", "two"]);
        let long = format!("Error: {}", "x".repeat(2 * LONGEST_LINE));
        assert_eq!(last_lines(&format!("{output}{long}")).last().unwrap().len(), LONGEST_LINE);
        assert_eq!(last_lines(&format!("{output}{long}")).len(), LAST_LINES);
    }
}
