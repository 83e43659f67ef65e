//! API servers beside this one, answered by services in the same process, in virtual time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use coracle::{Cluster, ServiceRoutes, Transport, User};
use futures_util::StreamExt;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::{ServiceExt, service_fn};

use crate::front::{call, get, send};

const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const BOATS: &str = "/apis/boats.example/v1/namespaces/default/boats";
/// Longer than anything that happens by itself takes.
const SETTLED: Duration = Duration::from_millis(100);

/// What the other server was asked, in order.
type Asked = Arc<Mutex<Vec<(String, HeaderMap, Bytes)>>>;

fn resource_list() -> Value {
    let boats = json!({"name": "boats", "singularName": "boat", "namespaced": true, "kind": "Boat",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "watch"]});
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "boats.example/v1", "resources": [boats]})
}

fn openapi_v2() -> Value {
    json!({"swagger": "2.0",
        "paths": {"/apis/boats.example/v1/boats": {"get": {"schema": {"$ref": "#/definitions/example.boats.v1.Boat"}}}},
        "definitions": {"example.boats.v1.Boat": {"type": "object"}}})
}

/// Two events, with time between them.
fn events() -> impl http_body::Body<Data = Bytes, Error = Infallible> + Send {
    let events = futures_util::stream::iter(["{\"n\":1}\n", "{\"n\":2}\n"]).then(async |event| {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(event.as_bytes())))
    });
    StreamBody::new(Box::pin(events))
}

/// An API server for `boats.example/v1`, of the sort that knows no newer discovery; `breaks` says whether it fails.
fn boats(asked: &Asked, breaks: &Arc<Mutex<bool>>) -> Transport {
    let (asked, breaks) = (Arc::clone(asked), Arc::clone(breaks));
    Transport::to(service_fn(move |request: Request<_>| {
        let (asked, breaks) = (Arc::clone(&asked), Arc::clone(&breaks));
        async move {
            let (head, body) = request.into_parts();
            let body: Bytes = BodyExt::collect(body).await.map(http_body_util::Collected::to_bytes).unwrap();
            let target = head.uri.to_string();
            asked.lock().push((format!("{} {target}", head.method), head.headers, body));
            let full = |code: u16, text: String| {
                let body = Full::new(Bytes::from(text)).boxed_unsync();
                Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
            };
            Ok::<_, Infallible>(match head.uri.path() {
                _ if *breaks.lock() => full(500, String::new()),
                "/apis/boats.example/v1" => full(200, resource_list().to_string()),
                "/openapi/v2" => full(200, openapi_v2().to_string()),
                _ if target.contains("watch=1") => Response::new(events().boxed_unsync()),
                "/apis/boats.example/v1/namespaces/default/boats" => full(201, "{\"kind\":\"Boat\"}".to_owned()),
                _ => full(404, String::new()),
            })
        }
    }))
}

/// A cluster with that server behind the service `harbour/boats`.
struct Harbour {
    cluster: Cluster,
    asked: Asked,
    breaks: Arc<Mutex<bool>>,
}

impl Harbour {
    async fn new() -> Self {
        let (asked, breaks) = (Asked::default(), Arc::new(Mutex::new(false)));
        let mut routes = ServiceRoutes::default();
        routes.answer_for_service("default", "boats", boats(&asked, &breaks));
        let cluster = Cluster::builder().service_routes(routes).api_server_only().start().await.unwrap();
        let harbour = Self { cluster, asked, breaks };
        let service = json!({"metadata": {"name": "boats"}, "spec": {"ports": [{"port": 443}]}});
        harbour.create("/api/v1/namespaces/default/services", &service).await;
        harbour
    }

    async fn create(&self, path: &str, object: &Value) {
        let made = call(&self.cluster, Method::POST, path, object).await;
        assert_eq!(made.code, StatusCode::CREATED, "{:?}", made.json());
    }

    async fn register(&self, priorities: (i64, i64)) {
        let spec = json!({
            "group": "boats.example", "version": "v1", "groupPriorityMinimum": priorities.0,
            "versionPriority": priorities.1, "service": {"namespace": "default", "name": "boats"},
            "insecureSkipTLSVerify": true,
        });
        self.create(API_SERVICES, &json!({"metadata": {"name": "v1.boats.example"}, "spec": spec})).await;
        tokio::time::sleep(SETTLED).await;
    }

    async fn condition(&self) -> Value {
        let object = get(&self.cluster, &format!("{API_SERVICES}/v1.boats.example")).await;
        object["status"]["conditions"][0].clone()
    }

    /// What it was asked at a path, by whoever.
    fn asked_at(&self, path: &str) -> Vec<HeaderMap> {
        let asked = self.asked.lock();
        let there = asked.iter().filter(|(line, ..)| line.split(' ').nth(1).is_some_and(|at| at.starts_with(path)));
        there.map(|(_, headers, _)| headers.clone()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_request_has_only_the_servers_identity_headers() {
    let harbour = Harbour::new().await;
    harbour.register((1000, 15)).await;
    assert_eq!(
        (&harbour.condition().await["status"], &harbour.condition().await["reason"]),
        (&"True".into(), &"Passed".into())
    );
    let user = User { uid: "7".to_owned(), ..User::new("captain", ["system:masters"]) };
    let extra = [("example.com/ship".to_owned(), vec!["red".to_owned(), "blue".to_owned()])];
    let user = User { extra: extra.into_iter().collect(), ..user };
    let request = Request::post(format!("{BOATS}?pretty=true&x=%2F"))
        .header("x-remote-user", "admiral")
        .header("x-remote-group", "system:masters")
        .header("x-remote-extra-rank", "high")
        .header("authorization", "Bearer secret")
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from_static(b"{\"kind\":\"Boat\"}")))
        .unwrap();
    let answer = harbour.cluster.service_as(user).oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED);
    assert!(answer.headers().contains_key("audit-id"));
    let asked = harbour.asked.lock();
    let (line, headers, body) = asked.iter().find(|(line, ..)| line.starts_with("POST")).unwrap();
    assert_eq!(
        (line.as_str(), &body[..]),
        (format!("POST {BOATS}?pretty=true&x=%2F").as_str(), &b"{\"kind\":\"Boat\"}"[..])
    );
    let all = |name: &str| headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(all("x-remote-user"), ["captain"]);
    assert_eq!(all("x-remote-uid"), ["7"]);
    assert_eq!(all("x-remote-group"), ["system:masters", "system:authenticated"]);
    assert_eq!(all("x-remote-extra-example.com%2fship"), ["red", "blue"]);
    assert!(!headers.contains_key("x-remote-extra-rank") && !headers.contains_key("authorization"));
    assert_eq!(all("audit-id"), [answer.headers()["audit-id"].to_str().unwrap()]);
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_request_is_refused_and_not_forwarded() {
    let harbour = Harbour::new().await;
    harbour.register((1000, 15)).await;
    let nobody = User::new("nobody", ["guests"]);
    let request = Request::get(BOATS).body(Full::new(Bytes::new())).unwrap();
    let answer = harbour.cluster.service_as(nobody).oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert!(harbour.asked_at(BOATS).is_empty());
}

#[tokio::test(start_paused = true)]
async fn events_come_one_by_one_as_the_other_server_sends_them() {
    let harbour = Harbour::new().await;
    harbour.register((1000, 15)).await;
    let began = tokio::time::Instant::now();
    let request = Request::get(format!("{BOATS}?watch=1")).body(Full::new(Bytes::new())).unwrap();
    let answer = harbour.cluster.service().oneshot(request).await.unwrap();
    let mut frames = BodyStream::new(answer.into_body());
    let mut came = Vec::new();
    while let Some(frame) = frames.next().await {
        let data = frame.unwrap().into_data().unwrap();
        came.push((began.elapsed().as_secs(), String::from_utf8(data.to_vec()).unwrap()));
    }
    assert_eq!(
        came,
        [(60, "{\"n\":1}\n".to_owned()), (120, "{\"n\":2}\n".to_owned())],
        "longer than a request may take"
    );
}

#[tokio::test(start_paused = true)]
async fn a_group_of_another_server_stands_in_every_form_of_discovery_and_in_openapi() {
    let harbour = Harbour::new().await;
    harbour.register((1000, 15)).await;
    let groups = get(&harbour.cluster, "/apis").await;
    let names: Vec<_> = groups["groups"].as_array().unwrap().iter().map(|group| group["name"].clone()).collect();
    assert_eq!(names.last().unwrap(), "boats.example");
    let group = get(&harbour.cluster, "/apis/boats.example").await;
    assert_eq!(group["preferredVersion"]["groupVersion"], "boats.example/v1");
    assert_eq!(get(&harbour.cluster, "/apis/boats.example/v1").await, resource_list());
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = Request::get("/apis").header("accept", accept).body(Vec::new()).unwrap();
    let aggregated = send(&harbour.cluster, request).await.json();
    let group = aggregated["items"].as_array().unwrap().last().unwrap().clone();
    let version = &group["versions"][0];
    assert_eq!((&group["metadata"]["name"], &version["freshness"]), (&"boats.example".into(), &"Current".into()));
    assert_eq!(version["resources"][0]["responseKind"]["kind"], "Boat");
    let openapi = get(&harbour.cluster, "/openapi/v2").await;
    assert!(openapi["paths"]["/apis/boats.example/v1/boats"].is_object());
    assert!(openapi["definitions"]["example.boats.v1.Boat"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_failing_extension_server_is_reported_unavailable_and_recovers() {
    let harbour = Harbour::new().await;
    *harbour.breaks.lock() = true;
    harbour.register((1000, 15)).await;
    let condition = harbour.condition().await;
    assert_eq!((&condition["status"], &condition["reason"]), (&"False".into(), &"FailedDiscoveryCheck".into()));
    let url = "https://boats.default.svc:443/apis/boats.example/v1";
    let why = format!("failing or missing response from {url}: bad status from {url}: 500");
    assert_eq!(condition["message"], why.as_str());
    let refused = send(&harbour.cluster, Request::get(BOATS).body(Vec::new()).unwrap()).await;
    assert_eq!((refused.code, &refused.body[..]), (StatusCode::SERVICE_UNAVAILABLE, &b"service unavailable\n"[..]));
    *harbour.breaks.lock() = false;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(harbour.condition().await["reason"], "Passed");
    *harbour.breaks.lock() = true;
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(harbour.condition().await["status"], "False");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = Request::get("/apis").header("accept", accept).body(Vec::new()).unwrap();
    let aggregated = send(&harbour.cluster, request).await.json();
    let version = &aggregated["items"].as_array().unwrap().last().unwrap()["versions"][0];
    assert_eq!((&version["freshness"], version["resources"].as_array().unwrap().len()), (&"Stale".into(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_service_takes_no_group_away_and_one_that_goes_is_forgotten() {
    let harbour = Harbour::new().await;
    harbour.register((1000, 15)).await;
    let path = format!("{API_SERVICES}/v1.boats.example");
    assert_eq!(call(&harbour.cluster, Method::DELETE, &path, &json!({})).await.code, StatusCode::OK);
    tokio::time::sleep(SETTLED).await;
    let asked = harbour.asked.lock().len();
    let gone = send(&harbour.cluster, Request::get(BOATS).body(Vec::new()).unwrap()).await;
    assert_eq!(gone.code, StatusCode::NOT_FOUND);
    assert!(!get(&harbour.cluster, "/apis").await.to_string().contains("boats.example"));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(harbour.asked.lock().len(), asked, "nobody is asked who answers for nothing");
    let local = json!({"group": "boats.example", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15});
    harbour.create(API_SERVICES, &json!({"metadata": {"name": "v1.boats.example"}, "spec": local})).await;
    tokio::time::sleep(SETTLED).await;
    assert_eq!(harbour.condition().await["reason"], "Local");
    let gone = send(&harbour.cluster, Request::get(BOATS).body(Vec::new()).unwrap()).await;
    assert_eq!(gone.code, StatusCode::NOT_FOUND);
}

/// An APIService that has the service `boats` answer for a group and version.
fn taken_over(group: &str, version: &str) -> Value {
    let spec = json!({"group": group, "version": version, "groupPriorityMinimum": 2000, "versionPriority": 100,
        "service": {"namespace": "default", "name": "boats", "port": 443}, "insecureSkipTLSVerify": true});
    json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}")}, "spec": spec})
}

/// All groups and versions, as discovery lists them.
async fn group_versions(cluster: &Cluster) -> Vec<(String, String)> {
    let groups = get(cluster, "/apis").await["groups"].as_array().unwrap().clone();
    let versions = groups.iter().flat_map(|group| group["versions"].as_array().unwrap().clone());
    let pair = |version: Value| {
        let (group, version) = version["groupVersion"].as_str().unwrap().split_once('/').unwrap();
        (group.to_owned(), version.to_owned())
    };
    versions.map(pair).collect()
}

#[tokio::test(start_paused = true)]
async fn the_api_service_of_a_group_that_this_server_answers_for_is_there_already() {
    let harbour = Harbour::new().await;
    let names = json!({"plural": "odds", "singular": "odd", "kind": "Odd", "listKind": "OddList"});
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let spec = json!({"group": "custom.example", "scope": "Namespaced", "names": names, "versions": [version]});
    let definition = json!({"metadata": {"name": "odds.custom.example"}, "spec": spec});
    harbour.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await;
    tokio::time::sleep(SETTLED).await;
    let mut versions = group_versions(&harbour.cluster).await;
    assert!(versions.len() > 20 && versions.contains(&("custom.example".to_owned(), "v1".to_owned())), "{versions:?}");
    versions.push((String::new(), "v1".to_owned()));
    for (group, version) in &versions {
        let object = taken_over(group, version);
        let name = format!("{version}.{group}");
        let expected = format!("apiservices.apiregistration.k8s.io {name:?} already exists");
        for path in [API_SERVICES.to_owned(), format!("{API_SERVICES}?dryRun=All")] {
            let answer = call(&harbour.cluster, Method::POST, &path, &object).await;
            assert_eq!((answer.code, &answer.json()["message"]), (StatusCode::CONFLICT, &expected.as_str().into()));
        }
        let apply = Request::patch(format!("{API_SERVICES}/{name}?fieldManager=m"))
            .header("content-type", "application/apply-patch+yaml");
        let applied = send(&harbour.cluster, apply.body(object.to_string().into_bytes()).unwrap()).await;
        assert_eq!(applied.code, StatusCode::CONFLICT, "{name}: {:?}", applied.json());
    }
}
