//! Plain HTTP requests: health, version, metrics.

use bytes::Bytes;
use coracle_exposition::{Exposition, MetricKind, Observations};
use coracle_store::{Latency, StoreStatus};
use http::{Response, StatusCode};
use http_body_util::Full;
use tonic::body::Body;

use super::Shared;

impl Shared {
    /// Answers a plain request; `None` for an unknown `path`.
    pub(super) async fn plain(&self, path: &str) -> Option<Response<Body>> {
        let status = self.store.status().await;
        Some(match (path, status) {
            ("/health" | "/readyz" | "/livez", Ok(status)) if !status.no_space => {
                json(StatusCode::OK, r#"{"health":"true","reason":""}"#)
            }
            ("/health" | "/readyz" | "/livez", Ok(_)) => {
                json(StatusCode::SERVICE_UNAVAILABLE, r#"{"health":"false","reason":"ALARM NOSPACE"}"#)
            }
            ("/health" | "/readyz" | "/livez", Err(_)) => {
                json(StatusCode::SERVICE_UNAVAILABLE, r#"{"health":"false","reason":"STORE UNAVAILABLE"}"#)
            }
            ("/version", Ok(status)) => {
                let cluster = status.version.rsplit_once('.').map_or(&status.version[..], |(minor, _)| minor);
                let version = format!(r#"{{"etcdserver":"{}","etcdcluster":"{cluster}.0"}}"#, status.version);
                json(StatusCode::OK, &version)
            }
            ("/metrics", Ok(status)) => {
                let mut body = metrics(&status);
                self.counts.write(&mut body);
                text("text/plain; version=0.0.4; charset=utf-8", StatusCode::OK, body.into_text())
            }
            ("/version" | "/metrics", Err(error)) => {
                text("text/plain; charset=utf-8", StatusCode::SERVICE_UNAVAILABLE, error.to_string())
            }
            _ => return None,
        })
    }
}

fn json(code: StatusCode, body: &str) -> Response<Body> {
    text("application/json", code, body.to_owned())
}

pub(super) fn text(kind: &'static str, code: StatusCode, body: String) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::new(Bytes::from(body))));
    *response.status_mut() = code;
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

/// etcd's metrics, with etcd's names.
fn metrics(status: &StoreStatus) -> Exposition {
    let gauges = [
        ("etcd_mvcc_db_total_size_in_bytes", "Bytes of the data, on disk if there is one.", status.size_bytes),
        ("etcd_mvcc_db_total_size_in_use_in_bytes", "Bytes of the live data.", status.size_in_use_bytes),
        ("etcd_debugging_mvcc_current_revision", "The newest revision.", status.revision),
        ("etcd_debugging_mvcc_compact_revision", "Up to where history is gone.", status.compacted),
        ("etcd_debugging_mvcc_watcher_total", "Open watches.", count(status.watchers)),
        ("etcd_debugging_mvcc_slow_watcher_total", "Watches with events to fetch.", count(status.lagging_watchers)),
        ("etcd_server_has_leader", "Always 1: there is one member.", 1),
        ("etcd_server_is_leader", "Always 1: there is one member.", 1),
        ("etcd_server_quota_backend_bytes", "Always 0: there is no quota, only the disk.", 0),
    ];
    let mut text = Exposition::default();
    for (name, help, value) in gauges {
        text.metric(name, MetricKind::Gauge, help);
        text.sample(name, &[], value);
    }
    if let Some(bytes) = resident_bytes() {
        let name = "process_resident_memory_bytes";
        text.metric(name, MetricKind::Gauge, "Resident memory size in bytes.");
        text.sample(name, &[], bytes);
    }
    histogram(
        &mut text,
        "etcd_disk_wal_fsync_duration_seconds",
        "How long the disk took to confirm a group of commits.",
        &status.disk_syncs,
    );
    histogram(
        &mut text,
        "etcd_disk_backend_commit_duration_seconds",
        "How long a group of commits took from the first byte until it was on disk.",
        &status.disk_writes,
    );
    let name = "etcd_server_version";
    text.metric(
        name,
        MetricKind::Gauge,
        "Which version is running. 1 for 'server_version' label with current version.",
    );
    text.sample(name, &[("server_version", &status.version)], 1);
    text
}

/// The resident memory of the process; only on Linux.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?;
    Some(kib.trim().parse::<u64>().ok()? * 1024)
}

fn histogram(text: &mut Exposition, name: &str, help: &str, latency: &Latency) {
    let seconds = |micros: u64| micros as f64 / 1e6;
    text.metric(name, MetricKind::Histogram, help);
    let cumulative = latency.cumulative.iter().map(|(micros, below)| (seconds(*micros), *below));
    let observed = Observations { cumulative, count: latency.count, sum: seconds(latency.sum_micros) };
    text.histogram(name, &[], observed);
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
