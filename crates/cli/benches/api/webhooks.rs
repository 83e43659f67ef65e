use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::connection::{JSON, Target};
use crate::objects::Kind;
use crate::options::Options;
use crate::server::Server;
use crate::{load, table};

/// How many requests wait for a webhook that does not answer while others are measured.
const HELD: usize = 100;
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// What a webhook on loopback adds to a create, and what others notice of one that hangs.
pub(crate) async fn measure(options: &Options) {
    let server = Server::start(options);
    let mut connection = Target::of(&server.running).connect().await;
    connection.make_namespace().await;
    connection.post("/api/v1/namespaces", namespace("held")).await;
    let mut program = Program::start();

    let without = creates(options, &server, "alone", 1).await;
    table::row("create a config map", &without, "");
    connection.post(CONFIGURATIONS, program.asked("allow", "bench")).await;
    let with = creates(options, &server, "asked", 1).await;
    table::row("the same, a webhook is asked", &with, "");
    table::fact("added by the webhook, p50", &table::time(with.at(0.5).saturating_sub(without.at(0.5))), "");
    connection.send(Method::DELETE, &format!("{CONFIGURATIONS}/allow"), JSON, Bytes::new()).await;

    let free = creates(options, &server, "free", 8).await;
    table::row("create a config map, 8 connections", &free, "");
    connection.post(CONFIGURATIONS, program.asked("hang", "held")).await;
    let mut held = JoinSet::new();
    for number in 0..HELD {
        let mut connection = connection.clone();
        held.spawn(async move {
            let object = json!({"metadata": {"name": format!("held-{number}")}}).to_string();
            connection.post("/api/v1/namespaces/held/configmaps", object.into()).await;
        });
    }
    program.holds(HELD).await;
    let beside = creates(options, &server, "beside", 8).await;
    table::row(&format!("the same, {HELD} requests wait for a webhook"), &beside, "");
    let moved = beside.at(0.99).as_secs_f64() / free.at(0.99).as_secs_f64() - 1.0;
    table::fact("p99 moves by", &format!("{:+.0} %", moved * 100.0), "");
    held.abort_all();
}

async fn creates(options: &Options, server: &Server, round: &'static str, connections: usize) -> load::Outcome {
    let kind = Kind::ConfigMap;
    let time = options.round();
    let (outcome, _) = load::measured(
        server,
        connections,
        time,
        |_| u64::MAX,
        async move |connection, worker, number| {
            connection.post(&kind.collection(), kind.object(&format!("{round}-{worker}-{number}"))).await;
        },
    )
    .await;
    outcome
}

fn namespace(name: &str) -> Bytes {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).to_string().into()
}

/// A webhook over TLS, on a thread of its own: `/allow` answers, `/hang` does not.
struct Program {
    address: SocketAddr,
    authority: String,
    held: UnboundedReceiver<()>,
}

impl Program {
    fn start() -> Self {
        let identity = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(identity.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![identity.cert.der().clone()], key)
            .expect("a certificate and its key");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket option");
        let address = listener.local_addr().expect("an address");
        let (hold, held) = mpsc::unbounded_channel();
        #[expect(clippy::disallowed_methods, reason = "the program of somebody else, beside the load")]
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(listener, TlsAcceptor::from(Arc::new(config)), hold));
        });
        Self { address, authority: identity.cert.pem(), held }
    }

    /// The configuration that has creates of config maps in a namespace asked of the program at this path.
    fn asked(&self, path: &str, namespace: &str) -> Bytes {
        use base64::Engine;
        let authority = base64::engine::general_purpose::STANDARD.encode(&self.authority);
        let webhook = json!({
            "name": "bench.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 30,
            "clientConfig": {"url": format!("https://{}/{path}", self.address), "caBundle": authority},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        });
        let kind = "ValidatingWebhookConfiguration";
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": path}, "webhooks": [webhook]})
            .to_string()
            .into()
    }

    /// Waits until so many requests have reached `/hang`.
    async fn holds(&mut self, count: usize) {
        for _ in 0..count {
            self.held.recv().await.expect("the webhook is asked");
        }
    }
}

async fn serve(listener: std::net::TcpListener, tls: TlsAcceptor, hold: UnboundedSender<()>) {
    let listener = TcpListener::from_std(listener).expect("a listener");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket option");
        let (tls, hold) = (tls.clone(), hold.clone());
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            let answer = service_fn(move |request| review(request, hold.clone()));
            let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

async fn review(request: Request<Incoming>, hold: UnboundedSender<()>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() == "/hang" {
        let _ = hold.send(());
        std::future::pending::<()>().await;
    }
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let response = json!({"uid": review["request"]["uid"], "allowed": true});
    let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Ok(Response::new(Full::new(answer.to_string().into())))
}
