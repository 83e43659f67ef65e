//! Webhooks that mean harm: whatever one does, the write is refused in time, and nobody else waits.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use coracle::{Cluster, ServiceRoutes, Transport};
use futures_util::StreamExt;
use futures_util::stream;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::service_fn;

use crate::front::{Answer, call, get};

type Body = BoxBody<Bytes, Infallible>;

fn whole(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).boxed()
}

/// A body without end: a piece each `pause`.
fn endless(piece: Bytes, pause: Duration) -> Body {
    let pieces = stream::repeat(piece).then(move |piece| async move {
        sleep(pause).await;
        Ok(Frame::data(piece))
    });
    BodyExt::boxed(StreamBody::new(pieces))
}

/// What is answered at each path of the program.
fn answer(path: &str, review: &Value) -> Response<Body> {
    let review_of = |uid: &str| {
        let response = json!({"uid": uid, "allowed": true});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).to_string()
    };
    match path {
        "/redirect" => {
            let elsewhere = Response::builder().status(StatusCode::FOUND).header("location", "/allow");
            elsewhere.body(whole("")).unwrap()
        }
        "/lie" => Response::new(whole(review_of("another"))),
        "/garbage" => Response::new(whole(&b"\xff\xfe{\"a\":"[..])),
        "/deep" => Response::new(whole("[".repeat(1_000_000))),
        "/much" => Response::new(endless(Bytes::from(vec![b' '; 1024 * 1024]), Duration::ZERO)),
        "/slow" => Response::new(endless(Bytes::from_static(b" "), Duration::from_secs(1))),
        "/status" => Response::builder().status(299).body(whole("")).unwrap(),
        _ => Response::new(whole(review_of(review["request"]["uid"].as_str().unwrap_or_default()))),
    }
}

fn program() -> Transport {
    Transport::to(service_fn(|request: Request<_>| async move {
        let (head, body) = request.into_parts();
        let body: Bytes = BodyExt::collect(body).await.map(http_body_util::Collected::to_bytes).unwrap();
        let review: Value = serde_json::from_slice(&body).unwrap_or_default();
        Ok::<_, Infallible>(answer(head.uri.path(), &review))
    }))
}

async fn cluster(path: &str) -> Cluster {
    let mut routes = ServiceRoutes::default();
    routes.answer_for_service("hooks", "program", program());
    let cluster = Cluster::builder().service_routes(routes).api_server_only().start().await.unwrap();
    let webhook = json!({
        "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 7,
        "clientConfig": {"service": {"namespace": "hooks", "name": "program", "path": path}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    });
    let at = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let made = call(&cluster, Method::POST, at, &json!({"metadata": {"name": "w"}, "webhooks": [webhook]})).await;
    assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    cluster
}

async fn create(cluster: &Cluster, namespace: &str) -> Answer {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    call(cluster, Method::POST, &path, &json!({"metadata": {"name": "a"}})).await
}

#[tokio::test(start_paused = true)]
async fn a_correct_webhook_lets_a_write_pass() {
    assert_eq!(create(&cluster("/allow").await, "default").await.code, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_redirects_or_returns_invalid_data_refuses_the_write() {
    for (path, says) in [
        ("/redirect", "the server responded with the status code 302"),
        ("/lie", "expected response.uid="),
        ("/garbage", "failed to call webhook"),
        ("/deep", "failed to call webhook"),
        ("/much", "failed to call webhook"),
        ("/status", "failed to call webhook"),
    ] {
        let cluster = cluster(path).await;
        let refused = create(&cluster, "default").await;
        assert_eq!(refused.code, StatusCode::INTERNAL_SERVER_ERROR, "{path}: {:?}", refused.json());
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(says) && message.len() < 4096, "{path}: {message:.4096}");
        let there = call(&cluster, Method::GET, "/api/v1/namespaces/default/configmaps/a", &Value::Null).await;
        assert_eq!(there.code, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_webhook_is_awaited_up_to_its_timeout_and_delays_no_other_request() {
    let cluster = cluster("/slow").await;
    let begun = Instant::now();
    let slow = create(&cluster, "default");
    let other = async {
        sleep(Duration::from_secs(1)).await;
        let made = create(&cluster, "kube-public").await;
        get(&cluster, "/api/v1/namespaces/default").await;
        (made.code, begun.elapsed())
    };
    let (refused, (made, at)) = tokio::join!(biased; slow, other);
    assert_eq!((made, at), (StatusCode::CREATED, Duration::from_secs(1)));
    assert_eq!(refused.code, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(begun.elapsed(), Duration::from_secs(7));
    assert!(refused.json()["message"].as_str().unwrap().contains("context deadline exceeded"));
}
