pub(crate) mod etcd_flags;
mod maintenance;
pub(crate) mod tls_flags;
mod top;

use std::sync::Arc;

use anyhow::Result;
use clap::{Args, Subcommand};
use coracle_cluster::StoreSpec;
use coracle_journal::Recorder;
use coracle_secure_serving::StoreListener;
use tokio::task::JoinSet;

use crate::commands::store::etcd_flags::EtcdFlags;
use crate::commands::store::maintenance::Maintenance;
use crate::commands::store::top::Top;
use crate::exit;
use crate::interrupt::interrupted;
use crate::output::out;
use crate::runtime::runtime;
use crate::runtime::server_ambient;

/// Runs the store alone, or maintains its data. The flags are etcd's.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StoreCommand {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    flags: EtcdFlags,
}

#[derive(Debug, Subcommand)]
enum Action {
    #[command(flatten)]
    Maintenance(Maintenance),
    /// Show the activity of a store: revisions, sizes, watches and disk latency
    Top(Top),
}

impl StoreCommand {
    pub(crate) fn run(self) -> Result<u8> {
        match self.action {
            Some(Action::Maintenance(care)) => runtime()?.block_on(care.run()),
            Some(Action::Top(top)) => runtime()?.block_on(top.run()),
            None => runtime()?.block_on(serve(self.flags, interrupted)),
        }
    }
}

/// Serves until `stop` returns the exit code.
pub(crate) async fn serve<F>(flags: EtcdFlags, stop: fn() -> F) -> Result<u8>
where
    F: Future<Output = u8> + Send + 'static,
{
    flags.check()?;
    let spec = flags.data_dir.clone().map_or(StoreSpec::Memory, StoreSpec::Sled);
    let tls = flags.tls()?;
    let mut listeners = Vec::new();
    for url in &flags.listen_client_urls {
        let listener = StoreListener::bind(url, tls.as_ref()).await;
        listeners.push(listener.map_err(|error| exit::Usage(format!("--listen-client-urls: {error}")))?);
    }
    let store = spec.open_with(&server_ambient(), &Recorder::off(), flags.store_options()?).await?;
    let urls: Vec<String> = listeners.iter().map(StoreListener::url).collect();
    out!("store ready at {}", urls.join(" "))?;
    let face = flags.face_options(urls)?;
    let store = Arc::new(store);
    let mut serving = JoinSet::new();
    for listener in listeners {
        let (store, face) = (store.clone(), face.clone());
        serving.spawn(async move {
            let mut code = exit::PASS;
            listener.serve(store.store.clone(), face, async { code = stop().await }).await;
            code
        });
    }
    let codes = serving.join_all().await;
    if let Some(store) = Arc::into_inner(store) {
        store.close().await;
    }
    Ok(codes.into_iter().max().unwrap_or(exit::PASS))
}
