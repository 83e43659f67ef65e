use anyhow::{Result, anyhow};
use bytes::Bytes;
use coracle_client::Https;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

use crate::exit;

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

/// The answer of the control endpoint of a cluster in JSON.
///
/// # Errors
/// If the cluster does not answer, has no control endpoint, or refuses; a refusal is a usage error with its message. A
/// condition that did not hold in time is [`exit::NotInTime`].
pub(crate) async fn control(server: &Https, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
    let path = format!("{}/{path}", coracle_control::PREFIX);
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    let (code, bytes) = send(server, method, &path, body).await?;
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if code.is_success() {
        return Ok(answer);
    }
    let message =
        answer["message"].as_str().map_or_else(|| format!("the cluster answers {code} to {path}"), str::to_owned);
    match code {
        StatusCode::NOT_FOUND if answer["details"].is_object() || message.contains("could not find") => {
            let why = "the cluster has no control endpoint: start it with `coracle up --ephemeral`";
            Err(exit::Usage(why.to_owned()).into())
        }
        StatusCode::REQUEST_TIMEOUT => Err(exit::NotInTime(message).into()),
        StatusCode::INTERNAL_SERVER_ERROR | StatusCode::SERVICE_UNAVAILABLE => Err(anyhow!("{message}")),
        _ => Err(exit::Usage(message).into()),
    }
}
