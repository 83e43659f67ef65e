use std::path::PathBuf;

use anyhow::{Context, Result};
use coracle_ambient::{Clock, Timestamp};
use coracle_cluster::{Cluster, NodeSpec, StoreSpec, controllers, scheduler};
use coracle_control::{ClusterTime, ControlOptions, ControlledCluster, Error, ForkListener};
use coracle_journal::{Header, Recorder};
use coracle_pki::Credential;
use coracle_release::Release;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::commands::prepared_cluster::launcher;
use crate::commands::release_flags::ReleaseFlags;
use crate::commands::server_flags::{SecureServing, ServerFlags};
use crate::commands::time_flag::TimeFlag;
use crate::commands::up::{KEPT_BYTES, LOAD_BALANCERS, NODE_RESTRICTION, VIEWED_ENTRIES, accept_admin_token, now};
use crate::random::random_letters;
use crate::runtime::server_ambient;
use crate::state::StateFolder;

/// What a cluster in this process is started with.
pub(super) struct EmbeddedOptions {
    pub(super) nodes: usize,
    /// `None` for the newest.
    pub(super) kubernetes: Option<Release>,
    pub(super) time: TimeFlag,
    pub(super) seed: u64,
    /// Whether programs may connect to it.
    pub(super) listens: bool,
}

/// A cluster in memory in this process, as `coracle up --ephemeral` starts it. Without `listens` it has no socket.
pub(super) struct EmbeddedCluster {
    pub(super) controlled: ControlledCluster,
    /// The kubeconfig for other programs, if it listens.
    pub(super) kubeconfig: Option<PathBuf>,
    serving: Option<JoinHandle<()>>,
    /// The keys and the kubeconfig. They are removed with it.
    _folder: TempDir,
}

impl EmbeddedCluster {
    /// Starts a cluster, and lets its nodes register.
    pub(super) async fn start(wanted: EmbeddedOptions) -> Result<Self> {
        let temporary = tempfile::Builder::new().prefix("coracle-mcp-").tempdir().context("no temporary folder")?;
        let folder = StateFolder::named(Some(temporary.path()));
        folder.create()?;
        let mut flags = ServerFlags::default();
        flags.choose(&ReleaseFlags::of(wanted.kubernetes));
        let release = flags.release()?;
        let mut options = flags.options(&folder.pki())?;
        options.enable_admission_plugins.push(NODE_RESTRICTION.to_owned());
        let mut listening = None;
        if wanted.listens {
            let serving = flags.open(&folder.pki(), 0, &mut options).await?;
            let token = random_letters()?;
            accept_admin_token(&mut options, &token);
            flags.advertise(&mut options, serving.listener.address());
            serving.write_kubeconfig_with(&folder.kubeconfig(), Credential::Token(&token))?;
            listening = Some(serving);
        }
        let controllers = controllers::Config {
            service_lb_range: coracle_meta::Cidr::parse(LOAD_BALANCERS).ok(),
            ..controllers::Config::default()
        };
        let nodes = (1..=wanted.nodes).map(|number| NodeSpec::new(format!("node-{number}"))).collect();
        let mut builder = Cluster::builder()
            .node_specs(nodes)
            .store(StoreSpec::Memory)
            .api_server(options)
            .controllers(controllers)
            .scheduler(scheduler::Config::of(&release))
            .metrics_server(true);
        if wanted.nodes > 0 {
            builder = builder.csi_driver();
        }
        let time = wanted.time.start()?;
        let recorder = Recorder::ring(VIEWED_ENTRIES);
        recorder.limit_bytes(KEPT_BYTES);
        let header = Header { mode: Some(time.to_string()), ..Header::new(now()) };
        let controlled = ControlledCluster::start(ControlOptions {
            starts_at: starts_at(&time),
            time,
            launcher: launcher(builder, None, folder.clone()),
            listener: no_forks(),
            log: (recorder, header),
            panics: server_ambient().panics,
            seed: Some(wanted.seed),
            state: None,
        });
        let controlled = controlled.await?;
        controlled.settle_at_start().await?;
        let kubeconfig = listening.is_some().then(|| folder.kubeconfig());
        let serving = listening.map(|SecureServing { listener, .. }| {
            tokio::spawn(listener.serve(coracle_control::transport(&controlled), std::future::pending()))
        });
        Ok(Self { controlled, kubeconfig, serving, _folder: temporary })
    }

    /// Stops it.
    pub(super) async fn end(self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
        self.controlled.end().await;
    }
}

/// When a clock that is not the machine's starts: as in scenarios, so that runs can be repeated.
fn starts_at(time: &ClusterTime) -> Option<Timestamp> {
    (!time.is_real()).then(Clock::fixed_epoch)
}

/// No tool makes a fork, which would have to listen.
fn no_forks() -> ForkListener {
    std::sync::Arc::new(|_| {
        Box::pin(async { Err(Error::Unavailable("this cluster has no sockets, so it has no forks")) })
    })
}
