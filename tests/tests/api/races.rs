//! Any interleaving of writes, lists, watches, broken connections and compaction: whoever follows the API as informers
//! do, has what the server has, and has received each change once and in order. The same behind each fault of watches.

use std::collections::BTreeMap;
use std::time::Duration;

use coracle::simulation::{Effect, Rule, RuleId, Senders, Wire};
use coracle::{Cluster, Transport, User};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::front::{call, get};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Compact,
    /// Time passes: bookmarks are due, histories grow old.
    Wait(u64),
    /// A follower takes at most so many frames.
    Take(usize, u8),
    /// Its connection breaks, and it goes on where it was.
    Break(usize),
    /// It begins anew.
    Restart(usize),
    /// A fault of its requests and watches begins, in place of the one before.
    Fault(usize, Fault),
    /// Its fault ends.
    Heal(usize),
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// So many milliseconds.
    Lag(u64),
    Hang,
    BookmarkOnly,
    Cut,
    Stale,
    Close,
    Gone,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..60)
}

fn steps_with_faults() -> impl Strategy<Value = Vec<Step>> {
    let follower = || 0..FOLLOWERS.len();
    let fault = prop_oneof![
        3 => (1..5_000_u64).prop_map(Fault::Lag),
        1 => Just(Fault::Hang),
        2 => Just(Fault::BookmarkOnly),
        1 => Just(Fault::Cut),
        2 => Just(Fault::Stale),
        1 => Just(Fault::Close),
        2 => Just(Fault::Gone),
    ];
    let step = prop_oneof![
        6 => step(),
        2 => (follower(), fault).prop_map(|(who, fault)| Step::Fault(who, fault)),
        1 => follower().prop_map(Step::Heal),
    ];
    prop::collection::vec(step, 0..80)
}

fn step() -> impl Strategy<Value = Step> {
    let follower = || 0..FOLLOWERS.len();
    prop_oneof![
        6 => (0..5_u8, 0..3_u8).prop_map(|(name, color)| Step::Put(name, color)),
        3 => (0..5_u8).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        1 => (1..120_u64).prop_map(Step::Wait),
        4 => (follower(), 0..4_u8).prop_map(|(who, most)| Step::Take(who, most)),
        2 => follower().prop_map(Step::Break),
        1 => follower().prop_map(Step::Restart),
    ]
}

/// How a follower begins, and what it selects.
#[derive(Clone, Copy, Debug)]
struct Habit {
    streams_its_list: bool,
    selector: &'static str,
}

const FOLLOWERS: [Habit; 4] = [
    Habit { streams_its_list: false, selector: "" },
    Habit { streams_its_list: true, selector: "" },
    Habit { streams_its_list: false, selector: "labelSelector=color%3Dc1" },
    Habit { streams_its_list: true, selector: "labelSelector=color%3Dc1" },
];

/// A client's copy of a selection.
struct Follower {
    service: Transport,
    habit: Habit,
    objects: BTreeMap<String, u64>,
    seen: u64,
    /// Whether it has no list, because the request failed.
    must_list: bool,
    /// Whether what comes belongs to the list, in which versions stand in no order.
    is_listing: bool,
    /// None after a request that failed, which only a fault explains.
    connection: Option<Connection>,
    rest: Vec<u8>,
    /// What disturbs it.
    disturbed: Disturbed,
}

/// What disturbs a follower, and what it may expect because of that.
#[derive(Default)]
struct Disturbed {
    rule: Option<RuleId>,
    /// How late each event of a watch is that is newer than this revision.
    lag: Option<(Duration, u64)>,
    /// Whether its watch has to end with 410.
    expects_gone: bool,
    /// Whether requests may fail.
    may_fail: bool,
}

/// A connection that takes what comes in, whether anybody looks or not; it ends when it is dropped.
struct Connection {
    frames: UnboundedReceiver<(Instant, bytes::Bytes)>,
    task: JoinHandle<()>,
    opened: Instant,
}

impl Connection {
    fn carrying(
        mut body: impl http_body::Body<Data = bytes::Bytes, Error: std::fmt::Debug> + Send + Unpin + 'static,
    ) -> Self {
        let (send, frames) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(frame) = body.frame().await {
                if send.send((Instant::now(), frame.unwrap().into_data().unwrap())).is_err() {
                    return;
                }
            }
        });
        Self { frames, task, opened: Instant::now() }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).expect("a version")
}

impl Follower {
    async fn begin(service: Transport, habit: Habit) -> Self {
        let mut follower = Self {
            service,
            habit,
            objects: BTreeMap::new(),
            seen: 0,
            must_list: false,
            is_listing: false,
            connection: None,
            rest: Vec::new(),
            disturbed: Disturbed::default(),
        };
        follower.restart().await;
        follower
    }

    async fn open(&mut self, query: &str) {
        let uri = format!("{MAPS}?watch=1&allowWatchBookmarks=true&{query}&{}", self.habit.selector);
        let request = Request::get(uri).body(Full::<bytes::Bytes>::default()).unwrap();
        (self.connection, self.disturbed.expects_gone) = (None, false);
        self.rest.clear();
        let answer = match self.service.clone().oneshot(request).await {
            Ok(answer) if answer.status() == 200 => answer,
            failed => return assert!(self.disturbed.may_fail, "{:?}", failed.map(|answer| answer.status())),
        };
        self.connection = Some(Connection::carrying(answer.into_body()));
    }

    /// With a list and a watch, or with a streaming list.
    async fn restart(&mut self) {
        self.objects.clear();
        self.is_listing = self.habit.streams_its_list;
        if self.is_listing {
            return self.open("sendInitialEvents=true&resourceVersionMatch=NotOlderThan").await;
        }
        let request = Request::get(format!("{MAPS}?{}", self.habit.selector)).body(Full::<bytes::Bytes>::default());
        (self.connection, self.disturbed.expects_gone) = (None, false);
        let answer = match self.service.clone().oneshot(request.unwrap()).await {
            Ok(answer) => answer,
            Err(error) => {
                assert!(self.disturbed.may_fail, "{error}");
                self.must_list = true;
                return;
            }
        };
        self.must_list = false;
        let list: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        let entry = |object: &Value| (object["metadata"]["name"].as_str().unwrap().to_owned(), version_of(object));
        self.objects = list["items"].as_array().unwrap().iter().map(entry).collect();
        assert!(version_of(&list) >= self.seen, "a list went back");
        self.seen = version_of(&list);
        self.resume().await;
    }

    /// Goes on where it was; within its list there is no such place.
    async fn resume(&mut self) {
        if self.is_listing || self.must_list {
            return Box::pin(self.restart()).await;
        }
        self.open(&format!("resourceVersion={}", self.seen)).await;
    }

    /// Takes frames for as long as there are some at once; at most so many.
    async fn take(&mut self, most: usize, committed: &Committed) {
        for _ in 0..most {
            let Some(connection) = &mut self.connection else { return self.resume().await };
            let (opened, frames) = (connection.opened, &mut connection.frames);
            let Ok(frame) = tokio::time::timeout(Duration::from_millis(20), frames.recv()).await else { return };
            let Some((arrived, frame)) = frame else {
                assert!(!self.disturbed.expects_gone, "the watch ended without 410");
                return self.resume().await;
            };
            self.rest.extend_from_slice(&frame);
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                if event["type"] == "ERROR" {
                    assert_eq!(event["object"]["code"], 410, "{event}");
                    return self.restart().await;
                }
                self.judge_lag(&event, opened, arrived, committed);
                self.apply(&event);
            }
        }
    }

    /// An event that was committed while the watch was open and late is as late as the fault says. Time stands while
    /// requests are answered, so only the revision shows what came before the fault.
    fn judge_lag(&self, event: &Value, opened: Instant, arrived: Instant, committed: &Committed) {
        let (Some((lag, since)), false) = (self.disturbed.lag, self.is_listing) else { return };
        // A bookmark says when it is sent, and not when its revision was committed.
        if event["type"] == "BOOKMARK" {
            return;
        }
        let version = version_of(&event["object"]);
        let Some(at) = committed.get(&version).filter(|at| version > since && **at >= opened) else { return };
        let late = arrived - *at;
        assert!(late >= lag && late <= lag + Duration::from_millis(1), "{event} came {late:?} late instead of {lag:?}");
    }

    /// A fault begins in place of the one before.
    async fn disturb(&mut self, wire: &Wire, name: &str, fault: Option<Fault>, newest: u64) {
        if let Some(rule) = self.disturbed.rule.take() {
            wire.remove(rule);
        }
        (self.disturbed.lag, self.disturbed.may_fail) = (None, matches!(fault, Some(Fault::Cut | Fault::Stale)));
        let Some(fault) = fault else { return };
        let now = Instant::now();
        let effect = match fault {
            Fault::Lag(milliseconds) => {
                let lag = Duration::from_millis(milliseconds);
                self.disturbed.lag = Some((lag, newest));
                Effect::Lag(lag)
            }
            Fault::Hang => Effect::Hang,
            Fault::BookmarkOnly => Effect::BookmarkOnly,
            Fault::Cut => Effect::Cut,
            Fault::Stale => Effect::Stale(i64::try_from(newest).unwrap()),
            Fault::Close => Effect::Close(now),
            Fault::Gone => Effect::Gone(now),
        };
        let is_open = self
            .connection
            .as_ref()
            .is_some_and(|connection| connection.opened < now && !connection.task.is_finished());
        self.disturbed.expects_gone |= is_open && matches!(fault, Fault::Gone);
        self.disturbed.rule = Some(wire.add(Rule::from(Senders::Named(name.to_owned()), effect)));
        // The watch ends before the next step.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    fn apply(&mut self, event: &Value) {
        let object = &event["object"];
        let (name, version) = (object["metadata"]["name"].as_str().unwrap_or_default().to_owned(), version_of(object));
        if event["type"] == "BOOKMARK" {
            assert!(version >= self.seen, "a bookmark went back");
            self.seen = version;
            if object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true" {
                self.is_listing = false;
            }
            return;
        }
        if self.is_listing {
            assert_eq!(event["type"], "ADDED", "before the end of the list");
        } else {
            // A bookmark that ran ahead would show here, too.
            assert!(version > self.seen, "{event} came twice, or after what follows it");
            self.seen = version;
        }
        let before = self.objects.get(&name).copied();
        match event["type"].as_str().unwrap() {
            "ADDED" => assert_eq!(before, None, "{name} was added twice"),
            _ => assert!(before.is_some(), "{event} is about what was never added"),
        }
        if event["type"] == "DELETED" {
            self.objects.remove(&name)
        } else {
            self.objects.insert(name, version)
        };
    }
}

/// When each version was committed that a request has made.
type Committed = BTreeMap<u64, Instant>;

/// A cluster whose followers are behind a wire.
struct Race {
    cluster: Cluster,
    wire: Wire,
    followers: Vec<Follower>,
    committed: Committed,
}

impl Race {
    async fn begin() -> Self {
        let wire = Wire::default();
        let builder = Cluster::builder().api_server_only().transport_layer_for_all(wire.layer());
        let cluster = builder.start().await.unwrap();
        let mut followers = Vec::new();
        for (place, habit) in FOLLOWERS.into_iter().enumerate() {
            let user = User::new(name_of(place), ["system:masters"]);
            followers.push(Follower::begin(cluster.service_as(user), habit).await);
        }
        Self { cluster, wire, followers, committed: Committed::new() }
    }

    async fn run(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Fault(who, fault) => self.disturb(*who, Some(*fault)).await,
                Step::Heal(who) => self.disturb(*who, None).await,
                other => perform(&self.cluster, &mut self.followers, other, &mut self.committed).await,
            }
        }
        for who in 0..FOLLOWERS.len() {
            self.disturb(who, None).await;
        }
    }

    async fn disturb(&mut self, who: usize, fault: Option<Fault>) {
        let newest = version_of(&get(&self.cluster, MAPS).await);
        self.followers[who].disturb(&self.wire, &name_of(who), fault, newest).await;
    }

    /// Each follower has what the server has.
    async fn judge(&mut self) {
        for follower in &mut self.followers {
            // A watch that has ended is opened again.
            for _ in 0..4 {
                follower.take(usize::MAX, &self.committed).await;
            }
            let list = get(&self.cluster, &format!("{MAPS}?{}", follower.habit.selector)).await;
            let entry = |object: &Value| (object["metadata"]["name"].as_str().unwrap().to_owned(), version_of(object));
            let there: BTreeMap<_, _> = list["items"].as_array().unwrap().iter().map(entry).collect();
            assert_eq!(follower.objects, there, "{:?}", follower.habit);
        }
    }
}

/// The user of a follower.
fn name_of(place: usize) -> String {
    format!("follower-{place}")
}

async fn perform(cluster: &Cluster, followers: &mut [Follower], step: &Step, committed: &mut Committed) {
    match step {
        Step::Put(name, color) => {
            let object = json!({
                "metadata": {"name": format!("m{name}"), "labels": {"color": format!("c{color}")}},
            });
            let mut answer = call(cluster, Method::POST, MAPS, &object).await;
            if answer.code == 409 {
                let random = cluster.ambient().random.bits();
                let mut object = object;
                object["data"] = json!({"value": random.to_string()});
                answer = call(cluster, Method::PUT, &format!("{MAPS}/m{name}"), &object).await;
            }
            committed.insert(version_of(&answer.json()), Instant::now());
        }
        Step::Delete(name) => {
            call(cluster, Method::DELETE, &format!("{MAPS}/m{name}"), &json!({})).await;
        }
        Step::Compact => {
            let newest = version_of(&get(cluster, MAPS).await);
            // That it is compacted already is as well.
            let _ = cluster.store().compact(i64::try_from(newest).unwrap()).await;
        }
        Step::Wait(seconds) => tokio::time::sleep(Duration::from_secs(*seconds)).await,
        Step::Take(who, most) => followers[*who].take(usize::from(*most), committed).await,
        Step::Break(who) => followers[*who].resume().await,
        Step::Restart(who) => followers[*who].restart().await,
        Step::Fault(..) | Step::Heal(_) => unreachable!("the race disturbs its followers"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_watcher_ends_with_the_servers_state(steps in steps()) {
        race(&steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases_with_faults(), ..ProptestConfig::default() })]

    #[test]
    fn every_watcher_behind_faults_ends_with_the_servers_state(steps in steps_with_faults()) {
        race(&steps);
    }
}

/// `CORACLE_RACES`; fewer in `cargo test`.
fn cases_with_faults() -> u32 {
    std::env::var("CORACLE_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn race(steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut race = Race::begin().await;
        race.run(steps).await;
        race.judge().await;
    });
}
