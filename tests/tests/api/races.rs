//! Any interleaving of writes, lists, watches, broken connections and compaction: whoever follows the API as informers
//! do, has what the server has, and was told each change once and in order.

use std::collections::BTreeMap;
use std::time::Duration;

use coracle::{Cluster, Transport};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::front::{api_server, call, get};

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
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let follower = || 0..FOLLOWERS.len();
    let step = prop_oneof![
        6 => (0..5_u8, 0..3_u8).prop_map(|(name, color)| Step::Put(name, color)),
        3 => (0..5_u8).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        1 => (1..120_u64).prop_map(Step::Wait),
        4 => (follower(), 0..4_u8).prop_map(|(who, most)| Step::Take(who, most)),
        2 => follower().prop_map(Step::Break),
        1 => follower().prop_map(Step::Restart),
    ];
    prop::collection::vec(step, 0..60)
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
    /// Whether what comes belongs to the list, in which versions stand in no order.
    is_listing: bool,
    connection: Option<Connection>,
    rest: Vec<u8>,
}

/// A connection that takes what comes in, whether anybody looks or not; it ends when it is dropped.
struct Connection {
    frames: UnboundedReceiver<bytes::Bytes>,
    task: JoinHandle<()>,
}

impl Connection {
    fn carrying(
        mut body: impl http_body::Body<Data = bytes::Bytes, Error: std::fmt::Debug> + Send + Unpin + 'static,
    ) -> Self {
        let (send, frames) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(frame) = body.frame().await {
                if send.send(frame.unwrap().into_data().unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { frames, task }
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
    async fn begin(cluster: &Cluster, habit: Habit) -> Self {
        let mut follower = Self {
            service: cluster.service(),
            habit,
            objects: BTreeMap::new(),
            seen: 0,
            is_listing: false,
            connection: None,
            rest: Vec::new(),
        };
        follower.restart().await;
        follower
    }

    async fn open(&mut self, query: &str) {
        let uri = format!("{MAPS}?watch=1&allowWatchBookmarks=true&{query}&{}", self.habit.selector);
        let request = Request::get(uri).body(Full::<bytes::Bytes>::default()).unwrap();
        let answer = self.service.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        self.connection = Some(Connection::carrying(answer.into_body()));
        self.rest.clear();
    }

    /// With a list and a watch, or with a streaming list.
    async fn restart(&mut self) {
        self.objects.clear();
        self.is_listing = self.habit.streams_its_list;
        if self.is_listing {
            return self.open("sendInitialEvents=true&resourceVersionMatch=NotOlderThan").await;
        }
        let request = Request::get(format!("{MAPS}?{}", self.habit.selector)).body(Full::<bytes::Bytes>::default());
        let answer = self.service.clone().oneshot(request.unwrap()).await.unwrap();
        let list: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        let entry = |object: &Value| (object["metadata"]["name"].as_str().unwrap().to_owned(), version_of(object));
        self.objects = list["items"].as_array().unwrap().iter().map(entry).collect();
        assert!(version_of(&list) >= self.seen, "a list went back");
        self.seen = version_of(&list);
        self.resume().await;
    }

    /// Goes on where it was; within its list there is no such place.
    async fn resume(&mut self) {
        if self.is_listing {
            return Box::pin(self.restart()).await;
        }
        self.open(&format!("resourceVersion={}", self.seen)).await;
    }

    /// Takes frames for as long as there are some at once; at most so many.
    async fn take(&mut self, most: usize) {
        for _ in 0..most {
            let frames = &mut self.connection.as_mut().expect("a connection").frames;
            let Ok(frame) = tokio::time::timeout(Duration::from_millis(20), frames.recv()).await else { return };
            let Some(frame) = frame else { return self.resume().await };
            self.rest.extend_from_slice(&frame);
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                if event["type"] == "ERROR" {
                    assert_eq!(event["object"]["code"], 410, "{event}");
                    return self.restart().await;
                }
                self.apply(&event);
            }
        }
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

async fn perform(cluster: &Cluster, followers: &mut [Follower], step: &Step) {
    match step {
        Step::Put(name, color) => {
            let object = json!({
                "metadata": {"name": format!("m{name}"), "labels": {"color": format!("c{color}")}},
            });
            if call(cluster, Method::POST, MAPS, &object).await.code == 409 {
                let random = cluster.ambient().random.bits();
                let mut object = object;
                object["data"] = json!({"value": random.to_string()});
                call(cluster, Method::PUT, &format!("{MAPS}/m{name}"), &object).await;
            }
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
        Step::Take(who, most) => followers[*who].take(usize::from(*most)).await,
        Step::Break(who) => followers[*who].resume().await,
        Step::Restart(who) => followers[*who].restart().await,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_watcher_ends_with_the_servers_state(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let cluster = api_server().await;
            let mut followers = Vec::new();
            for habit in FOLLOWERS {
                followers.push(Follower::begin(&cluster, habit).await);
            }
            for step in &steps {
                perform(&cluster, &mut followers, step).await;
            }
            for follower in &mut followers {
                follower.take(usize::MAX).await;
                let list = get(&cluster, &format!("{MAPS}?{}", follower.habit.selector)).await;
                let entry = |object: &Value| (object["metadata"]["name"].as_str().unwrap().to_owned(), version_of(object));
                let there: BTreeMap<_, _> = list["items"].as_array().unwrap().iter().map(entry).collect();
                assert_eq!(follower.objects, there, "{:?}", follower.habit);
            }
        });
    }
}
