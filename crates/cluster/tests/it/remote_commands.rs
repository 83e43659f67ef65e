//! Commands in containers over a WebSocket, in virtual time: what `kubectl exec` and `attach` do.

use std::time::Duration;

use coracle_api::core_v1::{ConfigMap, Pod};
use coracle_api::rbac_v1::{ClusterRole, ClusterRoleBinding};
use coracle_client::Api;
use coracle_cluster::Cluster;
use coracle_meta::ObjectKey;
use coracle_registry::User;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep};

const STDIN: u8 = 0;

/// A cluster in which a pod of one container runs this.
async fn cluster(command: &[&str]) -> Cluster {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    let container =
        json!({"name": "c", "image": "web:1", "command": command, "env": [{"name": "WHO", "value": "you"}]});
    let pod = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [container]}});
    // The namespace has its service account then, and pods may be made.
    sleep(Duration::from_secs(1)).await;
    let pods: Api<Pod> = Api::of(&cluster.client_as(User::new("ann", ["system:masters"])));
    pods.create(&serde_json::from_value(pod).unwrap()).await.unwrap();
    let key = ObjectKey::new("default", "web");
    while !pods.get(&key).await.unwrap().is_ready() {
        sleep(Duration::from_millis(100)).await;
    }
    cluster
}

/// A connection that asks for a stream, and the head of the answer.
pub(crate) async fn connect(cluster: &Cluster, target: &str) -> (DuplexStream, String) {
    connect_with(cluster, target, "").await
}

/// The same, with more headers.
async fn connect_with(cluster: &Cluster, target: &str, headers: &str) -> (DuplexStream, String) {
    let (mut client, connection) = tokio::io::duplex(1 << 16);
    let served =
        http1::Builder::new().serve_connection(TokioIo::new(connection), TowerToHyperService::new(cluster.service()));
    tokio::spawn(async move { served.with_upgrades().await });
    let head = format!(
        "GET /api/v1/namespaces/default/pods/web/{target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n{headers}\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    (client, String::from_utf8(head).unwrap().to_lowercase())
}

/// The next message: its channel and its text; none when the connection is closed.
async fn message(client: &mut DuplexStream) -> Option<(u8, String)> {
    let kind = client.read_u8().await.ok()? & 15;
    let length = match client.read_u8().await.unwrap() {
        126 => usize::from(client.read_u16().await.unwrap()),
        length => usize::from(length),
    };
    let mut content = vec![0; length];
    client.read_exact(&mut content).await.unwrap();
    (kind == 2).then(|| (content[0], String::from_utf8(content.split_off(1)).unwrap()))
}

pub(crate) async fn all(mut client: DuplexStream) -> Vec<(u8, String)> {
    let mut messages = Vec::new();
    while let Some(message) = message(&mut client).await {
        messages.push(message);
    }
    messages
}

/// Types into a command; a client's messages are masked, here with nothing.
async fn types(client: &mut DuplexStream, text: &str) {
    let length = u8::try_from(text.len() + 1).unwrap();
    let mut frame = vec![0x82, 0x80 | length, 0, 0, 0, 0, STDIN];
    frame.extend_from_slice(text.as_bytes());
    client.write_all(&frame).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn exec_streams_output_as_it_is_written_and_the_exit_code() {
    let cluster = cluster(&["/server"]).await;
    let (client, head) = connect(
        &cluster,
        "exec?command=sh&command=-c&command=echo%20hi%20%24WHO%3B%20sleep%205%3B%20cat%20/none&stdout=1",
    )
    .await;
    assert!(head.starts_with("http/1.1 101 ") && head.contains("sec-websocket-protocol: v5.channel.k8s.io"), "{head}");
    let begun = Instant::now();
    let messages = all(client).await;
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(messages[0], (1, "hi you\n".to_owned()));
    assert_eq!(messages[1], (2, "cat: can't open '/none': No such file or directory\n".to_owned()));
    let status: Value = serde_json::from_str(&messages[2].1).unwrap();
    assert_eq!(
        (messages[2].0, &status["reason"], &status["details"]["causes"][0]["message"]),
        (3, &json!("NonZeroExitCode"), &json!("1"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_shell_runs_typed_commands_until_exit() {
    let cluster = cluster(&["/server"]).await;
    let (mut client, _) = connect(&cluster, "exec?command=sh&stdin=1&stdout=1").await;
    types(&mut client, "x=3; echo $((x*").await;
    types(&mut client, "2))\n").await;
    assert_eq!(message(&mut client).await, Some((1, "6\n".to_owned())));
    types(&mut client, "echo a | cat\nexit 4\n").await;
    let rest = all(client).await;
    assert_eq!(rest[0], (2, "sh: \"|\" is beyond this shell\n".to_owned()));
    assert!(rest[1].0 == 3 && rest[1].1.contains("exit status 4"), "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn attach_streams_the_output_and_the_end_of_a_container() {
    let cluster = cluster(&["sh", "-c", "echo early; sleep 10; echo late; exit 0"]).await;
    let (client, _) = connect(&cluster, "attach?stdout=1").await;
    let messages = all(client).await;
    assert_eq!(messages[0], (1, "late\n".to_owned()));
    assert!(messages[1].1.contains("Success"), "{messages:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_over_a_web_socket_needs_the_right_to_create_it() {
    let cluster = cluster(&["/server"]).await;
    let client = cluster.client_as(User::new("ann", ["system:masters"]));
    let parts = ["pods/exec", "pods/attach", "pods/portforward"];
    for (name, verbs) in [("reader", vec!["get"]), ("runner", vec!["get", "create"])] {
        let rules = json!([{"apiGroups": [""], "resources": parts, "verbs": verbs}]);
        let role = json!({"metadata": {"name": name}, "rules": rules});
        let group = "rbac.authorization.k8s.io";
        let binding = json!({"metadata": {"name": name}, "subjects": [{"kind": "User", "name": name, "apiGroup": group}],
            "roleRef": {"kind": "ClusterRole", "name": name, "apiGroup": group}});
        let roles: Api<ClusterRole> = Api::of(&client);
        roles.create(&serde_json::from_value(role).unwrap()).await.unwrap();
        let bindings: Api<ClusterRoleBinding> = Api::of(&client);
        bindings.create(&serde_json::from_value(binding).unwrap()).await.unwrap();
    }
    for target in ["exec?command=true&stdout=1", "attach?stdout=1", "portforward?ports=80"] {
        let (_, head) = connect_with(&cluster, target, "Impersonate-User: reader\r\n").await;
        assert!(head.starts_with("http/1.1 403 "), "{target}: {head}");
        let (_, head) = connect_with(&cluster, target, "Impersonate-User: runner\r\n").await;
        assert!(!head.starts_with("http/1.1 403 "), "{target}: {head}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_impossible_command_is_refused_with_a_reason() {
    let cluster = cluster(&["/server"]).await;
    let (client, _) = connect(&cluster, "exec?command=nonsense&stdout=1").await;
    let messages = all(client).await;
    assert!(messages[0].0 == 3 && messages[0].1.contains("executable file not found in $PATH"), "{messages:?}");
    let (_, head) = connect(&cluster, "exec?command=true&container=other").await;
    assert!(head.starts_with("http/1.1 400 "), "{head}");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_started_again_at_once_sees_what_it_is_configured_with() {
    let cluster = Cluster::builder().nodes(1).start().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let client = cluster.client_as(User::new("ann", ["system:masters"]));
    let map = json!({"metadata": {"name": "settings", "namespace": "default"}, "data": {"level": "debug"}});
    Api::<ConfigMap>::of(&client).create(&serde_json::from_value(map).unwrap()).await.unwrap();
    let level = json!({"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}});
    let command = ["sh", "-c", "sleep 5; echo level $LEVEL; sleep 5; exit 1"];
    let container = json!({"name": "c", "image": "web:1", "command": command, "env": [level]});
    let pod = json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [container]}});
    let pods: Api<Pod> = Api::of(&client);
    pods.create(&serde_json::from_value(pod).unwrap()).await.unwrap();
    let key = ObjectKey::new("default", "web");
    let restarts =
        async || pods.get(&key).await.unwrap().container_status("c").map_or(0, |status| status.restart_count);
    while restarts().await == 0 {
        sleep(Duration::from_millis(100)).await;
    }
    let (client, _) = connect(&cluster, "attach?stdout=1").await;
    assert_eq!(all(client).await[0], (1, "level debug\n".to_owned()));
}
