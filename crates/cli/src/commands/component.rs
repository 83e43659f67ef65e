use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_cluster::{Kubelet, NodeSpec, controllers};
use coracle_journal::Recorder;

use crate::commands::up::{controller_flags, runtime};
use crate::exit;
use crate::interrupt::interrupted;

/// Runs the controllers alone.
#[derive(Debug, Args)]
pub(crate) struct ControllerManager {
    /// How to reach the API server, and as whom
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// A flag of the controllers, as NAME=VALUE
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    flags: Vec<String>,
}

/// Runs the scheduler alone.
#[derive(Debug, Args)]
pub(crate) struct Scheduler {
    /// How to reach the API server, and as whom
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
}

/// Runs simulated nodes alone.
#[derive(Debug, Args)]
pub(crate) struct SimulatedNodes {
    /// How to reach the API server, and as whom
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// How many nodes to simulate, called node-1 and so on
    #[arg(long, default_value_t = 2)]
    nodes: usize,
}

impl ControllerManager {
    pub(crate) fn run(self) -> Result<u8> {
        let (config, warnings) = controller_flags(&self.flags)?;
        for warning in warnings {
            eprintln!("warning: {warning}");
        }
        until_interrupted(&self.kubeconfig, |client, ambient, recorder, stop| {
            controllers::run(config, client, ambient, recorder, stop)
        })
    }
}

impl Scheduler {
    pub(crate) fn run(self) -> Result<u8> {
        let config = coracle_cluster::scheduler::Config::default();
        until_interrupted(&self.kubeconfig, |client, ambient, recorder, stop| {
            coracle_cluster::scheduler::run(config, client, ambient, recorder, stop)
        })
    }
}

impl SimulatedNodes {
    pub(crate) fn run(self) -> Result<u8> {
        let nodes = (1..=self.nodes).map(|number| NodeSpec::new(format!("node-{number}"))).collect();
        let config = coracle_cluster::kubelet::Config { nodes, ..coracle_cluster::kubelet::Config::default() };
        until_interrupted(&self.kubeconfig, |client, ambient, recorder, stop| async move {
            Kubelet::new(config, client, ambient, recorder).run(stop).await;
        })
    }
}

/// A future that ends when the process is asked to stop.
type Stop = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn until_interrupted<F: Future<Output = ()>>(
    kubeconfig: &Path,
    run: impl FnOnce(Client, Ambient, Recorder, Stop) -> F,
) -> Result<u8> {
    runtime()?.block_on(async {
        let ambient = Ambient::system();
        let refused = |error| exit::Usage(format!("--kubeconfig: {error}"));
        let service = Kubeconfig::read(kubeconfig).and_then(|config| config.connect()).map_err(refused)?;
        let client = Client::new(service, &ambient);
        let (said, code) = tokio::sync::oneshot::channel();
        let stop = Box::pin(async move {
            let _ = said.send(interrupted().await);
        });
        run(client, ambient, Recorder::off(), stop).await;
        Ok(code.await.unwrap_or(exit::FAILED))
    })
}
