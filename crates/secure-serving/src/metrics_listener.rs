use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::error::Error;

/// The timeout for a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum number of concurrent clients.
const MOST: usize = 64;

/// Metrics as text.
type Text = Arc<dyn Fn() -> String + Send + Sync>;

/// A socket with the health and metrics of a component: `/healthz`, `/livez`, `/readyz` and `/metrics`, over HTTP and
/// without authentication. It serves no objects and no names of objects.
///
/// In Kubernetes: the ports 10257 of kube-controller-manager and 10259 of kube-scheduler, with HTTPS and
/// authentication.
pub struct MetricsListener {
    socket: TcpListener,
    metrics: Text,
}

impl std::fmt::Debug for MetricsListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsListener").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl MetricsListener {
    /// Listens; port 0 for a free one.
    ///
    /// # Errors
    /// If the address is not available.
    pub async fn bind(
        address: SocketAddr,
        metrics: impl Fn() -> String + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        let socket = TcpListener::bind(address).await.map_err(|source| Error::Listen { address, source })?;
        Ok(Self { socket, metrics: Arc::new(metrics) })
    }

    /// The listening address.
    ///
    /// # Panics
    /// If the system does not return it.
    pub fn address(&self) -> SocketAddr {
        self.socket.local_addr().expect("a bound socket has an address")
    }

    /// Serves until it is dropped.
    pub async fn serve(self) -> Infallible {
        let mut clients = JoinSet::new();
        loop {
            while clients.len() >= MOST {
                clients.join_next().await;
            }
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    let metrics = self.metrics.clone();
                    let answer =
                        service_fn(move |request| std::future::ready(Ok::<_, Infallible>(answer(&request, &metrics))));
                    let mut server = http1::Builder::new();
                    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
                    clients.spawn(async move { drop(server.serve_connection(TokioIo::new(stream), answer).await) });
                }
                // For example out of file descriptors: one may become free.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

fn answer(request: &Request<Incoming>, metrics: &Text) -> Response<Full<Bytes>> {
    let (status, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz" | "/livez" | "/readyz") => (StatusCode::OK, "ok".to_owned()),
        (&Method::GET, "/metrics") => (StatusCode::OK, metrics()),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, "there are /healthz and /metrics\n".to_owned()),
        _ => (StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    let plain = http::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(http::header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use coracle_controllers::ControllerMetrics;

    use super::*;

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_serves_health_and_metrics_and_nothing_else() {
        let listener =
            MetricsListener::bind(([127, 0, 0, 1], 0).into(), || ControllerMetrics::default().text()).await.unwrap();
        let address = listener.address();
        tokio::spawn(listener.serve());
        assert!(ask(address, "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.ends_with("\r\n\r\nok"));
        let metrics = ask(address, "GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n").await;
        assert!(metrics.contains("# TYPE workqueue_adds_total counter"), "{metrics}");
        assert!(ask(address, "GET /api HTTP/1.1\r\nhost: a\r\n\r\n").await.starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\nhost: a\r\n\r\n").await.starts_with("HTTP/1.1 405"));
        assert!(ask(address, "garbage\r\n\r\n").await.starts_with("HTTP/1.1 400"));
    }
}
