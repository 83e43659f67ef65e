use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use coracle_cluster::{ApiServer, NodeTransports, StoreSpec, metrics_server};
use coracle_journal::Recorder;
use coracle_scenario::{FaultyServer, RunningFaults};
use coracle_sim::Wire;

use crate::commands::audit_flags::close;
use crate::commands::etcd_servers::EtcdServersFlags;
use crate::commands::server_flags::{IDENTITIES, ServerFlags};
use crate::commands::service_account_flags::sign_by;
use crate::commands::up::{run_on_worker, service_account_key};
use crate::exit;
use crate::faults_api::{cause, read_faults};
use crate::flags::headings::STORE;
use crate::interrupt::interrupted;
use crate::output::{note, out};
use crate::runtime::server_ambient;
use crate::state::ignore_in_git;

/// Runs an API server alone.
#[derive(Debug, Args)]
pub(crate) struct Apiserver {
    /// The storage of the state: `memory` or `sled:DIR`
    #[arg(long, conflicts_with = "etcd_servers")]
    store: Option<String>,
    /// The folder of the certificate authority; the kubeconfigs of the other components are written there
    #[arg(long, value_name = "DIR", default_value = ".coracle/pki")]
    cert_dir: PathBuf,
    /// Serve the resource usage of pods as metrics.k8s.io, as metrics-server does [default: false]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    metrics_server: Option<bool>,
    /// Cause the faults of this file, in the format of `faults:` in a scenario, when the API server is ready; without
    /// those of components and nodes. `coracle fault` lists, adds and removes faults
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,
    #[command(flatten, next_help_heading = STORE)]
    etcd: EtcdServersFlags,
    #[command(flatten, next_help_heading = None::<&'static str>)]
    server: ServerFlags,
}

/// Creates the folder of the authority if it does not exist, and lets git ignore it: it contains keys.
fn make_cert_dir(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| exit::Usage(format!("--cert-dir {}: {error}", folder.display())))?;
    ignore_in_git(folder)
}

impl Apiserver {
    pub(crate) fn run(self) -> Result<u8> {
        run_on_worker(self.serve())
    }

    async fn serve(self) -> Result<u8> {
        let store = self.store_spec()?;
        let server = FaultyServer { has_components: false, has_store_in_memory: store == StoreSpec::Memory };
        let faults = read_faults(self.faults.as_deref(), server)?;
        make_cert_dir(&self.cert_dir)?;
        let mut spec = self.server.options(&self.cert_dir)?;
        let serving = self.server.open(&self.cert_dir, 6443, &mut spec).await?;
        self.server.kubelet_client.set_or_make(&mut spec, &serving.authority)?;
        for (file, user, groups) in IDENTITIES {
            serving.write_kubeconfig(&self.cert_dir.join(format!("{file}.kubeconfig")), user, groups)?;
        }
        self.server.advertise(&mut spec, serving.listener.address());
        sign_by(&mut spec.service_accounts, || service_account_key(&self.cert_dir))?;
        let (ambient, recorder) = (server_ambient(), Recorder::off());
        let store = store.open_killable(&ambient, &recorder).await?;
        let nodes = NodeTransports::new(&spec)?;
        let serves_metrics = self.metrics_server.unwrap_or(false);
        if serves_metrics {
            metrics_server::answer_for(&mut spec, nodes.clone());
        }
        let (objects, nodes) = (Arc::clone(&store.store), Arc::new(nodes));
        let api_server = ApiServer::start(&spec, objects, nodes, &ambient, &recorder).await?;
        metrics_server::settle(api_server.registry(), serves_metrics).await.map_err(coracle_cluster::Error::from)?;
        if store.is_shared() {
            api_server.follow();
        }
        api_server.advertise(&spec, store.is_shared()).await?;
        let wire = Wire::default();
        let running_faults = RunningFaults::of_api_server(&api_server, &store, &recorder, &wire);
        cause(&running_faults, faults.as_ref()).await?;
        out!("API server ready at {}; kubeconfigs in {}", serving.url(), self.cert_dir.display())?;
        for limit in api_server.limits() {
            note!("note: {limit}");
        }
        let mut code = Ok(exit::PASS);
        let stop = async {
            code = api_server.unless_ended(interrupted()).await;
            // An API server stops without faults.
            running_faults.remove(|_| true);
            api_server.stop().await;
        };
        let front = coracle_control::faults_in_front_of(api_server.transport_behind(&wire.layer()), &running_faults);
        serving.listener.serve(front, stop).await;
        close(spec.audit.as_ref());
        store.close().await;
        Ok(code?)
    }

    fn store_spec(&self) -> Result<StoreSpec> {
        match self.store.as_deref() {
            None if self.etcd.etcd_servers.is_empty() => Err(exit::Usage(
                "a store is required: --store memory, --store sled:DIR or --etcd-servers URLS".to_owned(),
            )
            .into()),
            None => Ok(StoreSpec::Etcd(self.etcd.read()?)),
            Some("memory") => Ok(StoreSpec::Memory),
            Some(other) => match other.strip_prefix("sled:") {
                Some(folder) if !folder.is_empty() => Ok(StoreSpec::Sled(PathBuf::from(folder))),
                _ => Err(exit::Usage(format!("--store `{other}` is neither `memory` nor `sled:DIR`")).into()),
            },
        }
    }
}
