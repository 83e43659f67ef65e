use coracle_meta::Cidr;
use coracle_release::Release;

/// The configuration of the cluster that kinds need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The release of the API server.
    pub release: Release,
    /// The ranges of service addresses, the first of which is the default. In Kubernetes: `--service-cluster-ip-range`.
    pub service_cluster_ip_ranges: Vec<Cidr>,
    /// The first and the last node port. In Kubernetes: `--service-node-port-range`.
    pub service_node_ports: (u16, u16),
    /// The time to live of events, in seconds. In Kubernetes: `--event-ttl`.
    pub event_seconds: i64,
}

impl Default for Config {
    fn default() -> Self {
        let range = Cidr::parse("10.0.0.0/24").expect("a constant block of addresses");
        Self {
            release: Release::default(),
            service_cluster_ip_ranges: vec![range],
            service_node_ports: (30000, 32767),
            event_seconds: 3600,
        }
    }
}
