use std::sync::atomic::{AtomicU64, Ordering};

use coracle_exposition::{Exposition, MetricKind};

/// The counted requests: service, method, and whether it is a stream.
const COUNTED: [(&str, &str, &str); 13] = [
    ("etcdserverpb.KV", "Range", "unary"),
    ("etcdserverpb.KV", "Put", "unary"),
    ("etcdserverpb.KV", "DeleteRange", "unary"),
    ("etcdserverpb.KV", "Txn", "unary"),
    ("etcdserverpb.KV", "Compact", "unary"),
    ("etcdserverpb.KV", "RangeStream", "server_stream"),
    ("etcdserverpb.Watch", "Watch", "bidi_stream"),
    ("etcdserverpb.Lease", "LeaseGrant", "unary"),
    ("etcdserverpb.Lease", "LeaseRevoke", "unary"),
    ("etcdserverpb.Lease", "LeaseKeepAlive", "bidi_stream"),
    ("etcdserverpb.Lease", "LeaseTimeToLive", "unary"),
    ("etcdserverpb.Maintenance", "Status", "unary"),
    ("etcdserverpb.Maintenance", "Defragment", "unary"),
];

/// The number of client requests since the start.
#[derive(Debug, Default)]
pub(super) struct Counts([AtomicU64; COUNTED.len()]);

impl Counts {
    /// Counts a request by its path, `/etcdserverpb.KV/Range`.
    pub(super) fn count(&self, path: &str) {
        let Some((service, method)) = path.trim_start_matches('/').split_once('/') else { return };
        if let Some(place) = COUNTED.iter().position(|(of, name, _)| *name == method && *of == service) {
            self.0[place].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the counts with etcd's names.
    pub(super) fn write(&self, text: &mut Exposition) {
        const NAME: &str = "grpc_server_started_total";
        text.metric(NAME, MetricKind::Counter, "Total number of RPCs started on the server.");
        for ((service, method, kind), count) in COUNTED.iter().zip(&self.0) {
            let labels = [("grpc_method", *method), ("grpc_service", *service), ("grpc_type", *kind)];
            text.sample(NAME, &labels, count.load(Ordering::Relaxed));
        }
    }
}
