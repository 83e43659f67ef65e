use anyhow::{Result, anyhow};
use bytes::Bytes;
use coracle_client::Https;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

/// The answer of a cluster to GET of a path.
///
/// # Errors
/// If the cluster does not answer.
pub(crate) async fn get(server: &Https, path: &str) -> Result<(StatusCode, Bytes)> {
    send(server, Method::GET, path, String::new()).await
}

/// The answer of a cluster to a request.
///
/// # Errors
/// If the cluster does not answer.
pub(crate) async fn send(server: &Https, method: Method, path: &str, body: String) -> Result<(StatusCode, Bytes)> {
    let request = Request::builder().method(method).uri(path).body(Full::new(Bytes::from(body)))?;
    let answer =
        server.clone().oneshot(request).await.map_err(|error| anyhow!("the cluster cannot be reached: {error}"))?;
    let code = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| anyhow!("the answer is not complete: {error}"))?;
    Ok((code, body.to_bytes()))
}
