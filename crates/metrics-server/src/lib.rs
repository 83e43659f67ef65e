//! `metrics.k8s.io`: what pods and nodes use, served in this process as by an extension API server.
//!
//! ```text
//! aggregator --request--> MetricsRequest (pure) --registry: the objects; Nodes: their counters
//!                            \--window (pure)--> metrics, table (pure) --> response
//! ```
//! Nothing is scraped. For each request, the counters of the last two multiples of 15 s are read. Nodes of other
//! processes are asked with `/stats/summary` for these moments.
//! The versions of the group are those of the cluster's release (`versions`); they differ in nothing but their names.
//! Start at [`MetricsServer`]. In Kubernetes: `sigs.k8s.io/metrics-server`; its roles and objects are in `manifests`.
//! Not here: how the API server reaches the metrics server and the nodes (`cluster`).

mod documents;
mod install;
mod manifests;
mod metrics;
mod nodes;
mod request;
mod server;
mod summary;
mod table;
mod usage;
mod versions;
mod window;

pub use install::settle;
pub use nodes::Nodes;
pub use server::MetricsServer;

/// Namespace and name of the Service that leads to the metrics server.
pub const SERVICE: (&str, &str) = ("kube-system", "metrics-server");
const GROUP: &str = "metrics.k8s.io";
