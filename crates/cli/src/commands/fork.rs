//! `coracle fork`: second clusters that continue from a state of a running one.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use coracle_meta::percent;
use coracle_pki::write_private;
use http::Method;
use serde_json::{Map, Value};

use crate::cluster_api::control;
use crate::commands::env::ClusterArgs;
use crate::exit;
use crate::output::out;
use crate::runtime::runtime;

const EXAMPLES: &str = "Examples:
  coracle fork                                 prints where the kubeconfig of the fork is
  coracle fork --at 412 --kubeconfig-out f.yaml
  coracle fork list
  coracle fork stop fork-1";

/// Starts a second cluster in the same server, which continues from a state of the first. It has its own address, clock
/// and faults, and ends with the server.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct ForkCommand {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The revision from which it continues [default: the state of now]
    #[arg(long, value_name = "REVISION", value_parser = clap::value_parser!(i64).range(1..))]
    at: Option<i64>,
    /// The snapshot from which it continues, as kept by `coracle reset --keep`
    #[arg(long, value_name = "NAME", conflicts_with = "at")]
    snapshot: Option<String>,
    /// Where its kubeconfig is written [default: fork-N.kubeconfig in the state folder]
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the forks that run
    List,
    /// Stop a fork
    Stop {
        /// Its name, such as fork-1
        name: String,
    },
}

impl ForkCommand {
    pub(crate) fn run(self) -> Result<u8> {
        let server = self.cluster.connect()?;
        let runtime = runtime()?;
        match &self.action {
            None => {
                let forked = runtime.block_on(control(&server, Method::POST, "forks", Some(self.from())))?;
                self.started(&forked)
            }
            Some(Action::List) => {
                let answer = runtime.block_on(control(&server, Method::GET, "forks", None))?;
                for fork in answer["forks"].as_array().into_iter().flatten() {
                    let text = |name: &str| fork[name].as_str().unwrap_or_default();
                    out!("{}  {}  from revision {}", text("name"), text("server"), fork["revision"])?;
                }
                Ok(exit::PASS)
            }
            Some(Action::Stop { name }) => {
                let path = format!("forks/{}", percent::component(name));
                runtime.block_on(control(&server, Method::DELETE, &path, None))?;
                out!("{name} stopped")?;
                Ok(exit::PASS)
            }
        }
    }

    fn from(&self) -> Value {
        let mut from = Map::new();
        if let Some(revision) = self.at {
            from.insert("revision".to_owned(), revision.into());
        }
        if let Some(name) = &self.snapshot {
            from.insert("snapshot".to_owned(), name.as_str().into());
        }
        from.into()
    }

    /// Writes the kubeconfig, and says where the fork is.
    fn started(&self, forked: &Value) -> Result<u8> {
        let text = |name: &str| forked[name].as_str().unwrap_or_default();
        let own = || self.cluster.folder().path().join(format!("{}.kubeconfig", text("name")));
        let file = self.kubeconfig_out.clone().unwrap_or_else(own);
        write_private(&file, text("kubeconfig")).with_context(|| format!("cannot write {}", file.display()))?;
        out!("{}  {}  from revision {}", text("name"), text("server"), forked["revision"])?;
        out!("export KUBECONFIG={}", file.display())?;
        Ok(exit::PASS)
    }
}
