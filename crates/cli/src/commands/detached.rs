use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use coracle_client::Https;
use coracle_pki::write_private;
use coracle_release::Release;
use tokio::runtime::Runtime;

use crate::cluster_api::get;
use crate::commands::wait_for_ready::{announce, complain, until_ready, without_wait};
use crate::output::{Unwritten, note, out};
use crate::progress::Progress;
use crate::readiness::Readiness;
use crate::runtime::runtime;
use crate::state::StateFolder;
use crate::{exit, kubeconfig_file, readiness_api};

/// How long a cluster may take to become ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// Starts `coracle up` with the arguments of this process as a process of its own, which outlives this one, and waits
/// until its API server is ready. What it prints goes to `up.log` in the state folder.
///
/// With a time to wait, it waits until the cluster is ready, too. A cluster that is not ready in time keeps running.
pub(super) fn detached(folder: &StateFolder, release: &Release, wait: Option<Duration>) -> Result<u8> {
    if let Some(process) = folder.running() {
        let shown = folder.path().display();
        let message = format!("a cluster runs in {shown} as process {process}; stop it with `coracle down`");
        return Err(exit::Usage(message).into());
    }
    folder.create()?;
    let log = folder.path().join("up.log");
    let mut cluster = start(&log)?;
    let _starting = Progress::of("starting the cluster");
    let runtime = runtime()?;
    let step = Duration::from_millis(20);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        if let Some(code) = ended(&mut cluster, &log)? {
            return Ok(code);
        }
        if let Some((address, server)) = ready(folder, &cluster, &runtime) {
            greet(folder, release, &address, &log)?;
            return wait.map_or(Ok(exit::PASS), |within| {
                let readiness = runtime.block_on(until_ready(within, || ask(&server)));
                match (readiness, ended(&mut cluster, &log)?) {
                    (_, Some(code)) => Ok(code),
                    (readiness, None) => report(&readiness?, within, folder),
                }
            });
        }
        #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
        std::thread::sleep(step);
    }
    anyhow::bail!("the cluster is not ready after {} s; see {}", PATIENCE.as_secs(), log.display())
}

/// The exit code of a cluster whose process has ended, after its output.
fn ended(cluster: &mut Child, log: &Path) -> Result<Option<u8>> {
    let Some(status) = cluster.try_wait().context("the cluster's process cannot be waited for")? else {
        return Ok(None);
    };
    note!("{}", std::fs::read_to_string(log).unwrap_or_default().trim_end());
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Some(code.filter(|code| *code != exit::PASS).unwrap_or(exit::FAILED)))
}

async fn ask(server: &Https) -> Result<Readiness> {
    let (code, body) = get(server, readiness_api::WAIT_PATH).await?;
    anyhow::ensure!(code.is_success(), "the cluster answers {code} to {}", readiness_api::WAIT_PATH);
    serde_json::from_slice(&body).context("the cluster's answer is not its readiness")
}

fn report(readiness: &Readiness, within: Duration, folder: &StateFolder) -> Result<u8> {
    if readiness.is_ready() {
        announce(readiness)?;
        return Ok(exit::PASS);
    }
    complain(readiness, within);
    let flag = folder.flag();
    note!("it keeps running: `coracle status{flag}` shows it, `coracle down{flag}` stops it");
    Ok(exit::NOT_IN_TIME)
}

fn start(log: &Path) -> Result<Child> {
    write_private(log, "").with_context(|| format!("cannot write {}", log.display()))?;
    let output = OpenOptions::new().append(true).open(log)?;
    let errors = output.try_clone()?;
    let this = std::env::current_exe().context("this program cannot be found")?;
    let arguments =
        without_wait(std::env::args_os().skip(1)).filter(|argument| argument != "-d" && argument != "--detach");
    // In a process group of its own, Ctrl-C in the terminal does not reach it.
    let cluster =
        Command::new(this).args(arguments).stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0).spawn();
    cluster.context("the cluster's process cannot be started")
}

/// The API server and its address, if this process has the folder and answers that it is ready.
fn ready(folder: &StateFolder, cluster: &Child, runtime: &Runtime) -> Option<(String, Https)> {
    let process = folder.running().and_then(|process| u32::try_from(process).ok());
    if process != Some(cluster.id()) || !folder.kubeconfig().exists() {
        return None;
    }
    let kubeconfig = kubeconfig_file::read(&folder.kubeconfig()).ok()?;
    let address = kubeconfig.server.clone();
    let server = kubeconfig.connect().ok()?;
    let (code, _) = runtime.block_on(get(&server, "/readyz")).ok()?;
    code.is_success().then_some((address, server))
}

fn greet(folder: &StateFolder, release: &Release, address: &str, log: &Path) -> Result<(), Unwritten> {
    let (kubeconfig, flag, log) = (folder.kubeconfig(), folder.flag(), log.display());
    out!(" ✓ Kubernetes {release} ready at {address}")?;
    out!(" ✓ kubeconfig {} (yours is untouched); output goes to {log}", kubeconfig.display())?;
    out!(" Use    coracle kubectl{flag} get nodes        or  eval \"$(coracle env{flag})\"")?;
    out!(" Stop   coracle down{flag}")
}
