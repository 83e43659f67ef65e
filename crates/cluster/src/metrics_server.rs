//! Connects the metrics server to the API server of this process.

use std::sync::Arc;

use coracle_metrics_server::{MetricsServer, SERVICE};

pub use coracle_metrics_server::settle;

use crate::node_transport::NodeTransports;
use crate::{ApiServerSpec, Transport};

/// The API server of `spec` serves `metrics.k8s.io` with the usage of these nodes.
pub fn answer_for(spec: &mut ApiServerSpec, nodes: NodeTransports) {
    let (namespace, name) = SERVICE;
    spec.service_routes.answer_for_service(namespace, name, Transport::to(MetricsServer::new(Arc::new(nodes))));
}
