use std::collections::BTreeMap;

use bytes::Bytes;
use coracle::Cluster;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

use crate::exchange::Exchange;
use crate::page::Pages;
use crate::transcript::Transcript;

/// The seed of what the server draws: addresses, ports, suffixes of names.
const SEED: u64 = 1;

/// The same requests, with the answers of a fresh API server in virtual time.
///
/// A request is sent when the server has done what follows from the one before. The namespace `default` has its service account, which a controller would have made.
///
/// # Errors
/// Which request cannot be sent, and why.
pub(crate) fn replay(transcript: &Transcript) -> Result<Transcript, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let server =
            Cluster::builder().seed(SEED).api_server_only().start().await.map_err(|error| error.to_string())?;
        let account = Request::post("/api/v1/namespaces/default/serviceaccounts");
        let account = account.body(br#"{"metadata": {"name": "default"}}"#.to_vec()).unwrap();
        let (_, _, body) = send(&server, account).await;
        let mut pages = Pages::new(revision(&body).ok_or("the service account was not made")?);
        let mut bodies = BTreeMap::new();
        let mut exchanges = Vec::new();
        for exchange in &transcript.exchanges {
            settle().await;
            let failed = |error| format!("`{}`: {error}", exchange.title);
            let (code, headers, body) = send(&server, exchange.to_request(&bodies).map_err(failed)?).await;
            let answer = pages.page(code, &headers, &body).map_err(failed)?;
            exchanges.push(Exchange { answer, ..exchange.clone() });
            if let Some(name) = exchange.name.as_deref() {
                bodies.insert(name, serde_json::from_slice(&body).unwrap_or_default());
            }
        }
        server.shutdown().await;
        Ok(Transcript { exchanges, ..transcript.clone() })
    })
}

/// Waits until the server has nothing to do: before that, a paused clock does not move on.
pub(crate) async fn settle() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

pub(crate) async fn send(server: &Cluster, request: Request<Vec<u8>>) -> (StatusCode, HeaderMap, Bytes) {
    let answer = server.service().oneshot(request.map(|body| Full::new(body.into()))).await.unwrap();
    let (head, body) = answer.into_parts();
    (head.status, head.headers, body.collect().await.unwrap().to_bytes())
}

fn revision(body: &[u8]) -> Option<i64> {
    let object: Value = serde_json::from_slice(body).ok()?;
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}
