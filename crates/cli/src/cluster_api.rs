use anyhow::{Result, anyhow};
use bytes::Bytes;
use coracle_client::Https;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

/// The answer of a cluster to GET of a path.
///
/// # Errors
/// If the cluster does not answer.
pub(crate) async fn get(server: &Https, path: &str) -> Result<(StatusCode, Bytes)> {
    let request = Request::get(path).body(Full::new(Bytes::new()))?;
    let answer =
        server.clone().oneshot(request).await.map_err(|error| anyhow!("the cluster cannot be reached: {error}"))?;
    let code = answer.status();
    let body = answer.into_body().collect().await.map_err(|error| anyhow!("the answer is not complete: {error}"))?;
    Ok((code, body.to_bytes()))
}
