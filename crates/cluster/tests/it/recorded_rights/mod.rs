//! What a kube-apiserver 1.35.3 answered to drawn writes of roles and bindings is answered here, too: no request is
//! allowed that it refuses.
//!
//! `writes.jsonl.gz` holds compressed lines of JSON, as `tests/hostile/rbac/differential.py --record` writes them:
//!
//! | line | |
//! |---|---|
//! | `objects` | what the administrator has created before all else |
//! | `round` | what the administrator has created for the writes that follow; it replaces what the round before had |
//! | others | a write as a dry run: who, with which method, where, what, and the code and the message of the answer. `change` is a merge patch of what the user has read |

use std::io::Read;

use coracle_cluster::{ApiServerOptions, Cluster, Release};
use coracle_schema::patch::merge_patch;
use flate2::read::GzDecoder;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

const WRITES: &[u8] = include_bytes!("writes.jsonl.gz");
const ADMINISTRATOR: &str = "administrator";
const USERS: [&str; 4] = ["u0", "u1", "u2", "u3"];

fn lines() -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(WRITES).read_to_string(&mut text).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn cluster() -> Cluster {
    let mut tokens = format!("{ADMINISTRATOR},admin,uid-admin,\"system:masters\"\n");
    for (number, user) in USERS.iter().enumerate() {
        tokens += &format!("{user},{user},uid-{user},\"team-{}\"\n", number % 2);
    }
    let spec = ApiServerOptions { tokens: Some(tokens), ..ApiServerOptions::default() };
    Cluster::builder()
        .kubernetes(Release::named("1.35").unwrap())
        .api_server(spec)
        .api_server_only()
        .start()
        .await
        .unwrap()
}

/// The code and the document of an answer to a user.
async fn call(cluster: &Cluster, user: &str, method: &str, path: &str, media_type: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    let request = request.header("authorization", format!("Bearer {user}"));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = cluster.front_door().oneshot(request.body(Full::from(body)).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let document = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&document).unwrap_or_default())
}

const JSON: &str = "application/json";

fn collection(object: &Value) -> String {
    let namespace =
        if matches!(object["kind"].as_str(), Some("Role" | "RoleBinding")) { "/namespaces/default" } else { "" };
    let plural = object["kind"].as_str().unwrap().to_lowercase();
    format!("/apis/rbac.authorization.k8s.io/v1{namespace}/{plural}s")
}

async fn create(cluster: &Cluster, objects: &Value) -> Vec<Value> {
    let objects = objects.as_array().unwrap();
    for object in objects {
        let (code, answer) = call(cluster, ADMINISTRATOR, "POST", &collection(object), JSON, object).await;
        assert_eq!(code, 201, "{object}: {answer}");
    }
    objects.clone()
}

async fn delete(cluster: &Cluster, objects: Vec<Value>) {
    for object in objects {
        let path = format!("{}/{}", collection(&object), object["metadata"]["name"].as_str().unwrap());
        let (code, answer) = call(cluster, ADMINISTRATOR, "DELETE", &path, JSON, &Value::Null).await;
        assert_eq!(code, 200, "{path}: {answer}");
    }
}

/// The code and the message of the answer to a write.
async fn write(cluster: &Cluster, write: &Value) -> (u16, String) {
    let text = |field: &str| write[field].as_str().unwrap_or_default();
    let message = |answer: Value| answer["message"].as_str().unwrap_or_default().to_owned();
    let mut body = write["body"].clone();
    if !write["change"].is_null() {
        let (code, live) = call(cluster, ADMINISTRATOR, "GET", text("path"), JSON, &Value::Null).await;
        if code != 200 {
            return (code, message(live));
        }
        body = merge_patch(live, write["change"].clone()).unwrap();
    }
    let media_type = write["type"].as_str().unwrap_or(JSON);
    let path = format!("{}?{}", text("path"), text("query"));
    let (code, answer) = call(cluster, text("user"), text("method"), &path, media_type, &body).await;
    (code, if code >= 400 { message(answer) } else { String::new() })
}

#[tokio::test(start_paused = true)]
async fn no_write_of_a_role_or_a_binding_is_allowed_that_kube_apiserver_refuses() {
    let cluster = cluster().await;
    let (mut round, mut writes, mut refused, mut different) = (Vec::new(), 0, 0, Vec::new());
    for line in lines() {
        if !line["objects"].is_null() {
            create(&cluster, &line["objects"]).await;
        } else if !line["round"].is_null() {
            delete(&cluster, std::mem::take(&mut round)).await;
            round = create(&cluster, &line["round"]).await;
        } else {
            writes += 1;
            let expected = (line["code"].as_u64().unwrap(), line["message"].as_str().unwrap_or_default());
            refused += u32::from(expected.0 == 403);
            let (code, message) = write(&cluster, &line).await;
            let is_escalation = expected.0 >= 400 && code < 400;
            assert!(!is_escalation, "kube-apiserver refuses with {expected:?}, and it is allowed here: {line}");
            if expected != (u64::from(code), message.as_str()) {
                different.push(format!("{line}\n  here {}", json!([code, message])));
            }
        }
    }
    assert!(different.is_empty(), "{} of {writes} differ:\n{}", different.len(), different.join("\n"));
    assert!(writes >= 2000 && refused > 200, "{writes} writes, of which {refused} are forbidden");
}
