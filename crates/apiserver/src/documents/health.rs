use axum::body::Body;
use coracle_registry::Registry;
use http::{Response, StatusCode};

use crate::answer::respond::{self, text};
use crate::front::query::Query;
use crate::shutdown::Shutdown;

/// The three questions and the checks that answer each, in the order in which they are told.
const CHECKS: [(&str, &[&str]); 3] = [
    ("healthz", &["ping", "log", "etcd"]),
    ("livez", &["ping", "log", "etcd"]),
    ("readyz", &["ping", "log", "etcd", "etcd-readiness", "informer-sync", "shutdown"]),
];

/// Answers `/healthz`, `/livez`, `/readyz` and single checks below them; `None` for any other path.
///
/// In Kubernetes: `server/healthz`.
pub(crate) async fn serve(
    registry: &Registry,
    shutdown: &Shutdown,
    query: &Query,
    path: &str,
) -> Option<Response<Body>> {
    let path = path.strip_prefix('/')?;
    let (question, single) = match path.split_once('/') {
        Some((question, single)) => (question, Some(single)),
        None => (path, None),
    };
    let (name, checks) = CHECKS.into_iter().find(|(name, _)| *name == question)?;
    if let Some(single) = single {
        return Some(match checks.contains(&single) {
            false => respond::not_found_page(),
            true if check(registry, shutdown, single).await => text(StatusCode::OK, "ok"),
            true => text(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {single} failed\n")),
        });
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut told = String::new();
    let mut failed = Vec::new();
    for check_name in checks {
        if excluded.contains(check_name) {
            told.push_str(&format!("[+]{check_name} excluded: ok\n"));
        } else if check(registry, shutdown, check_name).await {
            told.push_str(&format!("[+]{check_name} ok\n"));
        } else {
            told.push_str(&format!("[-]{check_name} failed: reason withheld\n"));
            failed.push(*check_name);
        }
    }
    for unknown in excluded.iter().filter(|name| !checks.contains(name)) {
        told.push_str(&format!("warn: some health checks cannot be excluded: no matches for {unknown:?}\n"));
    }
    if !failed.is_empty() {
        return Some(text(StatusCode::INTERNAL_SERVER_ERROR, format!("{told}{name} check failed\n")));
    }
    if query.get("verbose").is_some() {
        return Some(text(StatusCode::OK, format!("{told}{name} check passed\n")));
    }
    Some(text(StatusCode::OK, "ok"))
}

/// Whether one check passes. That the process answers at all passes `ping` and `log`.
async fn check(registry: &Registry, shutdown: &Shutdown, name: &str) -> bool {
    match name {
        "etcd" | "etcd-readiness" => registry.storage().store().status().await.is_ok(),
        "shutdown" => !shutdown.has_begun(),
        _ => true,
    }
}
