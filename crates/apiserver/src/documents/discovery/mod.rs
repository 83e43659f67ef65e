//! Discovery: the documents that list the served kinds.
//!
//! In Kubernetes: `endpoints/discovery` and `endpoints/discovery/aggregated`.

mod aggregated;
mod groups;
mod plain;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use coracle_meta::{GroupVersion, Status};
use coracle_registry::{Extensions, Kinds};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::answer::negotiate::{AggregatedVersion, Format, Negotiated, Offer, aggregated_version, negotiate};
use crate::answer::respond;
use crate::documents::etag;
use crate::query::Query;

/// The documents of one set of kinds, created on first request.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    /// The versions of the kinds and of the extension API servers.
    versions: (u64, u64),
    documents: BTreeMap<(String, Option<AggregatedVersion>), Option<Arc<Document>>>,
}

#[derive(Debug)]
struct Document {
    /// The document in JSON, with Kubernetes' order of members.
    json: String,
    etag: String,
}

impl Discovery {
    /// Serves `/api`, `/apis` and the paths directly below; `None` for any other path.
    pub(crate) fn serve(
        &self,
        kinds: &Kinds,
        extensions: &Extensions,
        headers: &HeaderMap,
        query: &Query,
        path: &str,
    ) -> Option<Result<Response<Body>, Status>> {
        let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
        if !matches!(steps.as_slice(), ["api" | "apis"] | ["api", _] | ["apis", _] | ["apis", _, _]) {
            return None;
        }
        let aggregated = if steps.len() == 1 { aggregated_version(headers) } else { None };
        let document = self.document(kinds, extensions, path.trim_matches('/'), aggregated)?;
        Some(answer(headers, query, &document, aggregated))
    }

    fn document(
        &self,
        kinds: &Kinds,
        extensions: &Extensions,
        path: &str,
        aggregated: Option<AggregatedVersion>,
    ) -> Option<Arc<Document>> {
        let mut made = self.made.lock();
        let versions = (kinds.version, extensions.version);
        if made.versions != versions {
            *made = Made { versions, documents: BTreeMap::new() };
        }
        let key = (path.to_owned(), aggregated);
        if let Some(known) = made.documents.get(&key) {
            return known.clone();
        }
        let document = json_at(kinds, extensions, path, aggregated).map(|json| {
            let digest = Sha256::digest(&json);
            let hex: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
            Arc::new(Document { json, etag: format!("\"{hex}\"") })
        });
        // Only existing documents are cached, so that unknown paths use no memory.
        if document.is_some() {
            made.documents.insert(key, document.clone());
        }
        document
    }
}

fn json_at(
    kinds: &Kinds,
    extensions: &Extensions,
    path: &str,
    aggregated: Option<AggregatedVersion>,
) -> Option<String> {
    match (path.split('/').collect::<Vec<_>>().as_slice(), aggregated) {
        (["api"], Some(version)) => aggregated::list(kinds, extensions, version, true),
        (["apis"], Some(version)) => aggregated::list(kinds, extensions, version, false),
        (["api"], None) => plain::core_versions(kinds, extensions),
        (["apis"], None) => plain::group_list(kinds, extensions),
        (["apis", name], _) => plain::group(kinds, extensions, name),
        (["api", version], _) => plain::resource_list(kinds, &GroupVersion::new("", *version)),
        (["apis", group, version], _) => plain::resource_list(kinds, &GroupVersion::new(*group, *version)),
        _ => None,
    }
}

fn answer(
    asked: &HeaderMap,
    query: &Query,
    document: &Document,
    aggregated: Option<AggregatedVersion>,
) -> Result<Response<Body>, Status> {
    let mut response = if aggregated.is_some() && etag::matches(asked, &document.etag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else if let Some(version) = aggregated {
        let mut response = respond::bytes(StatusCode::OK, Format::Json, format!("{}\n", document.json));
        let media_type = HeaderValue::from_static(version.media_type());
        response.headers_mut().insert(http::header::CONTENT_TYPE, media_type);
        response
    } else {
        let offer = Offer { formats: &Format::ALL, transforms: false, lists: false };
        let how = negotiate(asked, query, offer)?;
        if how == Negotiated::JSON {
            respond::bytes(StatusCode::OK, Format::Json, format!("{}\n", document.json))
        } else {
            let value: Value = serde_json::from_str(&document.json).unwrap_or_default();
            respond::value(StatusCode::OK, &value, how)
        }
    };
    let headers = response.headers_mut();
    if aggregated.is_some() {
        if let Ok(etag) = HeaderValue::from_str(&document.etag) {
            headers.insert(http::header::ETAG, etag);
        }
        headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public"));
    }
    headers.insert(http::header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}
