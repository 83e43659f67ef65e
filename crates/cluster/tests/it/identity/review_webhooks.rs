//! Programs elsewhere that say whose a token is and who may do what, in virtual time; and those that mean harm.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use coracle_cluster::{
    AccessWebhookSpec, ApiServerOptions, Callee, Caller, Cluster, ReviewVersion, ReviewWebhook, ServiceRoutes,
    TokenWebhookSpec, Transport, Trust,
};
use coracle_journal::{EntryId, Recorder};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::service_fn;

use super::front::{Answer, admin, review, server, who_am_i, with_token};

const ORIGIN: &str = "https://reviewer.example.com:9443";
const MINUTE: Duration = Duration::from_secs(60);
/// What the API server shows the program.
const OWN_TOKEN: &str = "Bearer own-token-of-the-server";

/// What the program was asked: the header `Authorization`, and the review.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// An answer of the program: code and body, after a while.
type Said = (Duration, u16, String);

fn status(status: &Value) -> Said {
    (Duration::ZERO, 200, json!({"status": status}).to_string())
}

/// A program in this process that notes what it is asked, and answers as `answer` says.
fn program(asked: &Asked, answer: impl Fn(&Value) -> Said + Clone + Send + Sync + 'static) -> ServiceRoutes {
    let asked = Arc::clone(asked);
    let service = service_fn(move |request: Request<_>| {
        let (asked, answer) = (Arc::clone(&asked), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = BodyExt::collect(body).await.map(http_body_util::Collected::to_bytes).unwrap();
            let review: Value = serde_json::from_slice(&body).unwrap();
            let shown = head.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("");
            asked.lock().push((shown.to_owned(), review.clone()));
            let (after, code, body) = answer(&review);
            sleep(after).await;
            Ok::<_, Infallible>(Response::builder().status(code).body(Full::<bytes::Bytes>::from(body)).unwrap())
        }
    });
    let mut routes = ServiceRoutes::default();
    routes.answer_for_url(ORIGIN, Transport::to(service));
    routes
}

fn webhook(version: ReviewVersion) -> ReviewWebhook {
    let caller = Caller { authorization: Some(OWN_TOKEN.to_owned()), ..Caller::default() };
    ReviewWebhook {
        to: Arc::new(Callee::Url { origin: ORIGIN.to_owned(), path: "/review".to_owned() }),
        trust: Trust::Anybody,
        caller: Arc::new(caller),
        version,
    }
}

/// A server that asks whose a token is.
async fn asks_of_tokens(
    version: ReviewVersion,
    asked: &Asked,
    answer: impl Fn(&Value) -> Said + Clone + Send + Sync + 'static,
) -> Cluster {
    let token_webhook = Some(TokenWebhookSpec { webhook: webhook(version), cache_ttl: 2 * MINUTE });
    server(ApiServerOptions { token_webhook, service_routes: program(asked, answer), ..ApiServerOptions::default() })
        .await
}

/// A server that asks who may do what, after RBAC or before.
async fn asks_of_access(
    modes: &str,
    asked: &Asked,
    answer: impl Fn(&Value) -> Said + Clone + Send + Sync + 'static,
) -> Cluster {
    let spec = AccessWebhookSpec {
        webhook: webhook(ReviewVersion::V1),
        authorized_ttl: 5 * MINUTE,
        unauthorized_ttl: MINUTE / 2,
    };
    server(ApiServerOptions {
        authorization_mode: modes.to_owned(),
        authorization_webhook: Some(spec),
        tokens: Some("ann-token,ann,u1,devs\n".to_owned()),
        service_routes: program(asked, answer),
        ..ApiServerOptions::default()
    })
    .await
}

fn ann(review: &Value) -> Said {
    match review["spec"]["token"].as_str() {
        Some("of-ann") => status(&json!({"authenticated": true, "user": {
            "username": "ann", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["read"]}
        }})),
        Some("of-the-shop") => status(&json!({
            "authenticated": true, "user": {"username": "shop"}, "audiences": ["shop"]
        })),
        Some("expired") => status(&json!({"error": "the token has expired"})),
        _ => status(&json!({"authenticated": false})),
    }
}

async fn ask(cluster: &Cluster, path: &str) -> Answer {
    with_token(cluster, "ann-token", Method::GET, path, Value::Null).await
}

#[tokio::test(start_paused = true)]
async fn the_webhook_authenticates_tokens_and_its_response_is_cached() {
    for (version, name) in [(ReviewVersion::V1, "v1"), (ReviewVersion::V1beta1, "v1beta1")] {
        let asked = Asked::default();
        let cluster = asks_of_tokens(version, &asked, ann).await;
        let told = who_am_i(&cluster, "of-ann").await;
        assert_eq!(told.code, 201, "{:?}", told.body);
        let user = json!({
            "username": "ann", "uid": "7", "groups": ["devs", "system:authenticated"], "extra": {"scopes": ["read"]}
        });
        assert_eq!(told.body["status"]["userInfo"], user);
        let audiences = json!(["https://kubernetes.default.svc"]);
        let (shown, question) = asked.lock()[0].clone();
        assert_eq!(shown, OWN_TOKEN);
        assert_eq!(question["apiVersion"], format!("authentication.k8s.io/{name}"));
        assert_eq!(question["kind"], "TokenReview");
        assert_eq!(question["spec"], json!({"token": "of-ann", "audiences": audiences}));

        sleep(2 * MINUTE - Duration::from_secs(1)).await;
        assert_eq!(who_am_i(&cluster, "of-ann").await.code, 201);
        assert_eq!(asked.lock().len(), 1, "it is remembered");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(who_am_i(&cluster, "of-ann").await.code, 201);
        assert_eq!(asked.lock().len(), 2, "it is asked again");
    }
}

#[tokio::test(start_paused = true)]
async fn rejected_tokens_are_cached_and_errors_are_not() {
    let asked = Asked::default();
    let cluster = asks_of_tokens(ReviewVersion::V1, &asked, ann).await;
    for times in [1, 1] {
        assert_eq!(who_am_i(&cluster, "of-nobody").await.code, 401);
        assert_eq!(asked.lock().len(), times);
    }
    for times in [2, 3] {
        assert_eq!(who_am_i(&cluster, "expired").await.code, 401);
        assert_eq!(asked.lock().len(), times);
    }
    let status = review(&cluster, "expired", &[]).await;
    assert_eq!(status["error"], "[invalid bearer token, the token has expired]");
    assert_eq!(status["authenticated"], Value::Null);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_valid_only_for_its_audiences() {
    let asked = Asked::default();
    let cluster = asks_of_tokens(ReviewVersion::V1, &asked, ann).await;
    assert_eq!(who_am_i(&cluster, "of-the-shop").await.code, 401);
    let status = review(&cluster, "of-the-shop", &["shop", "other"]).await;
    assert_eq!((&status["authenticated"], &status["audiences"]), (&json!(true), &json!(["shop"])));
    let status = review(&cluster, "of-ann", &["shop"]).await;
    assert_eq!(status["authenticated"], Value::Null, "without a word it is meant for this server");
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_with_one_token_share_one_webhook_call() {
    let asked = Asked::default();
    let slow = |review: &Value| {
        let (_, code, body) = ann(review);
        (Duration::from_secs(5), code, body)
    };
    let cluster = asks_of_tokens(ReviewVersion::V1, &asked, slow).await;
    let begun = Instant::now();
    let first = tokio::time::timeout(Duration::from_secs(2), who_am_i(&cluster, "of-ann"));
    let (gone, second, third) = tokio::join!(biased; first, who_am_i(&cluster, "of-ann"), who_am_i(&cluster, "of-ann"));
    assert!(gone.is_err(), "the first went away");
    assert_eq!((second.code, third.code), (201, 201));
    assert_eq!((asked.lock().len(), begun.elapsed()), (1, Duration::from_secs(5)));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_fails_for_a_while_is_asked_again_and_one_that_fails_for_good_five_times() {
    let asked = Asked::default();
    let count = Arc::clone(&asked);
    let third = move |review: &Value| match count.lock().len() {
        3 => ann(review),
        _ => (Duration::ZERO, 500, "out of order".to_owned()),
    };
    let cluster = asks_of_tokens(ReviewVersion::V1, &asked, third).await;
    let begun = Instant::now();
    assert_eq!(who_am_i(&cluster, "of-ann").await.code, 201);
    let (least, most) = (Duration::from_millis(1250), Duration::from_millis(1500));
    assert!((least..=most).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    assert_eq!(who_am_i(&cluster, "another").await.code, 401);
    assert_eq!(asked.lock().len(), 8);
    let refused = |_: &Value| (Duration::ZERO, 403, "who are you?".to_owned());
    let asked = Asked::default();
    let cluster = asks_of_tokens(ReviewVersion::V1, &asked, refused).await;
    assert_eq!(who_am_i(&cluster, "of-ann").await.code, 401);
    assert_eq!(asked.lock().len(), 1, "a refusal is no better later");
}

#[tokio::test(start_paused = true)]
async fn hostile_token_webhooks_authenticate_no_user_and_delay_no_other_request() {
    let whole = |body: Value| (Duration::ZERO, 200, body.to_string());
    let yes = json!({"authenticated": true, "user": {"username": "ann", "groups": ["system:masters"]}});
    let hostile: Vec<Said> = vec![
        (Duration::ZERO, 200, "\u{fffd}{\"status\":".to_owned()),
        (Duration::ZERO, 200, String::new()),
        (Duration::ZERO, 200, "[".repeat(1_000_000)),
        (Duration::ZERO, 302, json!({"status": yes}).to_string()),
        (Duration::ZERO, 299, json!({"status": yes}).to_string()),
        whole(json!({"apiVersion": "v1", "kind": "Pod", "status": yes})),
        whole(json!({"apiVersion": "authentication.k8s.io/v1beta1", "kind": "TokenReview", "status": yes})),
        whole(json!({"status": {"authenticated": "true"}})),
        whole(json!({"status": {"authenticated": true, "user": {"groups": "system:masters"}}})),
        whole(json!([{"status": yes}])),
        whole(json!({"status": null})),
        (Duration::from_secs(3600), 200, json!({"status": yes}).to_string()),
    ];
    for said in hostile {
        let asked = Asked::default();
        let answer = said.clone();
        let cluster = asks_of_tokens(ReviewVersion::V1, &asked, move |_| answer.clone()).await;
        let begun = Instant::now();
        let told = who_am_i(&cluster, "of-ann").await;
        assert_eq!((told.code, told.message()), (401, "Unauthorized"), "{said:.80?}");
        assert!(begun.elapsed() <= Duration::from_secs(30), "{:?} of {said:.80?}", begun.elapsed());
        let begun = Instant::now();
        let (_, other) = tokio::join!(biased; who_am_i(&cluster, "of-ann"), async {
            let other = admin(&cluster, Method::GET, "/api/v1/namespaces/default", Value::Null).await;
            (other.code, begun.elapsed())
        });
        assert_eq!(other, (200, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_and_credentials_are_not_in_the_event_log_even_if_the_webhook_returns_them() {
    const MARK: &str = "mark-of-a-token-81c2";
    let echo = |review: &Value| {
        let token = review["spec"]["token"].as_str().unwrap_or_default();
        (Duration::ZERO, 403, format!("no user has the token {token}"))
    };
    let asked = Asked::default();
    let log = Recorder::ring(10_000);
    let spec = ApiServerOptions {
        token_webhook: Some(TokenWebhookSpec { webhook: webhook(ReviewVersion::V1), cache_ttl: MINUTE }),
        service_routes: program(&asked, echo),
        ..ApiServerOptions::default()
    };
    let builder = Cluster::builder().api_server(spec.clone()).recorder(log.clone());
    let cluster = builder.api_server_only().start().await.unwrap();
    let refused = who_am_i(&cluster, MARK).await;
    assert_eq!(refused.code, 401);
    let told = format!("{:?}{:?}{spec:?}", log.entries(EntryId(0)), refused.body);
    assert!(told.contains("/review") && told.contains("no user has the token ***"), "the call is in the log");
    for secret in [MARK, "own-token"] {
        assert!(!told.contains(secret), "{secret}");
    }
    assert_eq!(asked.lock().len(), 1);
}

fn access(review: &Value) -> Said {
    let asked = &review["spec"]["resourceAttributes"];
    match asked["resource"].as_str() {
        Some("configmaps") => status(&json!({"allowed": true, "reason": "all may"})),
        Some("secrets") => status(&json!({"allowed": false, "denied": true, "reason": "nobody may"})),
        Some("pods") => (Duration::ZERO, 403, "who are you?".to_owned()),
        Some("services") => status(&json!({"allowed": true, "denied": true})),
        _ => status(&json!({"allowed": false, "reason": "who knows"})),
    }
}

#[tokio::test(start_paused = true)]
async fn the_webhook_allows_denies_or_has_no_opinion_and_if_it_fails_the_next_is_asked() {
    let asked = Asked::default();
    let cluster = asks_of_access("Webhook,RBAC", &asked, access).await;
    let rules = json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["pods", "secrets", "services", "nodes"]}]);
    let role = json!({"metadata": {"name": "reader"}, "rules": rules});
    let group = "/apis/rbac.authorization.k8s.io/v1";
    assert_eq!(admin(&cluster, Method::POST, &format!("{group}/clusterroles"), role).await.code, 201);
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}]
    });
    assert_eq!(admin(&cluster, Method::POST, &format!("{group}/clusterrolebindings"), binding).await.code, 201);

    assert_eq!(ask(&cluster, "/api/v1/configmaps").await.code, 200, "the webhook allows");
    assert_eq!(ask(&cluster, "/api/v1/nodes").await.code, 200, "the webhook does not know, RBAC allows");
    assert_eq!(ask(&cluster, "/api/v1/pods").await.code, 200, "the webhook fails, RBAC allows");
    let denied = ask(&cluster, "/api/v1/secrets").await;
    assert_eq!(denied.code, 403, "RBAC is not asked");
    assert!(denied.message().ends_with("at the cluster scope: nobody may"), "{}", denied.message());
    assert_eq!(ask(&cluster, "/api/v1/services").await.code, 403, "both is no");
    let neither = ask(&cluster, "/api/v1/endpoints").await;
    assert!(neither.message().ends_with("at the cluster scope: default: who knows"), "{}", neither.message());
    let failed = with_token(&cluster, "ann-token", Method::GET, "/api/v1/namespaces/a/pods/x/log", Value::Null).await;
    assert_eq!(failed.code, 500, "nobody else allows, and the webhook has failed: {}", failed.message());

    let rules =
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "a"}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let rules = admin(&cluster, Method::POST, path, rules).await.body;
    assert_eq!(rules["status"]["incomplete"], true);
    assert_eq!(rules["status"]["evaluationError"], "webhook authorizer does not support user rule resolution");
}

#[tokio::test(start_paused = true)]
async fn allowed_responses_are_cached_longer_and_system_masters_bypass_the_webhook() {
    let asked = Asked::default();
    let cluster = asks_of_access("Webhook", &asked, access).await;
    admin(&cluster, Method::GET, "/api/v1/secrets", Value::Null).await;
    asked.lock().clear();
    let count = |plural: &'static str| {
        let told = asked.lock();
        told.iter().filter(|(_, review)| review["spec"]["resourceAttributes"]["resource"] == plural).count()
    };
    for (after, allowed, refused) in [(0, 1, 1), (29, 1, 1), (1, 1, 2), (269, 1, 3), (1, 2, 3)] {
        sleep(Duration::from_secs(after)).await;
        assert_eq!(ask(&cluster, "/api/v1/configmaps?fieldSelector=metadata.name%3Da").await.code, 200);
        assert_eq!(ask(&cluster, "/api/v1/secrets").await.code, 403);
        assert_eq!((count("configmaps"), count("secrets")), (allowed, refused), "after {after} seconds more");
    }
    let (shown, question) = asked.lock()[0].clone();
    let spec = json!({
        "user": "ann", "uid": "u1", "groups": ["devs", "system:authenticated"],
        "resourceAttributes": {
            "verb": "list", "version": "v1", "resource": "configmaps",
            "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]},
            "name": "a"
        }
    });
    assert_eq!((shown.as_str(), &question["spec"]), (OWN_TOKEN, &spec));
    let _ = ask(&cluster, "/healthz").await;
    let question = asked.lock().last().unwrap().1.clone();
    assert_eq!(question["spec"]["nonResourceAttributes"], json!({"path": "/healthz", "verb": "get"}));
}

#[tokio::test(start_paused = true)]
async fn a_hostile_authorization_webhook_allows_nothing() {
    let whole = |body: Value| (Duration::ZERO, 200, body.to_string());
    let hostile: Vec<Said> = vec![
        (Duration::ZERO, 200, "{\"status\":{\"allowed\":true".to_owned()),
        (Duration::ZERO, 302, json!({"status": {"allowed": true}}).to_string()),
        whole(json!({"apiVersion": "v1", "kind": "Status", "status": {"allowed": true}})),
        whole(json!({"status": {"allowed": "yes"}})),
        whole(json!({"allowed": true})),
        (Duration::from_secs(3600), 200, json!({"status": {"allowed": true}}).to_string()),
    ];
    for said in hostile {
        let answer = said.clone();
        let cluster = asks_of_access("Webhook", &Asked::default(), move |_| answer.clone()).await;
        let begun = Instant::now();
        let refused = ask(&cluster, "/api/v1/configmaps").await;
        assert!([403, 500].contains(&refused.code), "{said:.80?}: {:?}", refused.body);
        assert!(begun.elapsed() <= Duration::from_secs(30), "{:?} of {said:.80?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_requires_its_mode_and_the_mode_its_webhook() {
    let start = |modes: &str, webhook: Option<AccessWebhookSpec>| {
        let spec = ApiServerOptions {
            authorization_mode: modes.to_owned(),
            authorization_webhook: webhook,
            ..ApiServerOptions::default()
        };
        async { Cluster::builder().api_server(spec).api_server_only().start().await.unwrap_err().to_string() }
    };
    let spec =
        AccessWebhookSpec { webhook: webhook(ReviewVersion::V1), authorized_ttl: MINUTE, unauthorized_ttl: MINUTE };
    assert_eq!(start("Webhook", None).await, "authorization-mode Webhook's authorization config file not passed");
    let unused = start("RBAC", Some(spec)).await;
    assert_eq!(unused, "cannot specify --authorization-webhook-config-file without mode Webhook");
}
