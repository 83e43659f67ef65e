//! `coracle mcp`: clusters in this process for agents and graders, over the Model Context Protocol.
//!
//! ```text
//! agent --JSON-RPC on standard input and output--> Server: list_tools, call_tool --> tools, one file each --> Session
//!     Session --requests in this process--> ControlledCluster: the API, and the paths of the control endpoint
//! ```
//! Start at [`tools::TOOLS`]. A tool decides nothing: it sends requests to the API server or to the control endpoint, and
//! passes on what they answer. Not here: the protocol itself (the crate `rmcp`), and the control of clusters (`control`).

mod embedded_cluster;
mod episode;
mod resources;
mod server;
mod session;
mod table;
mod tool;
mod tool_answer;
mod tools;

use anyhow::{Context, Result};
use clap::Args;
use rmcp::ServiceExt;
use rmcp::transport::stdio;

use crate::exit;
use crate::runtime::runtime;
use server::Server;

const EXAMPLES: &str = "Example: the configuration of an agent that starts MCP servers as programs
  {\"mcpServers\": {\"coracle\": {\"command\": \"coracle\", \"args\": [\"mcp\"]}}}";

/// Serves the Model Context Protocol on standard input and output.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mcp {}

impl Mcp {
    pub(crate) fn run(self) -> Result<u8> {
        let Self {} = self;
        let runtime = runtime()?;
        let served = runtime.block_on(serve());
        // A read of standard input cannot be cancelled.
        runtime.shutdown_background();
        served
    }
}

/// Serves one client until it closes standard input.
async fn serve() -> Result<u8> {
    let server = Server::default();
    let ending = server.clone();
    let running = server.serve(stdio()).await.context("the client ended before it was initialized")?;
    let ended = running.waiting().await;
    ending.end().await;
    ended.context("the server panicked")?;
    Ok(exit::PASS)
}
