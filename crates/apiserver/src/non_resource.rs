//! Paths that are not resources: documents, health, metrics.

use axum::body::Body;
use coracle_meta::Status;
use coracle_release::Release;
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::json;

use crate::answer::negotiate::{Format, routed};
use crate::answer::respond;
use crate::answer::respond::{json as json_answer, text};
use crate::documents::health;
use crate::documents::openapi::Served;
use crate::documents::zpages::{Zpage, ZpageFacts};
use crate::front::endpoint;
use crate::front::received::Received;
use crate::server::ApiServer;

/// Serves a path that is not a resource.
pub(crate) async fn serve(server: &ApiServer, received: &Received) -> Result<Response<Body>, Status> {
    let (path, headers, query) = (received.info.path.as_str(), &received.headers, &received.query);
    let (kinds, extensions) = (server.registry.kinds(), server.registry.extensions());
    if path.starts_with("//") {
        return Ok(respond::not_found_page());
    }
    let trimmed = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if let Some(answer) = health::serve(&server.registry, &server.shutdown, query, trimmed).await {
        return Ok(answer);
    }
    let reads = matches!(received.method, Method::GET | Method::HEAD);
    if let Some(answer) = server.discovery.serve(&kinds, &extensions, headers, query, trimmed) {
        return if reads { answer } else { Err(endpoint::method_not_allowed()) };
    }
    let served = Served { release: server.registry.release(), kinds: &kinds, extensions: &extensions };
    if let Some(answer) = server.openapi.serve(served, headers, query, trimmed) {
        return if reads { answer } else { Err(endpoint::method_not_allowed()) };
    }
    if let Some(document) = server.documents.iter().find(|document| document.path == trimmed) {
        let mut response = json_answer(document.body.clone());
        if let Ok(media_type) = HeaderValue::from_str(&document.media_type) {
            response.headers_mut().insert(http::header::CONTENT_TYPE, media_type);
        }
        response.headers_mut().insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        return Ok(response);
    }
    if let Some(page) = zpage(server, trimmed) {
        let now = server.registry.ambient().clock.now();
        let version = server.registry.release().version().to_owned();
        let (started, paths) = (server.started, paths(server));
        return page.answer(&ZpageFacts { started, now, version, paths }, headers);
    }
    match trimmed {
        "/" => Ok(json_answer(json!({"paths": paths(server)}).to_string())),
        "/version" => {
            routed(headers, &[Format::Json])?;
            Ok(json_answer(version(server.registry.release())))
        }
        "/metrics" => {
            server.forget_unserved();
            let mut response = text(
                StatusCode::OK,
                server.metrics.exposition(server.registry.release(), &server.in_flight, server.audit.as_ref()),
            );
            let media_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
            response.headers_mut().insert(http::header::CONTENT_TYPE, media_type);
            Ok(response)
        }
        path => Err(nothing_at(server, path)),
    }
}

/// The page for people at a path, if the release has it.
fn zpage(server: &ApiServer, path: &str) -> Option<Zpage> {
    let page = Zpage::at(path)?;
    server.registry.release().enabled(page.feature()).then_some(page)
}

/// 404 for an unknown path, which may be below a served path.
fn nothing_at(server: &ApiServer, path: &str) -> Status {
    let below = |root: &str| path.strip_prefix(root)?.strip_prefix('/');
    if below("/version").is_some() || server.documents.iter().any(|document| below(&document.path).is_some()) {
        return endpoint::no_such_resource();
    }
    let group = match (below("/api"), below("/apis")) {
        (Some(_), _) => "",
        (_, Some(rest)) => rest.split('/').next().unwrap_or_default(),
        _ => return respond::no_such_page(),
    };
    endpoint::nothing_at(&server.registry.kinds(), group)
}

/// The paths in the response of `/`.
fn paths(server: &ApiServer) -> Vec<String> {
    let mut paths: Vec<String> = vec!["/api".into(), "/apis".into()];
    for kind in server.registry.kinds().iter() {
        let version = kind.gvk().group_version();
        if version.group.is_empty() {
            paths.push(format!("/api/{}", version.version));
        } else {
            paths.push(format!("/apis/{}", version.group));
            paths.push(format!("/apis/{version}"));
        }
    }
    for extension in server.registry.extensions().iter() {
        paths.push(format!("/apis/{}", extension.version.group));
        paths.push(format!("/apis/{}", extension.version));
    }
    for fixed in ["/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"] {
        paths.push(fixed.to_owned());
    }
    let pages = ["/flagz", "/statusz"].into_iter().filter(|path| zpage(server, path).is_some());
    paths.extend(pages.map(str::to_owned));
    paths.extend(server.documents.iter().map(|document| document.path.clone()));
    paths.sort();
    paths.dedup();
    paths
}

fn version(release: &Release) -> String {
    let (major, minor) = release.major_minor();
    let oldest_minor = release.oldest_compatible_minor();
    let platform = format!("{}/{}", std::env::consts::OS, go_architecture());
    // The order of the members is that of Go's `version.Info`.
    let members = [
        ("major", major),
        ("minor", minor),
        ("emulationMajor", major),
        ("emulationMinor", minor),
        ("minCompatibilityMajor", major),
        ("minCompatibilityMinor", &oldest_minor),
        ("gitVersion", release.git_version()),
        ("gitCommit", ""),
        ("gitTreeState", "clean"),
        ("buildDate", "1970-01-01T00:00:00Z"),
        ("goVersion", ""),
        ("compiler", "rustc"),
        ("platform", &platform),
    ];
    let lines = members.map(|(name, value)| format!("  {}: {}", json!(name), json!(value)));
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// Go's name of the machine's architecture.
fn go_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
