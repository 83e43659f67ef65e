//! A cluster over HTTPS whose faults a test controls, and programs that do not know of faults.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use coracle_client::ResponseBody;
use coracle_client::kubeconfig::Kubeconfig;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::program::{Folder, Running, eventually, in_state};

/// Objects that no controller creates.
pub(crate) const SECRETS: &str = "/api/v1/namespaces/default/secrets";
pub(crate) const FAULTS: &str = "/coracle/v1/faults";
pub(crate) const JSON: &str = "application/json";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const PROTOBUF_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";
pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// More than a machine that is busy takes for a request, and less than the faults of the tests last.
pub(crate) const SOON: Duration = Duration::from_secs(4);

/// A running cluster without controllers that disturb.
pub(crate) struct Cluster {
    pub(crate) home: Folder,
    _running: Running,
}

impl Cluster {
    pub(crate) fn start(name: &str, more: &[&str]) -> Self {
        let home = Folder::new(name);
        let arguments = [&["up", "--ephemeral", "--nodes", "0", "--empty"], more].concat();
        let running = Running::start(&mut in_state(home.path(), &arguments));
        eventually("the cluster is up", || {
            in_state(home.path(), &["fault", "list"]).output().ok().filter(|output| output.status.success())
        });
        Self { home, _running: running }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.home.join("kubeconfig")
    }

    /// A program with this user agent and the administrator's kubeconfig.
    pub(crate) fn program(&self, agent: &'static str) -> Program {
        Program { kubeconfig: Kubeconfig::read(&self.kubeconfig()).unwrap(), agent }
    }
}

/// A program that does not know of faults. Each request has a connection of its own.
pub(crate) struct Program {
    pub(crate) kubeconfig: Kubeconfig,
    pub(crate) agent: &'static str,
}

impl Program {
    /// A request whose body and answer have this media type.
    fn request(&self, method: Method, path: &str, media_type: &str, body: Bytes) -> Request<Full<Bytes>> {
        let request = Request::builder().method(method).uri(path).header(USER_AGENT, self.agent);
        request.header(CONTENT_TYPE, media_type).header(ACCEPT, media_type).body(Full::new(body)).unwrap()
    }

    pub(crate) async fn send_as(
        &self,
        method: Method,
        path: &str,
        media_type: &str,
        body: Bytes,
    ) -> Result<(u16, Bytes), String> {
        let (https, request) = (self.kubeconfig.connect().unwrap(), self.request(method, path, media_type, body));
        let answer = https.oneshot(request).await.map_err(|error| error.to_string())?;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok((code, body.to_bytes()))
    }

    pub(crate) async fn send_text(&self, method: Method, path: &str, body: String) -> Result<(u16, Value), String> {
        let (code, body) = self.send_as(method, path, JSON, body.into()).await?;
        Ok((code, serde_json::from_slice(&body).unwrap_or_default()))
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), String> {
        self.send_text(method, path, body.to_string()).await
    }

    pub(crate) async fn create(&self, name: &str) -> Result<u16, String> {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        self.send(Method::POST, SECRETS, &secret).await.map(|(code, _)| code)
    }

    /// The names in a list with these parameters.
    pub(crate) async fn list(&self, parameters: &str) -> Vec<String> {
        let (code, list) = self.send(Method::GET, &format!("{SECRETS}{parameters}"), &Value::Null).await.unwrap();
        assert_eq!(code, 200, "{list}");
        let name = |secret: &Value| secret["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).collect()
    }

    /// A watch of the objects that exist, and of their changes.
    pub(crate) async fn watch(&self, path: &str, media_type: &str) -> Watch {
        self.watch_at(&format!("{path}?watch=true"), media_type).await
    }

    pub(crate) async fn watch_at(&self, path: &str, media_type: &str) -> Watch {
        let request = self.request(Method::GET, path, media_type, Bytes::new());
        let answer = self.kubeconfig.connect().unwrap().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        Watch { body: answer.into_body(), read: Vec::new() }
    }

    /// Adds faults, and returns them as the cluster lists them.
    pub(crate) async fn cause(&self, faults: &str) -> Vec<Value> {
        let (code, added) = self.send_text(Method::POST, FAULTS, faults.to_owned()).await.unwrap();
        assert_eq!(code, 201, "{added}");
        added["faults"].as_array().unwrap().clone()
    }

    pub(crate) async fn faults(&self) -> Vec<Value> {
        let (code, list) = self.send(Method::GET, FAULTS, &Value::Null).await.unwrap();
        assert_eq!(code, 200, "{list}");
        list["faults"].as_array().unwrap().clone()
    }

    pub(crate) async fn heal(&self) {
        assert_eq!(self.send(Method::DELETE, FAULTS, &Value::Null).await.unwrap().0, 200);
        assert_eq!(self.faults().await, Vec::<Value>::new());
    }
}

/// An open watch.
pub(crate) struct Watch {
    body: ResponseBody,
    /// All that it has delivered.
    pub(crate) read: Vec<u8>,
}

impl Watch {
    /// Waits until the watch has delivered this text; false if it ends before.
    pub(crate) async fn delivers(&mut self, wanted: &str) -> bool {
        while self.times(wanted) == 0 {
            match self.body.frame().await {
                Some(Ok(frame)) => self.read.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Some(Err(_)) | None => return false,
            }
        }
        true
    }

    /// How often it has delivered this text.
    pub(crate) fn times(&self, wanted: &str) -> usize {
        self.read.windows(wanted.len()).filter(|part| *part == wanted.as_bytes()).count()
    }

    /// Where it has delivered this text first.
    pub(crate) fn place(&self, wanted: &str) -> Option<usize> {
        self.read.windows(wanted.len()).position(|part| part == wanted.as_bytes())
    }

    /// Waits until the watch ends without an error, and says whether it delivered nothing more.
    pub(crate) async fn ends(&mut self) -> Result<bool, String> {
        let mut has_delivered = false;
        loop {
            match self.body.frame().await {
                None => return Ok(!has_delivered),
                Some(Ok(frame)) => has_delivered |= frame.into_data().is_ok_and(|data| !data.is_empty()),
                Some(Err(error)) => return Err(error.to_string()),
            }
        }
    }
}

pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}
