//! Connects the metrics server to the API server of this process.

use std::sync::Arc;

use coracle_metrics_server::{MetricsServer, SERVICE};

pub use coracle_metrics_server::settle;

use crate::node_transport::NodeTransports;
use crate::{ApiServerOptions, Transport};

/// The API server of `options` serves `metrics.k8s.io` with the usage of these nodes.
pub fn answer_for(options: &mut ApiServerOptions, nodes: NodeTransports) {
    let (namespace, name) = SERVICE;
    options.service_routes.answer_for_service(namespace, name, Transport::to(MetricsServer::new(Arc::new(nodes))));
}
