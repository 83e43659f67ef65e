//! `coracle reset`: snapshots in the memory of a running cluster, and resets to them.

use anyhow::Result;
use clap::Args;
use coracle_control::START;
use coracle_meta::percent;
use http::Method;
use serde_json::{Value, json};

use crate::cluster_api::control;
use crate::commands::env::ClusterArgs;
use crate::exit;
use crate::output::out;
use crate::runtime::runtime;

const EXAMPLES: &str = "Examples:
  coracle reset --keep base                    keeps the state of now under a name
  coracle reset base                           goes back to it, in milliseconds
  coracle reset                                goes back to the state in which the server started
  coracle reset --list";

/// Resets a cluster in memory to an earlier state.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reset {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The state: `start`, or a name that --keep gave
    #[arg(value_name = "NAME", default_value = START)]
    snapshot: String,
    /// Keep the state of now under this name, and reset nothing
    #[arg(long, value_name = "NAME", conflicts_with_all = ["snapshot", "list"])]
    keep: Option<String>,
    /// List the states that are kept
    #[arg(long, conflicts_with = "snapshot")]
    list: bool,
}

impl Reset {
    pub(crate) fn run(self) -> Result<u8> {
        let server = self.cluster.connect()?;
        let runtime = runtime()?;
        if let Some(name) = &self.keep {
            let path = format!("snapshots/{}", percent::component(name));
            let kept = runtime.block_on(control(&server, Method::PUT, &path, None))?;
            out!("snapshot/{name} kept at revision {}", kept["revision"])?;
            return Ok(exit::PASS);
        }
        if self.list {
            let kept = runtime.block_on(control(&server, Method::GET, "snapshots", None))?;
            for snapshot in kept["snapshots"].as_array().into_iter().flatten() {
                let text = |name: &str| snapshot[name].as_str().unwrap_or_default();
                out!("snapshot/{}  revision {}  {}", text("name"), snapshot["revision"], text("at"))?;
            }
            return Ok(exit::PASS);
        }
        let body: Value = json!({"snapshot": self.snapshot});
        let state = runtime.block_on(control(&server, Method::POST, "reset", Some(body)))?;
        let now = state["now"].as_str().unwrap_or_default();
        out!("{now}  reset to {} at revision {}", self.snapshot, state["revision"])?;
        Ok(exit::PASS)
    }
}
