//! The program that `coracle check` checks: its sockets, its kubeconfigs and its processes.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use coracle_check::{ProgramHost, ServedProgram};
use coracle_pki::{Authority, Credential};
use futures_util::FutureExt;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::commands::checked_process::CheckedProcess;
use crate::commands::server_flags::ServerFlags;
use crate::exec_folder::ExecFolder;
use crate::random::random_letters;

/// The file with the output of the program, in the folder of the check.
const OUTPUT: &str = "output";
/// How many of the last lines of the output are shown.
const LAST_LINES: usize = 5;

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
    /// How many sockets were opened.
    sockets: AtomicU64,
    /// The process groups that run.
    process_groups: Mutex<BTreeSet<i32>>,
}

impl Shared {
    /// The folder with the authorities of all runs.
    fn pki(&self) -> PathBuf {
        self.folder.path().join("pki")
    }
}

impl CheckedProgram {
    pub(crate) fn new(command: Vec<String>, user: &str, is_admin: bool) -> Result<Self> {
        let shared = Shared {
            command,
            user: user.to_owned(),
            groups: if is_admin { "system:masters" } else { "" },
            token: random_letters()?,
            folder: ExecFolder::create()?,
            sockets: AtomicU64::new(0),
            process_groups: Mutex::default(),
        };
        // The runs read these files at the same time.
        ServerFlags::default().options(&shared.pki())?;
        Authority::open(&shared.pki())?;
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
        let Shared { user, groups, token, folder, sockets, .. } = &*self.shared;
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
        Ok(ServedProgram {
            process,
            options,
            serve: Box::new(move |front| listener.serve(front, std::future::pending()).boxed()),
            run: Arc::new(move || {
                let (program, kubeconfig, running) = (self.clone(), kubeconfig.clone(), Arc::clone(&running));
                async move {
                    if let Err(error) = program.run(&kubeconfig, &running).await {
                        program.note(&format!("coracle: {error:#}\n"));
                    }
                }
                .boxed()
            }),
        })
    }

    /// Runs the program to its end. It is killed with its children when the future is dropped.
    async fn run(&self, kubeconfig: &Path, process: &Arc<CheckedProcess>) -> Result<()> {
        let [program, arguments @ ..] = &self.shared.command[..] else { return Ok(()) };
        let output = self.output()?;
        let mut command = Command::new(program);
        command.args(arguments).env("KUBECONFIG", kubeconfig).stdin(Stdio::null());
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

    /// The last lines of the output of all processes.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let bytes = std::fs::read(self.output_path()).unwrap_or_default();
        let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
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
