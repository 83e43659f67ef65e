//! What the wire does to requests and watches, in virtual time.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use coracle_cluster::{ApiServerOptions, Cluster, Component, Instance, Requester, Transport, User, boxed};
use coracle_handover::{Events, Offer};
use coracle_meta::{GroupResource, Object, ObjectKey, ObjectType, WatchEvent};
use coracle_schema::protobuf::WatchMessage;
use coracle_sim::{Effect, LastSent, Latency, Leg, Rule, RuleId, Selector, Senders, Wire};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, Request};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true";
const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A cluster behind a wire, with a reader whose messages the tests disturb, and a writer.
struct World {
    cluster: Cluster,
    wire: Wire,
    reader: Transport,
    writer: Transport,
    /// A watch of all changes.
    watch: String,
}

impl World {
    async fn new() -> Self {
        let wire = Wire::default();
        let builder = Cluster::builder().seed(1).api_server_only().transport_layer_for_all(wire.layer());
        let cluster = builder.start().await.unwrap();
        let of = |name: &str| cluster.service_as(User::new(name, ["system:masters"]));
        let (reader, writer) = (of("reader"), of("writer"));
        let (_, list) = ask(&writer, Method::GET, MAPS, None).await.unwrap();
        let watch = format!("{WATCH}&resourceVersion={}", version(&list));
        Self { wire, reader, writer, watch, cluster }
    }

    fn disturb(&self, effect: Effect) -> RuleId {
        self.wire.add(Rule::from(Senders::Named("reader".into()), effect))
    }

    async fn write(&self, name: &str) -> i64 {
        let (code, map) = ask(&self.writer, Method::POST, MAPS, Some(map(name))).await.unwrap();
        assert_eq!(code, 201, "{map}");
        version(&map)
    }

    async fn change(&self, name: &str, value: &str) -> i64 {
        let body = json!({"metadata": {"name": name, "namespace": "default"}, "data": {"value": value}});
        let (code, map) = ask(&self.writer, Method::PUT, &format!("{MAPS}/{name}"), Some(body)).await.unwrap();
        assert_eq!(code, 200, "{map}");
        version(&map)
    }

    async fn exists(&self, name: &str) -> bool {
        ask(&self.writer, Method::GET, &format!("{MAPS}/{name}"), None).await.unwrap().0 == 200
    }

    async fn events(&self, uri: &str) -> Box<dyn Events> {
        events_of(&self.reader, uri).await
    }
}

async fn events_of(transport: &Transport, uri: &str) -> Box<dyn Events> {
    let response = transport.send(request(Method::GET, uri, None)).await.unwrap();
    match response.into_body().take_offer() {
        Some(Offer::Events(mut events)) => {
            events.last();
            events
        }
        other => panic!("no events are offered: {other:?}"),
    }
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn request(method: Method, uri: &str, body: Option<Value>) -> Request<coracle_cluster::Body> {
    let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    request.body(boxed(body.map(|body| body.to_string()).unwrap_or_default())).unwrap()
}

async fn ask(to: &Transport, method: Method, uri: &str, body: Option<Value>) -> Result<(u16, Value), String> {
    let response = to.send(request(method, uri, body)).await.map_err(|error| error.to_string())?;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}

fn version(object: &Value) -> i64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Type, name and value of an event.
async fn next(events: &mut Box<dyn Events>) -> Option<(String, String, String)> {
    let event = events.next().await?;
    let kind = event.event_type().as_str().to_owned();
    Some(match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
            let object = coracle_meta::any_object::unwrap::<Object>(object.decode(ObjectType::of::<Object>()).unwrap());
            let value = object.field("data.value").and_then(Value::as_str).unwrap_or("").to_owned();
            (kind, object.name().to_owned(), value)
        }
        WatchEvent::Bookmark { resource_version, .. } => (kind, resource_version, String::new()),
        WatchEvent::Error(status) => (kind, status.code.to_string(), String::new()),
    })
}

async fn nothing(events: &mut Box<dyn Events>, within: Duration) {
    if let Ok(event) = timeout(within, next(events)).await {
        panic!("unexpected: {event:?}");
    }
}

fn is_after(lag: Duration, committed: Instant, arrived: Instant) -> bool {
    let late = arrived - committed;
    late >= lag && late <= lag + MILLISECOND
}

/// Writes 150 objects at irregular moments, several at some, and returns when each was committed.
async fn many(world: &World, committed: &Mutex<BTreeMap<String, Instant>>) {
    for number in 0..150_u64 {
        let name = format!("map-{number:03}");
        world.write(&name).await;
        committed.lock().insert(name, Instant::now());
        match number % 5 {
            0 | 1 => {}
            rest => sleep(Duration::from_millis(rest * 17 + number)).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_event_arrives_its_lag_after_its_commit() {
    let world = World::new().await;
    let lag = SECOND;
    world.disturb(Effect::Lag(lag));
    let mut events = world.events(&world.watch).await;
    let lines = world.reader.send(request(Method::GET, &world.watch, None)).await.unwrap();
    let (committed, mut body) = (Mutex::default(), lines.into_body());
    let read = async {
        let mut arrived = Vec::new();
        while arrived.len() < 150 {
            let (kind, name, _) = next(&mut events).await.unwrap();
            assert_eq!(kind, "ADDED");
            arrived.push((name, Instant::now()));
        }
        arrived
    };
    let read_lines = async {
        let mut arrived = Vec::new();
        while arrived.len() < 150 {
            let line = body.frame().await.unwrap().unwrap().into_data().unwrap();
            let event: Value = serde_json::from_slice(&line).unwrap();
            arrived.push((event["object"]["metadata"]["name"].as_str().unwrap().to_owned(), Instant::now()));
        }
        arrived
    };
    let ((), arrived, lines) = futures_util::future::join3(many(&world, &committed), read, read_lines).await;
    let committed = committed.into_inner();
    for arrived in [arrived, lines] {
        assert!(arrived.iter().map(|(name, _)| name).eq(committed.keys()), "in order, without gaps");
        for (name, at) in arrived {
            assert!(is_after(lag, committed[&name], at), "{name} came after {:?}", at - committed[&name]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_does_not_make_events_later() {
    let world = World::new().await;
    world.disturb(Effect::Lag(SECOND));
    let mut events = world.events(&world.watch).await;
    // The watch is on its way once it is read.
    nothing(&mut events, MILLISECOND).await;
    let committed = Mutex::default();
    many(&world, &committed).await;
    sleep(SECOND).await;
    let began = Instant::now();
    for name in committed.into_inner().keys() {
        assert_eq!(next(&mut events).await.unwrap().1, *name);
    }
    assert_eq!(Instant::now(), began, "all had arrived");
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_and_the_progress_report_only_what_was_delivered() {
    let world = World::new().await;
    let first = world.write("a").await;
    world.disturb(Effect::Lag(SECOND));
    let query = "&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = world.events(&format!("{WATCH}{query}")).await;
    assert_eq!(next(&mut events).await.unwrap().1, "a");
    let (kind, end, _) = next(&mut events).await.unwrap();
    assert_eq!(kind, "BOOKMARK");
    assert!(end.parse::<i64>().unwrap() >= first);
    let second = world.write("b").await;
    sleep(SECOND / 2).await;
    assert_eq!(events.progress().await, None, "b is on its way");
    assert_eq!(next(&mut events).await.unwrap().1, "b");
    let third = world.write("c").await;
    assert_eq!(events.progress().await, None);
    assert_eq!(next(&mut events).await.unwrap().1, "c");
    let asked = Instant::now();
    let progress: i64 = events.progress().await.unwrap().parse().unwrap();
    assert!(progress >= third && third > second);
    assert!(is_after(SECOND, asked, Instant::now()), "the progress is an answer of the server");
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_is_removed_frees_what_it_held() {
    for hold in [Effect::Hang, Effect::BookmarkOnly, Effect::Cut, Effect::Lag(SECOND * 3600)] {
        let world = World::new().await;
        let mut events = world.events(&world.watch).await;
        nothing(&mut events, SECOND).await;
        let rule = world.disturb(hold);
        world.write("a").await;
        world.write("b").await;
        nothing(&mut events, SECOND * 60).await;
        let mut other = events_of(&world.writer, &world.watch).await;
        assert_eq!(next(&mut other).await.unwrap().1, "a", "only the reader's watch is held");
        let (events, healed) = (&mut events, Instant::now());
        let heal = async {
            sleep(SECOND).await;
            world.wire.remove(rule);
        };
        let read = async { [next(events).await.unwrap().1, next(events).await.unwrap().1] };
        let ((), names) = futures_util::future::join(heal, read).await;
        assert_eq!(names, ["a", "b"], "{hold:?}");
        assert_eq!(Instant::now() - healed, SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_holds_events_ends_when_the_server_ends_it_unless_the_network_is_cut() {
    for (hold, ends) in
        [(Effect::Hang, true), (Effect::BookmarkOnly, true), (Effect::Stale(1), true), (Effect::Cut, false)]
    {
        let world = World::new().await;
        let uri = format!("{}&timeoutSeconds=20", world.watch);
        let open = async |reader: &Transport| reader.send(request(Method::GET, &uri, None)).await.unwrap().into_body();
        let [mut held, mut undisturbed] = [open(&world.reader).await, open(&world.writer).await];
        let rule = world.disturb(hold);
        world.write("a").await;
        assert!(undisturbed.frame().await.is_some(), "the event");
        let began = Instant::now();
        assert!(undisturbed.frame().await.is_none());
        let server_ended = began.elapsed();
        assert!(server_ended >= SECOND * 19 && server_ended <= SECOND * 20, "{server_ended:?}");
        let ended = timeout(MILLISECOND, held.frame()).await;
        assert_eq!(ended.is_ok_and(|frame| frame.is_none()), ends, "{hold:?}");
        world.wire.remove(rule);
        let mut again = world.events(&world.watch).await;
        assert_eq!(next(&mut again).await.unwrap().1, "a", "what was held is read after the last revision");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_that_overtakes_held_events_has_the_revision_of_the_last_delivered_one() {
    let world = World::new().await;
    let uri = format!("{}&allowWatchBookmarks=true", world.watch);
    // Without `Events::last`, so that there are bookmarks.
    let offer = world.reader.send(request(Method::GET, &uri, None)).await.unwrap().into_body().take_offer();
    let Some(Offer::Events(mut events)) = offer else { panic!("no events are offered") };
    let mut body = world.reader.send(request(Method::GET, &uri, None)).await.unwrap().into_body();
    let mut line = async || -> Value {
        let line = body.frame().await.unwrap().unwrap().into_data().unwrap();
        serde_json::from_slice(&line).unwrap()
    };
    let first = world.write("a").await;
    assert_eq!(next(&mut events).await.unwrap().1, "a");
    assert_eq!(version(&line().await["object"]), first);
    let rule = world.disturb(Effect::BookmarkOnly);
    let second = world.write("b").await;
    let bookmark = ("BOOKMARK".to_owned(), first.to_string(), String::new());
    for _ in 0..3 {
        assert_eq!(timeout(SECOND * 120, next(&mut events)).await.unwrap(), Some(bookmark.clone()));
        let line = timeout(SECOND * 120, line()).await.unwrap();
        assert_eq!((line["type"].as_str(), version(&line["object"])), (Some("BOOKMARK"), first), "{line}");
    }
    assert_eq!(events.progress().await, None, "b is held");
    world.wire.remove(rule);
    assert_eq!(next(&mut events).await.unwrap().1, "b");
    assert_eq!(version(&line().await["object"]), second);
    let later = timeout(SECOND * 120, next(&mut events)).await.unwrap().unwrap();
    assert!(later.0 == "BOOKMARK" && later.1.parse::<i64>().unwrap() >= second, "{later:?}");
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_in_protobuf_overtakes_held_events_with_the_revision_of_the_last_delivered_one() {
    let world = World::new().await;
    let mut opens = request(Method::GET, &format!("{}&allowWatchBookmarks=true", world.watch), None);
    let in_protobuf = HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch");
    opens.headers_mut().insert(ACCEPT, in_protobuf);
    let mut body = world.reader.send(opens).await.unwrap().into_body();
    let mut event = async || -> (String, i64) {
        let frame = timeout(SECOND * 120, body.frame()).await.unwrap().unwrap().unwrap().into_data().unwrap();
        let event = WatchMessage::of(&frame).unwrap();
        let version = event.metadata().unwrap().resource_version().unwrap();
        (event.event_type().to_owned(), version.parse().unwrap())
    };
    let first = world.write("a").await;
    assert_eq!(event().await, ("ADDED".to_owned(), first));
    let rule = world.disturb(Effect::BookmarkOnly);
    let second = world.write("b").await;
    for _ in 0..3 {
        assert_eq!(event().await, ("BOOKMARK".to_owned(), first));
    }
    world.wire.remove(rule);
    assert_eq!(event().await, ("ADDED".to_owned(), second));
    let (kind, later) = event().await;
    assert!(kind == "BOOKMARK" && later >= second, "{kind} {later}");
}

#[tokio::test(start_paused = true)]
async fn no_bookmark_overtakes_the_objects_that_exist() {
    let world = World::new().await;
    world.write("a").await;
    let rule = world.disturb(Effect::BookmarkOnly);
    let query = "&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = world.events(&format!("{WATCH}{query}")).await;
    nothing(&mut events, SECOND * 300).await;
    world.wire.remove(rule);
    assert_eq!(next(&mut events).await.unwrap().1, "a");
    assert_eq!(next(&mut events).await.unwrap().0, "BOOKMARK");
}

#[tokio::test(start_paused = true)]
async fn another_writer_wins_against_each_write_with_a_resource_version() {
    let world = World::new().await;
    let created = world.write("a").await;
    world.disturb(Effect::Conflict);
    let at = format!("{MAPS}/a");
    let put = |version: &str| json!({"metadata": {"name": "a", "resourceVersion": version}, "data": {"value": "1"}});
    assert_eq!(ask(&world.reader, Method::PUT, &at, Some(put(&created.to_string()))).await.unwrap().0, 409);
    let (_, stored) = ask(&world.writer, Method::GET, &at, None).await.unwrap();
    assert!(version(&stored) > created && stored.get("data").is_none(), "{stored}");
    assert_eq!(stored["metadata"]["annotations"], json!({"coracle.dev/conflict": "conflict-1"}));
    let precondition = json!({"preconditions": {"resourceVersion": version(&stored).to_string()}});
    assert_eq!(ask(&world.reader, Method::DELETE, &at, Some(precondition)).await.unwrap().0, 409);
    let (code, stored) = ask(&world.reader, Method::PUT, &at, Some(put(""))).await.unwrap();
    assert_eq!((code, stored["data"]["value"].as_str()), (200, Some("1")));
}

#[tokio::test(start_paused = true)]
async fn another_writer_wins_against_an_apply_in_yaml_that_has_a_resource_version() {
    let world = World::new().await;
    let created = world.write("a").await;
    world.disturb(Effect::Conflict);
    let apply = async |version: &str| {
        let mut body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n".to_owned();
        if !version.is_empty() {
            body.push_str(&format!("  resourceVersion: \"{version}\"\n"));
        }
        body.push_str("data:\n  value: \"1\"\n");
        let apply = Request::patch(format!("{MAPS}/a?fieldManager=reader"))
            .header(CONTENT_TYPE, "application/apply-patch+yaml");
        world.reader.send(apply.body(boxed(body)).unwrap()).await.unwrap().status().as_u16()
    };
    assert_eq!(apply(&created.to_string()).await, 409);
    let (_, stored) = ask(&world.writer, Method::GET, &format!("{MAPS}/a"), None).await.unwrap();
    assert_eq!(stored["metadata"]["annotations"], json!({"coracle.dev/conflict": "conflict-1"}));
    assert_eq!(apply("").await, 200, "without a resource version it cannot conflict");
}

#[tokio::test(start_paused = true)]
async fn open_watches_end_and_later_ones_do_not() {
    for (effect, last) in [
        (Effect::Close as fn(Instant) -> Effect, None),
        (Effect::Gone, Some(("ERROR".to_owned(), "410".to_owned(), String::new()))),
    ] {
        let world = World::new().await;
        let mut events = world.events(&world.watch).await;
        let end = async {
            sleep(SECOND).await;
            world.disturb(effect(Instant::now()));
        };
        let ((), event) = futures_util::future::join(end, next(&mut events)).await;
        assert_eq!(event, last);
        assert_eq!(next(&mut events).await, None);
        let mut later = world.events(&world.watch).await;
        world.write("a").await;
        assert_eq!(next(&mut later).await.unwrap().1, "a");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_wire_are_a_status_for_clients_that_read_json() {
    let world = World::new().await;
    let watch = world.reader.send(request(Method::GET, &world.watch, None)).await.unwrap();
    let gone = world.disturb(Effect::Gone(Instant::now() + MILLISECOND));
    let line = watch.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
    world.wire.remove(gone);
    let event: Value = serde_json::from_slice(&line).unwrap();
    world.disturb(Effect::Refuse(503));
    let (_, refusal) = ask(&world.reader, Method::GET, MAPS, None).await.unwrap();
    for (status, code) in [(&event["object"], 410), (&refusal, 503)] {
        let kind = (&status["apiVersion"], &status["kind"], &status["status"], &status["code"]);
        assert_eq!(kind, (&json!("v1"), &json!("Status"), &json!("Failure"), &json!(code)), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_lands_although_its_sender_is_gone() {
    let world = World::new().await;
    world.disturb(Effect::Slow { there: SECOND, back: SECOND });
    let sent = world.reader.send(request(Method::POST, MAPS, Some(map("a"))));
    // The sender gives up after a tenth of the way.
    assert!(timeout(SECOND / 10, sent).await.is_err());
    assert!(!world.exists("a").await);
    sleep(SECOND - SECOND / 10 + MILLISECOND).await;
    assert!(world.exists("a").await);
    // One that was not sent does not land.
    drop(world.reader.send(request(Method::POST, MAPS, Some(map("b")))));
    sleep(SECOND * 10).await;
    assert!(!world.exists("b").await);
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_does_not_land_and_a_lost_answer_does() {
    for (leg, lands) in [(Leg::Request, false), (Leg::Answer, true)] {
        let world = World::new().await;
        let post =
            Selector { from: Senders::Named("reader".into()), verb: Some("create".into()), ..Selector::default() };
        world.wire.add(Rule { selector: post, effect: Effect::Lose(leg) });
        let error = ask(&world.reader, Method::POST, MAPS, Some(map("a"))).await.unwrap_err();
        assert!(error.contains("the connection was reset"), "{error}");
        assert_eq!(world.exists("a").await, lands);
        assert_eq!(ask(&world.reader, Method::GET, MAPS, None).await.unwrap().0, 200, "reads are not selected");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_requester_reaches_nothing_until_the_cut_heals() {
    let world = World::new().await;
    let rule = world.disturb(Effect::Cut);
    assert_eq!(ask(&world.reader, Method::GET, MAPS, None).await.unwrap_err(), "no route to host");
    assert_eq!(ask(&world.writer, Method::GET, MAPS, None).await.unwrap().0, 200);
    world.wire.remove(rule);
    assert_eq!(ask(&world.reader, Method::GET, MAPS, None).await.unwrap().0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_killed_instance_sends_and_receives_nothing_more() {
    let world = World::new().await;
    let instance = Instance::default();
    let requester = Requester::component("made-up", instance.clone());
    let admin = world.cluster.service();
    let killed = world.wire.over(&requester, admin);
    let mut events = events_of(&killed, &world.watch).await;
    world.write("a").await;
    assert_eq!(next(&mut events).await.unwrap().1, "a");
    world.wire.add(Rule::from(Senders::Named("made-up".into()), Effect::Slow { there: SECOND, back: SECOND }));
    let mut answer = pin!(killed.send(request(Method::POST, MAPS, Some(map("b")))));
    assert!(timeout(SECOND / 10, &mut answer).await.is_err());
    instance.end();
    assert!(timeout(SECOND * 60, answer).await.is_err(), "the answer is not received");
    assert!(world.exists("b").await, "it was sent before");
    nothing(&mut events, SECOND * 60).await;
    assert!(timeout(SECOND, events.progress()).await.is_err());
    assert!(timeout(SECOND * 60, killed.send(request(Method::POST, MAPS, Some(map("c"))))).await.is_err());
    assert!(!world.exists("c").await);
}

#[tokio::test(start_paused = true)]
async fn requests_of_other_processes_are_selected_by_user_and_by_program() {
    let wire = Wire::default();
    let options = ApiServerOptions { tokens: Some("1,ann,1\n2,bob,2\n".to_owned()), ..ApiServerOptions::default() };
    let cluster = Cluster::builder().api_server(options).api_server_only().transport_layer_for_all(wire.layer());
    let cluster = cluster.start().await.unwrap();
    let asked = async |token: &str, agent: &str| {
        let mut request = request(Method::GET, MAPS, None);
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request.headers_mut().insert("user-agent", agent.parse().unwrap());
        cluster.front_door().send(request).await.ok().map(|answer| answer.status().as_u16())
    };
    for (token, agent, code) in [("1", "a/1", 403), ("2", "a/1", 403), ("3", "a/1", 401)] {
        assert_eq!(asked(token, agent).await, Some(code), "{token}");
    }
    let of_ann = wire.add(Rule::from(Senders::Named("ann".into()), Effect::Cut));
    assert_eq!((asked("1", "a/1").await, asked("2", "a/1").await, asked("3", "ann").await), (None, Some(403), None));
    wire.remove(of_ann);
    wire.add(Rule::from(Senders::Named("operator".into()), Effect::Refuse(503)));
    for (agent, code) in [("operator/v0.1 (linux/amd64)", 503), ("operator", 503), ("operators/v0.1", 403)] {
        assert_eq!(asked("1", agent).await, Some(code), "{agent}");
    }
}

#[tokio::test(start_paused = true)]
async fn offers_pass_the_wire_with_and_without_a_latency() {
    let world = World::new().await;
    world.write("a").await;
    for rules in [0, 1] {
        if rules == 1 {
            let latency = Latency { request: SECOND, watch: SECOND };
            for rule in latency.rules(Senders::All) {
                world.wire.add(rule);
            }
        }
        let one = world.reader.send(request(Method::GET, &format!("{MAPS}/a"), None)).await.unwrap();
        assert!(matches!(one.into_body().take_offer(), Some(Offer::Object(_))));
        world.events(WATCH).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_reader_reads_the_past_and_the_watch_stays_there() {
    let world = World::new().await;
    world.write("old").await;
    let gone = world.write("gone").await;
    let stale = world.change("old", "before").await;
    let later = world.change("old", "after").await;
    world.write("new").await;
    let delete = request(Method::DELETE, &format!("{MAPS}/gone"), None);
    assert_eq!(world.writer.send(delete).await.unwrap().status(), 200);
    let rule = world.disturb(Effect::Stale(stale));
    let get = async |uri: &str| ask(&world.reader, Method::GET, uri, None).await.unwrap();
    let names = |list: &Value| -> Vec<String> {
        let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).filter(|name| !name.starts_with("kube-")).collect()
    };
    let began = Instant::now();
    for rv in [0, gone, stale] {
        let (_, old) = get(&format!("{MAPS}/old?resourceVersion={rv}")).await;
        assert_eq!(old["data"]["value"], "before");
        assert_eq!(get(&format!("{MAPS}/new?resourceVersion={rv}")).await.0, 404);
        let (_, list) = get(&format!("{MAPS}?resourceVersion={rv}")).await;
        assert_eq!((names(&list), version(&list)), (vec!["gone".to_owned(), "old".to_owned()], stale));
    }
    assert_eq!(Instant::now(), began);
    // A newer revision is not there, and the newest takes a while.
    for uri in [format!("{MAPS}/old?resourceVersion={later}"), format!("{MAPS}?resourceVersion={later}")] {
        let began = Instant::now();
        let (code, status) = get(&uri).await;
        assert_eq!((code, Instant::now() - began), (504, SECOND * 3), "{status}");
        assert!(status["message"].as_str().unwrap().contains("Too large resource version"), "{status}");
    }
    let began = Instant::now();
    let (_, list) = get(MAPS).await;
    assert_eq!((names(&list), Instant::now() - began), (vec!["new".to_owned(), "old".to_owned()], SECOND * 3));
    // A watch shows the past until the reader is fresh again.
    let mut events = world.events(&format!("{WATCH}&resourceVersion=0")).await;
    let mut initial = Vec::new();
    while let Ok(Some((kind, name, value))) = timeout(SECOND, next(&mut events)).await {
        initial.push(format!("{kind} {name} {value}"));
    }
    initial.retain(|event| !event.contains("kube-"));
    assert_eq!(initial, ["ADDED gone ", "ADDED old before"]);
    world.wire.remove(rule);
    let mut rest = Vec::new();
    while let Ok(Some((kind, name, value))) = timeout(SECOND, next(&mut events)).await {
        rest.push(format!("{kind} {name} {value}"));
    }
    assert_eq!(rest, ["MODIFIED old after", "ADDED new ", "DELETED gone "]);
    // Others were never stale, and a stale writer's writes are decided on the newest state.
    world.disturb(Effect::Stale(stale));
    assert_eq!(ask(&world.writer, Method::GET, &format!("{MAPS}/new?resourceVersion=0"), None).await.unwrap().0, 200);
    let (code, _) = ask(&world.reader, Method::POST, MAPS, Some(map("new"))).await.unwrap();
    assert_eq!(code, 409);
}

#[tokio::test(start_paused = true)]
async fn a_wire_carries_a_request_until_its_answer_arrives_and_one_without_a_sender_until_it_lands() {
    let world = World::new().await;
    world.disturb(Effect::Slow { there: SECOND * 2, back: SECOND * 2 });
    assert!(!world.wire.carries());
    let answer = tokio::spawn(world.reader.send(request(Method::POST, MAPS, Some(map("a")))));
    sleep(SECOND * 3).await;
    assert!(world.exists("a").await && world.wire.carries(), "the answer is on its way");
    assert!(answer.await.unwrap().is_ok());
    assert!(!world.wire.carries());
    let gone = world.reader.send(request(Method::POST, MAPS, Some(map("b"))));
    assert!(timeout(SECOND, gone).await.is_err());
    assert!(world.wire.carries(), "its sender has given up");
    sleep(SECOND * 2).await;
    assert!(world.exists("b").await && !world.wire.carries());
}

#[tokio::test(start_paused = true)]
async fn the_write_of_a_killed_component_lands() {
    // Every request of the controllers is a second on its way.
    let slow = Rule::from(Senders::Named("controller-manager".into()), Effect::Slow { there: SECOND, back: SECOND });
    let wire = Wire::with([slow]);
    let cluster = Cluster::builder().seed(1).nodes(1).transport_layer_for_all(wire.layer()).start().await.unwrap();
    sleep(SECOND * 60).await;
    let admin = cluster.service();
    let replica_set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}},
    });
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    assert_eq!(ask(&admin, Method::POST, sets, Some(replica_set)).await.unwrap().0, 201);
    // The create of the pod is sent at once, and lands after a second.
    sleep(SECOND / 2).await;
    let pods = async || {
        let (_, list) = ask(&admin, Method::GET, "/api/v1/namespaces/default/pods", None).await.unwrap();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!(pods().await, 0);
    assert!(cluster.kill_component(Component::ControllerManager));
    sleep(SECOND).await;
    assert_eq!(pods().await, 1);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_wire_knows_what_each_requester_was_last_sent_of_an_object() {
    let wire = Wire::keeping_sent();
    let cluster =
        Cluster::builder().seed(1).api_server_only().transport_layer_for_all(wire.layer()).start().await.unwrap();
    let of = |name: &str| cluster.service_as(User::new(name, ["system:masters"]));
    let (lister, writer, watcher, other) = (of("lister"), of("writer"), of("watcher"), of("other"));
    let maps = GroupResource::new("", "configmaps");
    let known = |name: &str| wire.last_sent(name, 0, &maps, &ObjectKey::new("default", "a"));
    let (_, list) = ask(&of("other"), Method::GET, MAPS, None).await.unwrap();
    let watch = format!("{WATCH}&resourceVersion={}", version(&list));
    let mut events = events_of(&watcher, &watch).await;
    let (_, created) = ask(&writer, Method::POST, MAPS, Some(map("a"))).await.unwrap();
    let uid = created["metadata"]["uid"].as_str().unwrap().to_owned();
    let first = LastSent { uid, revision: version(&created), is_deleted: false };
    assert_eq!(known("writer").as_ref(), Some(&first), "the answer to its own write");
    assert_eq!([known("watcher"), known("lister"), known("other")], [None, None, None]);
    next(&mut events).await.unwrap();
    assert_eq!(known("watcher").as_ref(), Some(&first));
    ask(&lister, Method::GET, MAPS, None).await.unwrap();
    assert_eq!(known("lister").as_ref(), Some(&first));
    let lines = other.send(request(Method::GET, &watch, None)).await.unwrap();
    let mut lines = lines.into_body();
    lines.frame().await.unwrap().unwrap();
    assert_eq!(known("other").as_ref(), Some(&first), "a line of a watch");
    ask(&writer, Method::DELETE, &format!("{MAPS}/a"), None).await.unwrap();
    assert_eq!(known("watcher").as_ref(), Some(&first), "it was not sent yet");
    assert!(known("writer").unwrap().is_deleted);
    next(&mut events).await.unwrap();
    let gone = known("watcher").unwrap();
    assert!(gone.is_deleted && gone.revision > first.revision && gone.uid == first.uid);
    assert_eq!(known("lister").as_ref(), Some(&first), "a lister is sent no deletions");
    ask(&writer, Method::POST, MAPS, Some(map("b"))).await.unwrap();
    let unread = lister.send(request(Method::GET, &format!("{MAPS}/b"), None)).await.unwrap();
    let b = || wire.last_sent("lister", 0, &maps, &ObjectKey::new("default", "b"));
    assert_eq!(b(), None, "it has read nothing");
    unread.into_body().collect().await.unwrap();
    assert!(b().is_some_and(|b| !b.is_deleted && b.revision > gone.revision));
}
