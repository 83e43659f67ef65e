//! The OpenAPI documents: `/openapi/v2` and `/openapi/v3`.
//!
//! In Kubernetes: `kube-openapi/pkg/handler` and `handler3`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use coracle_meta::Status;
use coracle_registry::{Extensions, Kind, Kinds};
use coracle_release::Release;
use coracle_schema::openapi::{self, Descriptions, Published};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::answer::respond::{json as json_answer, text};
use crate::documents::etag;
use crate::documents::merged_openapi::merge;
use crate::documents::openapi_protobuf;
use crate::query::Query;

/// The media type with which clients request v2 in protobuf, without the separator and version at its end.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2";

/// The media type of the response.
const V2_PROTOBUF_ANSWERED: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The documents of one set of kinds, created on first request.
pub(crate) struct OpenApi {
    descriptions: Arc<dyn Descriptions + Send + Sync>,
    made: Mutex<Made>,
}

/// The content of the documents.
#[derive(Clone, Copy)]
pub(crate) struct Served<'a> {
    pub(crate) release: &'a Release,
    pub(crate) kinds: &'a Kinds,
    pub(crate) extensions: &'a Extensions,
}

#[derive(Default)]
struct Made {
    /// The versions of the kinds and of the extension API servers.
    versions: (u64, u64),
    documents: BTreeMap<String, Document>,
}

/// A document: its text and its ETag.
#[derive(Clone)]
struct Document {
    hash: String,
    body: Bytes,
}

impl OpenApi {
    /// No documents yet; descriptions come from `descriptions`.
    pub(crate) fn new(descriptions: Arc<dyn Descriptions + Send + Sync>) -> Self {
        Self { descriptions, made: Mutex::default() }
    }

    /// Serves `/openapi/v2`, `/openapi/v3` and the paths below; `None` for any other path.
    pub(crate) fn serve(
        &self,
        served: Served<'_>,
        headers: &HeaderMap,
        query: &Query,
        path: &str,
    ) -> Option<Result<Response<Body>, Status>> {
        let path = path.strip_prefix("/openapi/")?;
        match path.split_once('/') {
            None if path == "v3" => Some(Ok(index(served))),
            None if path == "v2" => Some(self.v2(served, headers)),
            Some(("v3", name)) => self.v3(served, headers, query, name).map(Ok),
            _ => None,
        }
    }

    fn v2(&self, served: Served<'_>, headers: &HeaderMap) -> Result<Response<Body>, Status> {
        let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
        let protobuf = accept.split(',').next().is_some_and(|first| first.trim().starts_with(V2_PROTOBUF));
        let name = if protobuf { "v2 in protobuf" } else { "v2" };
        let make = |resources: &[Published<'_>]| {
            let mut document = openapi::v2(served.release, resources, &*self.descriptions);
            served.extensions.iter().for_each(|extension| merge(&mut document, &extension.documents.openapi_v2));
            Some(if protobuf { openapi_protobuf::document(&document) } else { document.to_string().into_bytes() })
        };
        let missing = || Status::internal("there is no OpenAPI document");
        let document = self.document(served, name, make).ok_or_else(missing)?;
        let mut response = answer(headers, &document);
        if protobuf {
            let media_type = HeaderValue::from_static(V2_PROTOBUF_ANSWERED);
            response.headers_mut().insert(http::header::CONTENT_TYPE, media_type);
        }
        Ok(response)
    }

    fn v3(&self, served: Served<'_>, headers: &HeaderMap, query: &Query, name: &str) -> Option<Response<Body>> {
        let make = |resources: &[Published<'_>]| {
            Some(openapi::v3(served.release, name, resources, &*self.descriptions)?.to_string().into_bytes())
        };
        let document = self.document(served, name, make)?;
        let asked = query.text("hash");
        if !asked.is_empty() && asked != document.hash {
            let mut response = text(StatusCode::MOVED_PERMANENTLY, "");
            let location = HeaderValue::from_str(&url(name, &document.hash)).ok()?;
            response.headers_mut().insert(http::header::LOCATION, location);
            return Some(response);
        }
        let mut response = answer(headers, &document);
        if !asked.is_empty() {
            // The URL contains the hash, so its content never changes.
            let headers = response.headers_mut();
            headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        }
        Some(response)
    }

    fn document(
        &self,
        served: Served<'_>,
        name: &str,
        make: impl FnOnce(&[Published<'_>]) -> Option<Vec<u8>>,
    ) -> Option<Document> {
        let mut made = self.made.lock();
        let versions = (served.kinds.version, served.extensions.version);
        if made.versions != versions {
            *made = Made { versions, documents: BTreeMap::new() };
        }
        if let Some(known) = made.documents.get(name) {
            return Some(known.clone());
        }
        let body = Bytes::from(make(&published(served.kinds))?);
        let document = Document { hash: hash(served, name), body };
        made.documents.insert(name.to_owned(), document.clone());
        Some(document)
    }
}

fn published(kinds: &Kinds) -> Vec<Published<'_>> {
    kinds.iter().map(|kind| publish(kind)).collect()
}

fn publish(kind: &Kind) -> Published<'_> {
    let schema = kind.spec().published_schema.as_ref();
    let selectable = schema.and_then(|_| kind.strategy().selectable_fields()).unwrap_or_default();
    Published { row: kind.row(), schema, selectable }
}

/// The index, with the hash of each document, so that clients request only the documents that they do not have.
fn index(served: Served<'_>) -> Response<Body> {
    let names = openapi::v3_paths(&published(served.kinds));
    let mut paths: Map<String, Value> = names
        .into_iter()
        .map(|name| {
            let url = url(&name, &hash(served, &name));
            (name, json!({"serverRelativeURL": url}))
        })
        .collect();
    for extension in served.extensions.iter().filter(|extension| !extension.documents.openapi_v3.is_empty()) {
        let there = json!({"serverRelativeURL": extension.documents.openapi_v3});
        paths.insert(format!("apis/{}", extension.version), there);
    }
    text(StatusCode::OK, json!({"paths": paths}).to_string())
}

fn url(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

/// A hash of the inputs of a document: the release for built-in kinds, and the definitions for custom kinds. The index
/// therefore does not need the documents.
fn hash(Served { release, kinds, extensions }: Served<'_>, name: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(env!("CARGO_PKG_VERSION"));
    digest.update(release.version());
    digest.update(name);
    for kind in kinds.iter() {
        let version = kind.gvk().group_version().to_string();
        if name.starts_with("v2") || name.ends_with(&version) {
            digest.update(kind.gvk().to_string());
            let published = publish(kind);
            digest.update(published.schema.map(Value::to_string).unwrap_or_default());
            digest.update(published.selectable.join(","));
        }
    }
    if name.starts_with("v2") {
        extensions.iter().for_each(|extension| digest.update(extension.documents.openapi_v2.to_string()));
    }
    digest.finalize().iter().map(|byte| format!("{byte:02X}")).collect()
}

fn answer(known: &HeaderMap, document: &Document) -> Response<Body> {
    let etag = format!("\"{}\"", document.hash);
    let mut response = if etag::matches(known, &etag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        json_answer(document.body.clone())
    };
    let headers = response.headers_mut();
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(http::header::ETAG, etag);
    }
    headers.insert(http::header::VARY, HeaderValue::from_static("Accept"));
    response
}
