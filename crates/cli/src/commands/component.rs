use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use coracle_ambient::Ambient;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_client::{AsServiceAccount, Client, Https};
use coracle_cluster::controllers::{ControllerSet, Identities, Identity};
use coracle_cluster::read_keys;
use coracle_cluster::scheduler::Configuration;
use coracle_cluster::{Ended, controllers};
use coracle_journal::Recorder;
use coracle_meta::ObjectKey;
use coracle_secure_serving::MetricsListener;

use crate::commands::release_flags::ReleaseFlags;
use crate::commands::scheduler_configuration;
use crate::commands::up::unreadable;
use crate::exit;
use crate::flags::controller_manager::ControllerFlags;
use crate::flags::election::Election;
use crate::flags::scheduler_unused::SchedulerUnused;
use crate::flags::unused::Given;
use crate::interrupt::interrupted;
use crate::kubeconfig_file::{read, refused};
use crate::runtime::runtime;
use crate::runtime::server_ambient;

/// Runs the controllers alone.
#[derive(Debug, Args)]
pub(crate) struct ControllerManager {
    /// The kubeconfig: the address of the API server and the credentials
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// A flag of the controllers, as NAME=VALUE: the same as --NAME=VALUE
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// Serve /healthz and /metrics of the controllers on this address, without authentication
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    release: ReleaseFlags,
    #[command(flatten)]
    flags: Box<ControllerFlags>,
}

/// Runs the scheduler alone.
#[derive(Debug, Args)]
pub(crate) struct Scheduler {
    /// The kubeconfig: the address of the API server and the credentials; by default the one in the configuration
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1: profiles, plug-ins and their arguments
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve /healthz and /metrics of the scheduler on this address, without authentication
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    release: ReleaseFlags,
    #[command(flatten, next_help_heading = "Leader election")]
    election: Election,
    #[command(flatten)]
    unused: Given<SchedulerUnused>,
}

impl ControllerManager {
    pub(crate) fn run(mut self) -> Result<u8> {
        self.flags.update("--arg", &self.pairs)?;
        let (mut config, key_files) = (self.flags.config()?, self.flags.key_files()?);
        config.release = self.release.noted()?;
        let kubeconfig = read(&self.kubeconfig)?;
        // In Kubernetes, too, pods get the certificate authority that the program itself trusts.
        let authority = kubeconfig.certificate_authority.as_deref().unwrap_or_default();
        config.root_ca = String::from_utf8_lossy(authority).into_owned();
        read_keys(&key_files, &mut config).map_err(|error| unreadable(error.into()))?;
        let anonymous = kubeconfig.without_credentials().connect().map_err(refused)?;
        until_interrupted(&kubeconfig, |client, ambient, recorder, stop| async move {
            if let Some(address) = self.metrics {
                let metrics = config.metrics.clone();
                let listener = MetricsListener::bind(address, move || metrics.text()).await.context("--metrics")?;
                tokio::spawn(async move { match listener.serve().await {} });
            }
            let identities: Arc<dyn Identities> = if config.own_identity_for_all {
                Arc::new(client.clone())
            } else {
                Arc::new(ServiceAccounts { https: anonymous, asker: client.clone(), ambient: ambient.clone() })
            };
            let set = ControllerSet::default();
            Ok(controllers::run(config, client, identities, &set, ambient, recorder, stop).await)
        })
    }
}

/// The controllers' own identities, with tokens that the program requests.
struct ServiceAccounts {
    https: Https,
    asker: Client,
    ambient: Ambient,
}

impl Identities for ServiceAccounts {
    fn identity(&self, _: &str, account: &str) -> Identity {
        if account.is_empty() {
            return Identity::of(&self.asker);
        }
        let key = ObjectKey::new("kube-system", account);
        let clock = self.ambient.clock.clone();
        let transport = AsServiceAccount::new(self.https.clone(), &self.asker, key, clock);
        Identity::of(&Client::new(transport, &self.ambient))
    }
}

impl Scheduler {
    pub(crate) fn run(self) -> Result<u8> {
        self.unused.check()?;
        let release = self.release.noted()?;
        let configuration = |file: &Path| scheduler_configuration::read(&release, "--config", file);
        let read_file = self.config.as_deref().map(configuration).transpose()?;
        let (mut config, said, named) = match read_file {
            Some(Configuration { config, leader_election, kubeconfig, .. }) => (config, leader_election, kubeconfig),
            None => (coracle_cluster::scheduler::Config::of(&release), None, None),
        };
        config.leader_election = self.election.timings(said)?;
        let Some(kubeconfig) = self.kubeconfig.or(named.map(PathBuf::from)) else {
            return Err(exit::Usage(
                "--kubeconfig is required, because the configuration names no kubeconfig".to_owned(),
            )
            .into());
        };
        until_interrupted(&read(&kubeconfig)?, |client, ambient, recorder, stop| async move {
            if let Some(address) = self.metrics {
                let metrics = config.metrics.clone();
                let listener = MetricsListener::bind(address, move || metrics.text()).await.context("--metrics")?;
                tokio::spawn(async move { match listener.serve().await {} });
            }
            Ok(coracle_cluster::scheduler::run(config, client, ambient, recorder, stop).await)
        })
    }
}

/// A future that completes when the process must stop.
pub(crate) type Stop = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

pub(crate) fn until_interrupted<F: Future<Output = Result<Ended>>>(
    kubeconfig: &Kubeconfig,
    run: impl FnOnce(Client, Ambient, Recorder, Stop) -> F,
) -> Result<u8> {
    let service = kubeconfig.connect().map_err(refused)?;
    runtime()?.block_on(async {
        let ambient = server_ambient();
        let client = Client::new(service, &ambient);
        let (said, code) = tokio::sync::oneshot::channel();
        let stop = Box::pin(async move {
            let _ = said.send(interrupted().await);
        });
        if run(client, ambient, Recorder::off(), stop).await? == Ended::LeadershipLost {
            anyhow::bail!("leader election lost: another process may act now");
        }
        Ok(code.await.unwrap_or(exit::FAILED))
    })
}
