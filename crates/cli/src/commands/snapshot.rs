use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use clap::{Args, Subcommand};
use coracle_ambient::Ambient;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_cluster::{StoreSpec, UnreadableValue, unreadable_values};
use coracle_journal::Recorder;
use coracle_store::disk;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

use crate::commands::env::StateArgs;
use crate::output::out;
use crate::progress::Progress;
use crate::runtime::runtime;
use crate::snapshot_api::PATH;
use crate::state::StateFolder;
use crate::{exit, snapshot};

/// Saves a cluster to a file, restores a cluster from such a file, or checks its objects.
#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the objects, the state of the nodes and the keys of a running or stopped cluster to a new file
    Save(Flags),
    /// Create a cluster from a snapshot, in an empty state folder
    Restore(Flags),
    /// List the stored values of a cluster or a snapshot that cannot be decoded, each with its kind, its key and the
    /// reason. The API server keeps such values in the store, and does not serve them
    Check(CheckFlags),
}

#[derive(Debug, Args)]
struct CheckFlags {
    #[command(flatten)]
    state: StateArgs,
    /// The snapshot; without it, the cluster of the state folder
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Flags {
    #[command(flatten)]
    state: StateArgs,
    /// The snapshot; it contains private keys, so protect it as you protect those
    file: PathBuf,
}

impl Snapshot {
    pub(crate) fn run(self) -> Result<u8> {
        let flags = match &self.action {
            Action::Check(flags) => return check(flags),
            Action::Save(flags) | Action::Restore(flags) => flags,
        };
        let (folder, file) = (flags.state.folder(), flags.file.display());
        let shown = folder.path().display().to_string();
        let _working = Progress::of(match self.action {
            Action::Restore(_) => "restoring the snapshot",
            Action::Save(_) | Action::Check(_) => "saving a snapshot",
        });
        let done = match self.action {
            Action::Save(_) => save(&folder, &flags.file).map(|report| (format!("{shown} is saved in {file}"), report)),
            Action::Restore(_) | Action::Check(_) => snapshot::restore(&flags.file, &folder)
                .map(|report| (format!("{shown} is restored; start it with `coracle up{}`", folder.flag()), report)),
        };
        let (said, report) = done.map_err(|error| exit::Usage(format!("{error:#}")))?;
        out!("{said}: revision {}, {} records", report.revision, report.records)?;
        Ok(exit::PASS)
    }
}

/// Checks every value in a copy of the cluster's or the snapshot's data.
fn check(flags: &CheckFlags) -> Result<u8> {
    let _checking = Progress::of("checking the values");
    let copy = tempfile::tempdir()?;
    let saved = copy.path().join("snapshot");
    let file = match &flags.file {
        Some(file) => file,
        None => {
            save(&flags.state.folder(), &saved).map_err(|error| exit::Usage(format!("{error:#}")))?;
            &saved
        }
    };
    let folder = StateFolder::named(Some(&copy.path().join("state")));
    snapshot::restore(file, &folder).map_err(|error| exit::Usage(format!("{error:#}")))?;
    let found = runtime()?.block_on(async {
        let ambient = Ambient::system();
        let open = StoreSpec::Sled(folder.data()).open(&ambient, &Recorder::off()).await?;
        let found = unreadable_values(Arc::clone(&open.store), &ambient).await;
        open.close().await;
        found
    })?;
    for UnreadableValue { resource, key, why } in &found {
        out!("{resource}  {key}  {why}")?;
    }
    match found.len() {
        0 => out!("every value can be read")?,
        1 => out!("1 value cannot be read")?,
        count => out!("{count} values cannot be read")?,
    }
    Ok(if found.is_empty() { exit::PASS } else { exit::CHECK_FAILED })
}

/// A running cluster is asked for its snapshot; the data of a stopped one is read.
fn save(folder: &StateFolder, file: &Path) -> Result<disk::Report> {
    if folder.running().is_none() {
        return snapshot::save(folder, file);
    }
    snapshot::receive(file, |target| runtime()?.block_on(ask(&folder.kubeconfig(), target)))
}

async fn ask(kubeconfig: &Path, target: &mut std::fs::File) -> Result<()> {
    let server = Kubeconfig::read(kubeconfig)?.connect()?;
    let request = Request::get(PATH).body(Full::new(Bytes::new()))?;
    let answer = server.oneshot(request).await.map_err(|error| anyhow!("the cluster cannot be reached: {error}"))?;
    let is_given = answer.status().is_success();
    let mut body = answer.into_body();
    let mut refusal = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| anyhow!("the snapshot did not come to its end: {error}"))?;
        let bytes = frame.into_data().unwrap_or_default();
        if is_given { target.write_all(&bytes)? } else { refusal.extend(bytes) }
    }
    if is_given {
        return Ok(());
    }
    let status: Value = serde_json::from_slice(&refusal).context("the cluster gives no snapshot")?;
    Err(anyhow!("the cluster gives no snapshot: {}", status["message"].as_str().unwrap_or_default()))
}
