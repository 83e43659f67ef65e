use axum::body::Body;
use coracle_registry::Registry;
use http::{Response, StatusCode};

use crate::answer::respond::{self, text};
use crate::query::Query;
use crate::shutdown::Shutdown;

/// The three endpoints and their checks, in the order of the report.
const CHECKS: [(&str, &[&str]); 3] = [
    ("healthz", &["ping", "log", "etcd"]),
    ("livez", &["ping", "log", "etcd"]),
    ("readyz", &["ping", "log", "etcd", "etcd-readiness", "informer-sync", "shutdown"]),
];

/// Serves `/healthz`, `/livez`, `/readyz` and single checks below them; `None` for any other path.
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
        return Some(if checks.contains(&single) {
            match check(registry, shutdown, name, single).await {
                Ok(()) => text(StatusCode::OK, "ok"),
                Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {single} failed\n")),
            }
        } else {
            respond::not_found_page()
        });
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut report = String::new();
    let mut failed = Vec::new();
    for check_name in checks {
        if excluded.contains(check_name) {
            report.push_str(&format!("[+]{check_name} excluded: ok\n"));
            continue;
        }
        match check(registry, shutdown, name, check_name).await {
            Ok(()) => report.push_str(&format!("[+]{check_name} ok\n")),
            Err(why) => {
                report.push_str(&format!("[-]{check_name} failed: {why}\n"));
                failed.push(*check_name);
            }
        }
    }
    for unknown in excluded.iter().filter(|name| !checks.contains(name)) {
        report.push_str(&format!("warn: some health checks cannot be excluded: no matches for {unknown:?}\n"));
    }
    if !failed.is_empty() {
        return Some(text(StatusCode::INTERNAL_SERVER_ERROR, format!("{report}{name} check failed\n")));
    }
    if query.get("verbose").is_some() {
        return Some(text(StatusCode::OK, format!("{report}{name} check passed\n")));
    }
    Some(text(StatusCode::OK, "ok"))
}

/// The reason in most failures, because clients without credentials can read it.
const WITHHELD: &str = "reason withheld";

/// Runs one check of an endpoint; the error is the reported reason. `ping` always passes.
///
/// Unlike Kubernetes: a server that cannot write is not ready, and reports which disk is full: that of the store, or
/// that of the event log.
async fn check(registry: &Registry, shutdown: &Shutdown, question: &str, name: &str) -> Result<(), &'static str> {
    match (question, name) {
        (_, "etcd") => registry.storage().store().status().await.map(drop).map_err(|_| WITHHELD),
        (_, "etcd-readiness") => match registry.storage().store().status().await {
            Ok(status) if status.no_space => Err("the store cannot write: no space left"),
            Ok(_) => Ok(()),
            Err(_) => Err(WITHHELD),
        },
        ("readyz", "log") if registry.recorder().failure().is_some() => Err("the event log cannot be written"),
        (_, "shutdown") if shutdown.has_begun() => Err(WITHHELD),
        _ => Ok(()),
    }
}
