//! A node: its Node object, its agent, and its machine with what runs there.

pub(crate) mod addresses;
pub(crate) mod agent;
pub(crate) mod credentials;
pub(crate) mod exec_context;
pub(crate) mod heartbeat;
pub(crate) mod machine;
pub(crate) mod node_status;
pub(crate) mod node_switches;
pub(crate) mod nodes;
pub(crate) mod pod_key;
pub(crate) mod pod_view;
pub(crate) mod pressure;
pub(crate) mod registration;
pub(crate) mod saved_nodes;
pub(crate) mod shutdown;
