use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::Mutex;

use super::session::Session;
use super::tools::TOOLS;

/// What an agent reads before its first call.
const INSTRUCTIONS: &str = "\
Coracle is a Kubernetes control plane in this process, with simulated nodes: its API, controllers and scheduler are those \
of Kubernetes, and no containers run. Start with start_cluster, or with start_exercise for a broken cluster to repair. By \
default the clock of the cluster stands still: after a change, call wait, settle or advance_time, otherwise nothing that \
needs time happens. The same seed and the same calls give the same names and the same results.";

/// The server of one client. Clones are the same server.
#[derive(Clone, Default)]
pub(super) struct Server {
    /// One call at a time: what a call sees is what the calls before it left.
    session: Arc<Mutex<Option<Session>>>,
}

impl Server {
    /// Stops the cluster, if one runs.
    pub(super) async fn end(&self) {
        if let Some(session) = self.session.lock().await.take() {
            session.end().await;
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("coracle", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(|tool| tool.describe()).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).map(|tool| tool.describe())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            let why = format!("there is no tool {:?}; there are: {}", request.name, names.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        };
        let mut session = self.session.lock().await;
        Ok(tool.call(request.arguments.unwrap_or_default(), &mut session).await.into())
    }
}
