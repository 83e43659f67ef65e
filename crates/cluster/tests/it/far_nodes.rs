//! Nodes of another process: the API server calls them over TLS on real sockets, as it calls kubelets.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the clock is real, or one receiver waits: the order in which receivers wake does not matter"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coracle_api::core_v1::{Node, Pod};
use coracle_client::{Api, Patch};
use coracle_cluster::{
    ApiServerOptions, Body, Cluster, Component, Delays, Kubelet, KubeletClient, NodeSpec, ProxyClient,
    SIMULATED_NODES_USER, Transport, User, boxed, kubelet,
};
use coracle_kubelet_server::KubeletServer;
use coracle_meta::ObjectKey;
use coracle_pki::Authority;
use coracle_secure_serving::{Listener, ServingCertificates};
use coracle_tls::{Identity, OldestTls};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::{TlsConnector, client};
use tower::{ServiceExt, service_fn};

const PATIENCE: Duration = Duration::from_secs(20);

/// How many there are of something that comes and goes.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>, Arc<tokio::sync::Notify>);

struct One(Alive);

impl Alive {
    fn one(&self) -> One {
        self.0.fetch_add(1, Ordering::SeqCst);
        One(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    async fn until(&self, wanted: usize) {
        let wait = async {
            loop {
                let changed = self.1.notified();
                if self.count() == wanted {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("they should end");
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
        self.0.1.notify_one();
    }
}

/// A cluster without nodes of its own, and two nodes that stand behind a socket.
struct World {
    cluster: Cluster,
    kubelet: Kubelet,
    authority: Authority,
    /// Where the nodes' API is.
    address: SocketAddr,
    /// Connections between the API server and the nodes.
    connections: Alive,
    /// Answers of the nodes that are not at their end.
    answers: Alive,
    stop: watch::Sender<bool>,
}

impl World {
    async fn begin() -> Self {
        let authority = Authority::new().unwrap();
        let own = authority.client("kube-apiserver-kubelet-client", &["system:masters"]).unwrap();
        let nodes = KubeletClient {
            identity: Some(ProxyClient { certificate: own.certificate.into(), key: own.key.into() }),
            authority: Some(authority.certificate().into()),
            preferred_address_types: vec!["ExternalIP".to_owned()],
            ..KubeletClient::default()
        };
        let spec = ApiServerOptions { kubelet_client: Some(nodes), ..ApiServerOptions::default() };
        let cluster = Cluster::builder().api_server_only().api_server(spec).metrics_server(true).start().await.unwrap();
        cluster.start_component(Component::ControllerManager);

        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let identity = authority.serving("coracle-kubelet", &["localhost".to_owned()], &[loopback.ip()]).unwrap();
        let papers = ServingCertificates::of(identity, authority.certificate());
        let listener = Listener::bind_for_kubelet(loopback, papers, OldestTls::default()).await.unwrap();
        let address = listener.address();
        let relay = TcpListener::bind(loopback).await.unwrap();

        let config = kubelet::Config {
            nodes: ["node-1", "node-2"].map(NodeSpec::new).into(),
            delays: Delays::zero(),
            endpoint: Some(relay.local_addr().unwrap()),
            ..kubelet::Config::default()
        };
        let client = cluster.client_as(User::new(SIMULATED_NODES_USER, Vec::<String>::new()));
        let kubelet = Kubelet::new(config, client.clone(), cluster.ambient().split("far"), cluster.recorder().clone());
        let (connections, answers) = (Alive::default(), Alive::default());
        let server = counted(KubeletServer::new(kubelet.clone(), &client), answers.clone());
        let (stop, stopped) = watch::channel(false);
        let until =
            |mut stopped: watch::Receiver<bool>| async move { drop(stopped.wait_for(|stopped| *stopped).await) };
        tokio::spawn(listener.serve(server, until(stopped.clone())));
        tokio::spawn(carry(relay, address, connections.clone(), stopped.clone()));
        let running = kubelet.clone();
        tokio::spawn(async move { running.run(until(stopped)).await });
        Self { cluster, kubelet, authority, address, connections, answers, stop }
    }

    /// With a pod of one container on `node-1` that runs this.
    async fn with_pod(command: &[&str]) -> Self {
        let world = Self::begin().await;
        let container = json!({"name": "c", "image": "web:1", "command": command});
        let spec = json!({"containers": [container], "nodeName": "node-1"});
        let pod = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec});
        let client = world.cluster.client_as(ann());
        let (pods, nodes, key): (Api<Pod>, Api<Node>, _) =
            (Api::of(&client), Api::of(&client), ObjectKey::new("default", "web"));
        let ready = async {
            for node in ["node-1", "node-2"] {
                while nodes.find(&ObjectKey::cluster(node)).await.unwrap().is_none() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            // The namespace has its service account some time after its start.
            while pods.create(&serde_json::from_value(pod.clone()).unwrap()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            while !pods.find(&key).await.unwrap().is_some_and(|pod| pod.is_ready()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("the pod should run");
        world
    }

    async fn ask(&self, path: &str) -> Response<Body> {
        let request = Request::get(path).body(boxed(Empty::new())).unwrap();
        self.cluster.service_as(ann()).send(request).await.unwrap()
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let answer = self.ask(path).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    /// What a refusal says that the API server gives.
    async fn refusal(&self, path: &str) -> (u16, String) {
        let (code, body) = self.get(path).await;
        let status: Value = serde_json::from_str(&body).unwrap();
        (code, status["message"].as_str().unwrap().to_owned())
    }

    /// A command, as a client of the API server: the connection and the head of the answer.
    async fn stream(&self, target: &str, protocol: &str) -> (DuplexStream, String) {
        let (mut client, connection) = tokio::io::duplex(1 << 16);
        let service = TowerToHyperService::new(self.cluster.service_as(ann()));
        let served = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        tokio::spawn(async move { served.with_upgrades().await });
        let head = format!(
            "GET /api/v1/namespaces/default/pods/web/{target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: {protocol}\r\n\r\n"
        );
        client.write_all(head.as_bytes()).await.unwrap();
        let head = head_of(&mut client).await;
        (client, head)
    }

    /// The answer of the nodes themselves to who shows this, without the API server.
    async fn at_the_nodes(&self, shown: Option<&Identity>, headers: &str, path: &str) -> (u16, String) {
        let mut stream = connect(self.address, &self.authority, shown).await;
        let request = format!("GET {path} HTTP/1.0\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // Who closes without a farewell has said all it had to.
        let _ = stream.read_to_string(&mut answer).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        (head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default(), body.to_owned())
    }
}

fn ann() -> User {
    User::new("ann", ["system:masters"])
}

/// The same, with a count of its answers.
fn counted(server: KubeletServer, answers: Alive) -> Transport {
    Transport::to(service_fn(move |request: Request<Body>| {
        let (server, answers) = (server.clone(), answers.clone());
        async move {
            let one = answers.one();
            let answer = server.oneshot(request).await?;
            let held = move |frame| {
                let _ = &one;
                frame
            };
            Ok::<_, coracle_cluster::BoxError>(answer.map(|body| boxed(body.map_frame(held))))
        }
    }))
}

/// Carries connections on, and counts them.
async fn carry(relay: TcpListener, to: SocketAddr, alive: Alive, mut stopped: watch::Receiver<bool>) {
    let carrying = async {
        while let Ok((mut here, _)) = relay.accept().await {
            let one = alive.one();
            tokio::spawn(async move {
                let Ok(mut there) = TcpStream::connect(to).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
                drop(one);
            });
        }
    };
    let stopped = std::pin::pin!(stopped.wait_for(|stopped| *stopped));
    futures_util::future::select(stopped, std::pin::pin!(carrying)).await;
}

async fn connect(to: SocketAddr, authority: &Authority, shown: Option<&Identity>) -> client::TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.certificate().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let config = match shown {
        Some(Identity { certificate, key }) => {
            let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
            config.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, TcpStream::connect(to).await.unwrap()).await.unwrap()
}

async fn head_of(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(read).unwrap().to_lowercase()
}

/// The next message: its channel and its text; none when the connection is closed.
async fn message(client: &mut DuplexStream) -> Option<(u8, String)> {
    let kind = client.read_u8().await.ok()? & 15;
    let length = match client.read_u8().await.ok()? {
        126 => usize::from(client.read_u16().await.ok()?),
        length => usize::from(length),
    };
    let mut content = vec![0; length];
    client.read_exact(&mut content).await.ok()?;
    (kind == 2).then(|| (content[0], String::from_utf8(content.split_off(1)).unwrap()))
}

/// Types into a command; a client's messages are masked, here with nothing.
async fn types(client: &mut DuplexStream, text: &str) {
    let length = u8::try_from(text.len() + 1).unwrap();
    let mut frame = vec![0x82, 0x80 | length, 0, 0, 0, 0, 0];
    frame.extend_from_slice(text.as_bytes());
    client.write_all(&frame).await.unwrap();
}

const LOG: &str = "/api/v1/namespaces/default/pods/web/log";
const TICKS: [&str; 3] = ["sh", "-c", "while true; do echo tick; sleep 1; done"];

#[tokio::test]
async fn logs_are_read_and_followed_until_the_client_goes() {
    let world = World::with_pod(&TICKS).await;
    let (code, said) = world.get(&format!("{LOG}?limitBytes=4")).await;
    assert_eq!((code, said.as_str()), (200, "tick"));
    let mut followed = world.ask(&format!("{LOG}?follow=true&tailLines=1")).await;
    assert_eq!(followed.status().as_u16(), 200);
    let mut heard = 0;
    while heard < 3 {
        let frame = followed.body_mut().frame().await.unwrap().unwrap();
        let text = frame.into_data().unwrap();
        heard += text.iter().filter(|byte| **byte == b'\n').count();
    }
    assert_eq!(world.answers.count(), 1);
    drop(followed);
    world.answers.until(0).await;
    let (code, why) = world.refusal(&format!("{LOG}?previous=true")).await;
    assert_eq!((code, why.as_str()), (400, "previous terminated container \"c\" in pod \"web\" not found"));
}

#[tokio::test]
async fn a_command_is_typed_into_over_a_websocket_that_ends_with_either_side() {
    let world = World::with_pod(&TICKS).await;
    let (mut shell, head) = world.stream("exec?command=sh&stdin=true&stdout=true", "v5.channel.k8s.io").await;
    assert!(head.starts_with("http/1.1 101 ") && head.contains("sec-websocket-protocol: v5.channel.k8s.io"), "{head}");
    types(&mut shell, "echo $((6*7))\n").await;
    assert_eq!(message(&mut shell).await, Some((1, "42\n".to_owned())));
    types(&mut shell, "exit 4\n").await;
    let end = message(&mut shell).await.unwrap();
    assert!(end.0 == 3 && end.1.contains("exit status 4"), "{end:?}");
    assert_eq!(message(&mut shell).await, None);
    drop(shell);
    world.connections.until(0).await;
    let (mut attached, _) = world.stream("attach?stdout=true", "v4.channel.k8s.io").await;
    assert_eq!(message(&mut attached).await, Some((1, "tick\n".to_owned())));
    assert_eq!(world.connections.count(), 1);
    drop(attached);
    world.connections.until(0).await;
}

#[tokio::test]
async fn a_command_that_the_node_or_its_protocol_refuses_is_refused_in_their_words() {
    let world = World::with_pod(&TICKS).await;
    let (_, head) = world.stream("exec?command=sh&stdout=true", "v3.channel.k8s.io").await;
    assert!(head.starts_with("http/1.1 400 "), "{head}");
    let (code, why) = world.refusal("/api/v1/namespaces/default/pods/web/exec?command=sh&stdout=true").await;
    assert_eq!((code, why.as_str()), (400, "Upgrade request required"));
}

#[tokio::test]
async fn node_usage_is_served_by_each_node_and_summed_up_for_all() {
    let world = World::with_pod(&TICKS).await;
    for node in ["node-1", "node-2"] {
        let (code, summary) = world.get(&format!("/api/v1/nodes/{node}/proxy/stats/summary")).await;
        let summary: Value = serde_json::from_str(&summary).unwrap();
        assert_eq!((code, &summary["node"]["nodeName"]), (200, &json!(node)), "the one that was meant");
    }
    let (_, metrics) = world.get("/api/v1/nodes/node-1/proxy/metrics/resource").await;
    assert!(metrics.contains("pod=\"web\""), "{metrics}");
    let port = world.node().await["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].clone();
    assert_eq!(world.get(&format!("/api/v1/nodes/https:node-1:{port}/proxy/healthz")).await, (200, "ok".to_owned()));
    let used = async {
        loop {
            let (_, pods) = world.get("/apis/metrics.k8s.io/v1beta1/pods").await;
            let (_, nodes) = world.get("/apis/metrics.k8s.io/v1beta1/nodes").await;
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
            let (pods, nodes) = (read(&pods), read(&nodes));
            let count = |list: &Value| list["items"].as_array().map_or(0, Vec::len);
            if (count(&pods), count(&nodes)) == (1, 2) {
                return (pods, nodes);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    // Until two beats of fifteen seconds have passed.
    let (pods, nodes) = tokio::time::timeout(Duration::from_secs(60), used).await.unwrap();
    assert_eq!(pods["items"][0]["containers"][0]["usage"], json!({"cpu": "1m", "memory": "16Mi"}));
    assert_eq!(nodes["items"][0]["metadata"]["name"], "node-1");
}

impl World {
    async fn node(&self) -> Value {
        serde_json::from_str(&self.get("/api/v1/nodes/node-1").await.1).unwrap()
    }
}

#[tokio::test]
async fn the_kubelet_api_authenticates_and_authorizes_every_request() {
    let world = World::with_pod(&TICKS).await;
    let host = "Host: node-2:10250\r\n";
    let stranger = Authority::new().unwrap().client("kubernetes-admin", &["system:masters"]).unwrap();
    let unauthorized = (401, "Unauthorized".to_owned());
    for path in ["/healthz", "/stats/summary", "/exec/default/web/c?command=sh", "/nothing"] {
        assert_eq!(world.at_the_nodes(None, host, path).await, unauthorized);
        assert_eq!(world.at_the_nodes(Some(&stranger), host, path).await, unauthorized);
    }
    let token = format!("{host}Authorization: Bearer nonsense\r\n");
    assert_eq!(world.at_the_nodes(None, &token, "/healthz").await, unauthorized);
    let nobody = world.authority.client("jane", &[]).unwrap();
    let (code, why) = world.at_the_nodes(Some(&nobody), host, "/stats/summary").await;
    assert_eq!(
        (code, why.as_str()),
        (403, "Forbidden (user=jane, verb=get, resource=nodes, subresource(s)=[stats])\n")
    );
    let admin = world.authority.client("kubernetes-admin", &["system:masters"]).unwrap();
    let (code, summary) = world.at_the_nodes(Some(&admin), host, "/stats/summary").await;
    assert!(code == 200 && summary.contains("\"nodeName\":\"node-2\""), "{summary}");
    assert_eq!(world.at_the_nodes(Some(&admin), "Host: localhost\r\n", "/stats/summary").await.0, 404);
    let log = "/containerLogs/default/web/c?limitBytes=4";
    assert_eq!(world.at_the_nodes(Some(&admin), "Host: localhost\r\n", log).await, (200, "tick".to_owned()));
}

#[tokio::test]
async fn a_token_is_worth_what_the_api_server_says() {
    let world = World::with_pod(&TICKS).await;
    let request = json!({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"audiences": []}});
    let request = Request::post("/api/v1/namespaces/default/serviceaccounts/default/token")
        .header("content-type", "application/json")
        .body(boxed(http_body_util::Full::from(request.to_string())))
        .unwrap();
    let answer = world.cluster.service_as(ann()).send(request).await.unwrap();
    let answer = answer.into_body().collect().await.unwrap().to_bytes();
    let token = serde_json::from_slice::<Value>(&answer).unwrap()["status"]["token"].as_str().unwrap().to_owned();
    let shown = format!("Host: node-1\r\nAuthorization: Bearer {token}\r\n");
    let (code, why) = world.at_the_nodes(None, &shown, "/metrics/resource").await;
    assert_eq!(code, 403);
    assert!(why.contains("user=system:serviceaccount:default:default"), "{why}");
}

#[tokio::test]
async fn an_unreachable_node_is_reported_in_kubernetes_words() {
    let world = World::with_pod(&TICKS).await;
    let (proxy, exec) = ("/api/v1/nodes/node-1/proxy/healthz", "exec?command=sh&stdout=true");
    world.kubelet.partition_node("node-1", true);
    let (code, why) = world.refusal(proxy).await;
    assert!(code == 503 && why.starts_with("error trying to reach service: "), "{code} {why}");
    assert_eq!(world.get("/api/v1/nodes/node-2/proxy/healthz").await, (200, "ok".to_owned()));
    world.kubelet.partition_node("node-1", false);
    assert_eq!(world.get(proxy).await, (200, "ok".to_owned()));
    world.kubelet.stop_node("node-1");
    let (_, head) = world.stream(exec, "v5.channel.k8s.io").await;
    assert!(head.starts_with("http/1.1 500 "), "{head}");

    world.stop.send(true).unwrap();
    world.connections.until(0).await;
    let endpoint = world.node().await["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].clone();
    let refused = format!("dial tcp 127.0.0.1:{endpoint}: connect: connection refused");
    assert_eq!(world.refusal(proxy).await, (503, format!("error trying to reach service: {refused}")));
    let url = format!("https://127.0.0.1:{endpoint}/containerLogs/default/web/c");
    assert_eq!(world.refusal(LOG).await, (500, format!("Get \"{url}\": {refused}")));
    let (mut stream, head) = world.stream(exec, "v5.channel.k8s.io").await;
    assert!(head.starts_with("http/1.1 500 "), "{head}");
    let mut said = vec![0; 512];
    let read = stream.read(&mut said).await.unwrap();
    let said = String::from_utf8_lossy(&said[..read]).into_owned();
    assert!(said.contains(&format!("error dialing backend: {refused}")), "{said}");
}

#[tokio::test]
async fn a_node_without_usable_addresses_is_reported() {
    let world = World::with_pod(&TICKS).await;
    let nodes: Api<Node> = Api::of(&world.cluster.client_as(ann()));
    world.stop.send(true).unwrap();
    let gone = json!({"status": {"addresses": [{"$patch": "delete", "type": "ExternalIP"}]}});
    nodes.patch_status(&ObjectKey::cluster("node-1"), &Patch::Strategic(gone)).await.unwrap();
    let (code, why) = world.refusal(LOG).await;
    let known = "[{InternalIP 172.18.0.2} {Hostname node-1}]";
    assert_eq!((code, why), (500, format!("no preferred addresses found; known addresses: {known}")));
}
