use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use coracle_cluster::{Body, User, boxed};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::lab_cluster::LabCluster;
use crate::message::{Message, duration};

/// How long an answer may take in the time of the cluster, if the message does not say it. A watch ends then.
const WITHIN: Duration = Duration::from_secs(30);
/// The user of requests without one.
const ADMIN: &str = "kubernetes-admin";
const ADMINS: &str = "system:masters";

/// A request to the API.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Asked {
    #[serde(default)]
    pub(crate) method: Option<String>,
    /// The path, with its parameters.
    pub(crate) path: String,
    /// A text is sent as it is, and anything else as JSON.
    #[serde(default)]
    pub(crate) body: Value,
    /// In addition to the type of the content, which is JSON unless it is among them.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) user: Option<String>,
    /// The groups of the user.
    #[serde(default)]
    pub(crate) groups: Vec<String>,
    #[serde(default)]
    pub(crate) within: Option<String>,
}

impl Asked {
    /// A request of the administrator, with JSON.
    pub(crate) fn new(method: &Method, path: String, body: Value) -> Self {
        let headers = BTreeMap::new();
        Self { method: Some(method.to_string()), path, body, headers, user: None, groups: Vec::new(), within: None }
    }

    fn user(&self) -> User {
        match &self.user {
            None => User::new(ADMIN, [ADMINS]),
            Some(name) => User::new(name, self.groups.iter().map(String::as_str)),
        }
    }

    fn request(&self) -> Result<Request<Body>, LabError> {
        let method = self.method.as_deref().unwrap_or("GET");
        let mut request = Request::builder().method(method).uri(&self.path);
        let bytes = match &self.body {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            json => json.to_string().into_bytes(),
        };
        let has_type = self.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        if !bytes.is_empty() && !has_type {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(boxed(Full::new(Bytes::from(bytes))));
        request.map_err(|error| LabError::new(format!("request: {error}")))
    }
}

/// An answer of the API.
pub(crate) struct Answered {
    pub(crate) status: u16,
    content_type: String,
    /// JSON, or the text of another format.
    pub(crate) body: Value,
    /// Whether the body went on: the answer to a watch.
    is_cut: bool,
}

impl Answered {
    /// The body, or the error that it is.
    pub(crate) fn taken(self) -> Result<Value, LabError> {
        if self.status < 400 { Ok(self.body) } else { Err(LabError::of_status(self.body)) }
    }
}

/// Sends a request, and waits for the whole answer, in the time of the cluster.
pub(crate) fn send(cluster: &LabCluster, asked: &Asked) -> Result<Answered, LabError> {
    let within = asked.within.as_deref().map_or(Ok(WITHIN), |text| duration("within", text))?;
    let request = asked.request()?;
    let transport = cluster.cluster().service_as(asked.user());
    let answered = cluster.settle_now(async move {
        let end = tokio::time::Instant::now() + within;
        let late = |_| LabError::new(format!("the API has not answered within {within:?}"));
        let response = tokio::time::timeout_at(end, transport.send(request)).await.map_err(late)?;
        let (parts, mut body) = response.map_err(|error| LabError::new(error.to_string()))?.into_parts();
        let (mut bytes, mut is_cut) = (Vec::new(), false);
        loop {
            match tokio::time::timeout_at(end, body.frame()).await {
                Err(_) => is_cut = true,
                Ok(Some(Ok(frame))) => {
                    bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                    continue;
                }
                Ok(Some(Err(error))) => return Err(LabError::new(error.to_string())),
                Ok(None) => {}
            }
            break;
        }
        let content_type = parts.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
        Ok((parts.status.as_u16(), content_type.to_owned(), bytes, is_cut))
    })?;
    let (status, content_type, bytes, is_cut) = answered?;
    let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
    let is_json = content_type.starts_with("application/json");
    let body = if is_json { serde_json::from_slice(&bytes).unwrap_or_else(|_| text()) } else { text() };
    Ok(Answered { status, content_type, body, is_cut })
}

/// The answer of the API to any request.
pub(crate) fn answer(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let Answered { status, content_type, body, is_cut } = send(cluster, &message.fields::<Asked>()?)?;
    let mut answer = json!({"status": status, "contentType": content_type, "body": body});
    if is_cut {
        answer["cut"] = json!(true);
    }
    Ok(answer.into())
}
