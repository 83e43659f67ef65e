//! What costly expressions say is the same wherever they are evaluated, and whoever has none does not wait for them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use coracle_ambient::Ambient;
use coracle_cluster::{ApiServer, ApiServerOptions, NoNodes, OpenStore, StoreSpec, Transport, User};
use coracle_journal::Recorder;
use coracle_meta::Status;
use coracle_registry::ExpressionPool;
use futures_util::future::{Either, select};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

/// More steps than are taken at once, and fewer than an expression may take.
const COSTLY: &str = "lists.range(150).all(a, lists.range(150).all(b, a + b >= 0))";
/// More than an expression may take.
const TOO_COSTLY: &str = "lists.range(900).all(a, lists.range(900).all(b, a + b >= 0))";

struct Server {
    front: Transport,
    api_server: ApiServer,
    _store: OpenStore,
}

/// What a client is told: the code, and the body.
type Told = (u16, String);

impl Server {
    async fn start(elsewhere: Option<Arc<dyn ExpressionPool>>) -> Self {
        let (ambient, recorder) = (Ambient::seeded(7), Recorder::off());
        let spec = ApiServerOptions { expression_pool: elsewhere, ..ApiServerOptions::default() };
        let opened = StoreSpec::Memory.open(&ambient, &recorder).await.unwrap();
        let store = Arc::clone(&opened.store);
        let api_server = ApiServer::start(&spec, store, Arc::new(NoNodes), &ambient, &recorder).await.unwrap();
        let admin = Arc::new(User::new("admin", ["system:masters"]));
        Self { front: api_server.transport().asking_as(admin), api_server, _store: opened }
    }

    async fn send(&self, method: Method, path: &str, media_type: &str, body: &Value) -> Told {
        let request = Request::builder().method(method).uri(path).header("content-type", media_type);
        let request = request.body(coracle_cluster::boxed(Full::new(Bytes::from(body.to_string())))).unwrap();
        let answer = self.front.send(request).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn post(&self, path: &str, body: &Value) -> Told {
        self.send(Method::POST, path, "application/json", body).await
    }

    async fn define(&self, rules: &Value) {
        let told = self.post(DEFINITIONS, &definition(rules)).await;
        assert_eq!(told.0, 201, "{}", told.1);
    }
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOATS: &str = "/apis/o.example.com/v1/namespaces/default/boats";
const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Boats, whose specification is held to rules.
fn definition(rules: &Value) -> Value {
    let spec = json!({
        "type": "object", "x-kubernetes-validations": rules,
        "properties": {"oars": {"type": "integer"}, "crew": {"type": "string"}}
    });
    let status = json!({"type": "object", "properties": {"afloat": {"type": "boolean"}}});
    json!({
        "metadata": {"name": "boats.o.example.com"},
        "spec": {
            "group": "o.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
            }]
        }
    })
}

fn boat(name: &str, oars: i64) -> Value {
    json!({"apiVersion": "o.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"oars": oars}})
}

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "b"}})
}

/// Another thread; counts what it is given.
#[derive(Default)]
struct Thread(AtomicUsize);

#[async_trait]
impl ExpressionPool for Thread {
    async fn run(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        #[expect(clippy::disallowed_methods, reason = "the test waits for the thread, so that its clock stands")]
        std::thread::spawn(work).join().unwrap();
        Ok(())
    }
}

/// What is told here and elsewhere, of which the number says how often something was done elsewhere.
async fn both(tell: impl AsyncFn(&Server) -> Vec<Told>) -> (Vec<Told>, usize) {
    let thread = Arc::new(Thread::default());
    let here = tell(&Server::start(None).await).await;
    let elsewhere = tell(&Server::start(Some(Arc::clone(&thread) as Arc<dyn ExpressionPool>)).await).await;
    assert_eq!(here, elsewhere);
    (here, thread.0.load(Ordering::Relaxed))
}

fn codes(told: &[Told]) -> Vec<u16> {
    told.iter().map(|(code, _)| *code).collect()
}

/// All manners of writing boats.
async fn write_boats(server: &Server) -> Vec<Told> {
    let at = |name: &str| format!("{BOATS}/{name}");
    let merge = "application/merge-patch+json";
    let replace = json!([{"op": "replace", "path": "/spec/oars", "value": 4}]);
    vec![
        server.post(BOATS, &boat("a", 2)).await,
        server.post(BOATS, &boat("bad", -1)).await,
        server.post(&format!("{BOATS}?dryRun=All"), &boat("dry", 2)).await,
        server.send(Method::PATCH, &at("a"), "application/json-patch+json", &replace).await,
        server.send(Method::PATCH, &at("a"), merge, &json!({"spec": {"oars": 3}})).await,
        server.send(Method::PATCH, &at("a"), merge, &json!({"spec": {"crew": "ann"}})).await,
        server.send(Method::PATCH, &format!("{}/status", at("a")), merge, &json!({"status": {"afloat": true}})).await,
        server
            .send(Method::PATCH, &format!("{}?fieldManager=me", at("b")), "application/apply-patch+yaml", &boat("b", 6))
            .await,
        server.send(Method::GET, BOATS, "application/json", &Value::Null).await,
    ]
}

#[tokio::test(start_paused = true)]
async fn a_costly_rule_says_the_same_elsewhere_as_here() {
    let costly = json!([
        {"rule": format!("{COSTLY} && self.oars >= 0"), "messageExpression": "self.oars < 0 ? 'less than none' : ''"},
        {"rule": format!("{COSTLY} && oldSelf.oars <= self.oars"), "message": "oars are lost"}
    ]);
    let (told, elsewhere) = both(async |server| {
        server.define(&costly).await;
        write_boats(server).await
    })
    .await;
    assert_eq!(codes(&told), [201, 422, 201, 200, 422, 200, 200, 201, 200]);
    assert!(told[1].1.contains("less than none") && told[4].1.contains("oars are lost"), "{told:?}");
    assert_eq!(elsewhere, 8);
}

#[tokio::test(start_paused = true)]
async fn exceeding_the_cost_budget_has_the_same_error_in_the_pool() {
    let too_costly = json!([{"rule": TOO_COSTLY}, {"rule": "false"}]);
    let (told, elsewhere) = both(async |server| {
        server.define(&too_costly).await;
        vec![server.post(BOATS, &boat("a", 2)).await]
    })
    .await;
    assert!(told[0].1.contains("no further validation rules will be run due to call cost exceeds limit"), "{told:?}");
    assert_eq!((told[0].0, elsewhere), (422, 1));
}

#[tokio::test(start_paused = true)]
async fn rules_that_cost_little_are_asked_here() {
    let cheap = json!([{"rule": "self.oars >= 0"}, {"rule": "lists.range(20).all(a, a < 20)"}]);
    let (told, elsewhere) = both(async |server| {
        server.define(&cheap).await;
        write_boats(server).await
    })
    .await;
    assert_eq!((codes(&told)[..2].to_vec(), elsewhere), (vec![201, 422], 0));
}

/// A policy for config maps, bound.
async fn bind(server: &Server, spec: Value) {
    let mut spec = spec;
    let rules =
        json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]);
    spec["matchConstraints"] = json!({"resourceRules": rules});
    let policy = json!({"metadata": {"name": "p"}, "spec": spec});
    assert_eq!(server.post(&format!("{ADMISSION}/validatingadmissionpolicies"), &policy).await.0, 201);
    let spec = json!({"policyName": "p", "validationActions": ["Deny"]});
    let binding = json!({"metadata": {"name": "b"}, "spec": spec});
    assert_eq!(server.post(&format!("{ADMISSION}/validatingadmissionpolicybindings"), &binding).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn a_costly_policy_says_the_same_elsewhere_as_here() {
    let allowed = "authorizer.path('/healthz').check('get').allowed()";
    let specs = [
        json!({"validations": [{"expression": format!("{COSTLY} && object.metadata.name != 'bad'")}]}),
        json!({
            "variables": [{"name": "costly", "expression": COSTLY}],
            "validations": [{"expression": "!variables.costly || object.metadata.name != 'bad'", "message": "no"}]
        }),
        json!({"validations": [{"expression": format!("{COSTLY} && {allowed} && object.metadata.name != 'bad'")}]}),
        json!({"validations": [{"expression": TOO_COSTLY}]}),
    ];
    let expected = [vec![201, 422], vec![201, 422], vec![201, 422], vec![422, 422]];
    for (spec, expected) in specs.into_iter().zip(expected) {
        let (told, elsewhere) = both(async |server| {
            bind(server, spec.clone()).await;
            vec![
                server.post(CONFIG_MAPS, &config_map("good")).await,
                server.post(CONFIG_MAPS, &config_map("bad")).await,
            ]
        })
        .await;
        assert_eq!(codes(&told), expected, "{told:?}");
        assert!(elsewhere >= 2, "{elsewhere}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_asks_the_authorizer_and_nothing_else_is_asked_here() {
    let (told, elsewhere) = both(async |server| {
        let asks = "authorizer.path('/healthz').check('get').allowed()";
        bind(server, json!({"validations": [{"expression": asks}]})).await;
        vec![server.post(CONFIG_MAPS, &config_map("a")).await]
    })
    .await;
    assert_eq!((codes(&told), elsewhere), (vec![201], 0));
}

#[tokio::test(start_paused = true)]
async fn costly_conditions_of_a_webhook_say_the_same_elsewhere_as_here() {
    for (condition, code) in [(format!("!{COSTLY}"), 201), (COSTLY.to_owned(), 500), (TOO_COSTLY.to_owned(), 403)] {
        let (told, elsewhere) = both(async |server| {
            let webhook = json!({
                "name": "w.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": "https://nobody.example.com/"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
                "matchConditions": [{"name": "c", "expression": condition}]
            });
            let configuration = json!({"metadata": {"name": "w"}, "webhooks": [webhook]});
            let told = server.post(&format!("{ADMISSION}/validatingwebhookconfigurations"), &configuration).await;
            assert_eq!(told.0, 201, "{}", told.1);
            vec![server.post(CONFIG_MAPS, &config_map("a")).await]
        })
        .await;
        assert_eq!((codes(&told), elsewhere), (vec![code], 1), "{told:?}");
    }
}

/// Does nothing that it is given.
struct Never;

#[async_trait]
impl ExpressionPool for Never {
    async fn run(&self, _work: Box<dyn FnOnce() + Send>) -> Result<(), Status> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn requests_without_expressions_do_not_wait_for_expressions_of_others() {
    let server = Server::start(Some(Arc::new(Never))).await;
    server.define(&json!([{"rule": COSTLY}])).await;
    let (costly, other) = (boat("a", 2), config_map("a"));
    let (costly, other) = (pin!(server.post(BOATS, &costly)), pin!(server.post(CONFIG_MAPS, &other)));
    match select(costly, other).await {
        Either::Right((told, _)) => assert_eq!(told.0, 201),
        Either::Left((told, _)) => panic!("answered without its rules: {told:?}"),
    }
}

#[tokio::test]
async fn in_real_time_costly_expressions_run_on_another_thread() {
    let server = Server::start(None).await;
    server.define(&json!([{"rule": TOO_COSTLY}])).await;
    let (costly, other) = (boat("a", 2), config_map("a"));
    let (costly, other) = (pin!(server.post(BOATS, &costly)), pin!(server.post(CONFIG_MAPS, &other)));
    let Either::Right((told, costly)) = select(costly, other).await else { panic!("others waited for the rules") };
    assert_eq!(told.0, 201);
    let told = costly.await;
    assert!(told.1.contains("call cost exceeds limit"), "{told:?}");
    server.api_server.stop().await;
}
