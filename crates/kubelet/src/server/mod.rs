//! The kubelet's API: logs, commands, usage, metrics.

mod node_readings;
pub(crate) mod node_routes;
pub(crate) mod node_server;
pub(crate) mod remote_command;
