use coracle_release::Release;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::commands::mcp::embedded_cluster::EmbeddedOptions;
use crate::commands::mcp::session::{Session, none_runs};
use crate::commands::mcp::tool::{Tool, ToolEffect};
use crate::commands::mcp::tool_answer::{Refusal, ToolAnswer};
use crate::commands::time_flag::TimeFlag;

/// The options that a cluster and an exercise have in common.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Common {
    /// The release of Kubernetes, such as "1.36"; the newest by default.
    kubernetes: Option<String>,
    /// "stepped" (the default): the clock stands still until a tool advances it. "real", or "scaled=N": N times as fast.
    time: Option<String>,
    /// The seed of all randomness, such as the suffixes of pod names; 1 by default.
    seed: Option<u64>,
    /// Whether other programs, such as kubectl, may connect on loopback; the answer then has a kubeconfig. By default
    /// nothing listens.
    listen: Option<bool>,
}

impl Common {
    /// The options of a cluster with so many nodes.
    pub(super) fn options(&self, nodes: usize) -> Result<EmbeddedOptions, Refusal> {
        let release = self.kubernetes.as_deref().map(Release::named).transpose();
        let kubernetes = release.map_err(|error| Refusal::new(format!("kubernetes: {error}")))?;
        let time = self.time.as_deref().map_or(Ok(TimeFlag::Stepped), str::parse);
        let time = time.map_err(|error: String| Refusal::new(format!("time: {error}")))?;
        let listens = self.listen.unwrap_or_default();
        Ok(EmbeddedOptions { nodes, kubernetes, time, seed: self.seed.unwrap_or(1), listens })
    }
}

/// Starts a cluster.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StartClusterTool {
    /// The number of simulated nodes, node-1 and so on; 2 by default, at most 1000.
    #[schemars(range(max = 1000))]
    nodes: Option<usize>,
    #[serde(flatten)]
    common: Common,
}

/// The largest number of nodes: an agent that writes a larger one has mistaken something.
const MOST_NODES: usize = 1000;

impl Tool for StartClusterTool {
    const NAME: &'static str = "start_cluster";
    const ABOUT: &'static str = "Start a Kubernetes cluster in memory, with simulated nodes that are Ready. It lasts until \
        stop_cluster. For a broken cluster to repair, use start_exercise.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

    async fn run(self, session: &mut Option<Session>) -> Result<ToolAnswer, Refusal> {
        none_runs(session)?;
        let nodes = self.nodes.unwrap_or(2);
        if nodes > MOST_NODES {
            return Err(Refusal::new(format!("nodes: {nodes} is more than {MOST_NODES}")));
        }
        let started = Session::start(self.common.options(nodes)?).await?;
        let described = started.described().await?;
        *session = Some(started);
        Ok(ToolAnswer::Json(described))
    }
}
