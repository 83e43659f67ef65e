//! Components by name: those of the cluster, and those that a caller adds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coracle_api::core_v1::ConfigMap;
use coracle_client::{Api, Client, ListParams};
use coracle_cluster::{Body, Cluster, NodeSwitch, Transport, User};
use coracle_handover::Offer;
use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_meta::{ObjectKey, ObjectType, WatchEvent};
use http::Request;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn admin(name: &str) -> User {
    User::new(name, ["system:masters"])
}

async fn cluster() -> Cluster {
    Cluster::builder().seed(1).api_server_only().recorder(Recorder::ring(100_000)).start().await.unwrap()
}

fn client(cluster: &Cluster, service: Transport) -> Client {
    Client::new(service, cluster.ambient())
}

/// When and how a component stopped and started, in seconds since the log began.
fn life(cluster: &Cluster, name: &str) -> Vec<(u64, String)> {
    let word = |entry: &Entry| match entry.stage {
        Stage::ComponentStart => Some("start".to_owned()),
        Stage::ComponentStop => Some(entry.data["why"].as_str().unwrap_or_default().to_owned()),
        _ => None,
    };
    let entries = cluster.recorder().entries(EntryId(0));
    let of_it = entries.iter().filter(|entry| entry.actor == name);
    of_it.filter_map(|entry| Some((entry.at.as_secs(), word(entry)?))).collect()
}

fn said(life: &[(u64, &str)]) -> Vec<(u64, String)> {
    life.iter().map(|(at, word)| (*at, (*word).to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_component_that_panics_is_recorded_and_started_again_and_the_cluster_continues() {
    let cluster = cluster().await;
    let starts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&starts);
    let run = move |_| {
        let start = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(SECOND * 10).await;
            match start {
                0 => panic!("no {}", "boat"),
                1 => {}
                _ => std::future::pending().await,
            }
        }
    };
    cluster.add_component("my-operator", admin("me"), run).unwrap();
    sleep(SECOND * 60).await;
    assert_eq!(starts.load(Ordering::Relaxed), 3);
    let expected = [(0, "start"), (10, "panicked: no boat"), (11, "start"), (21, "exited"), (23, "start")];
    assert_eq!(life(&cluster, "my-operator"), said(&expected));
    let maps = Api::<ConfigMap>::of(&client(&cluster, cluster.service())).within("default");
    maps.list(&ListParams::default()).await.unwrap();
    let panics: Vec<String> = cluster.take_component_panics().iter().map(ToString::to_string).collect();
    assert_eq!(panics, ["the component my-operator panicked: no boat"]);
    assert_eq!(cluster.take_component_panics(), []);
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "the component my-operator panicked: no boat")]
async fn a_panic_of_a_component_that_no_caller_takes_fails_a_test() {
    let cluster = cluster().await;
    cluster.add_component("my-operator", admin("me"), async |_| panic!("no boat")).unwrap();
    sleep(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn a_component_of_the_caller_is_killed_started_and_doubled_by_its_name() {
    let cluster = cluster().await;
    let numbers = Arc::new(AtomicUsize::new(0));
    let ambient = cluster.ambient().clone();
    // Each instance writes a ConfigMap with its number every ten seconds.
    let run = move |service: Transport| {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let maps = Api::<ConfigMap>::of(&Client::new(service, &ambient.split(&number.to_string()))).within("default");
        async move {
            for write in 0.. {
                let map = json!({"metadata": {"name": format!("instance-{number}-{write}")}});
                maps.create(&serde_json::from_value(map).unwrap()).await.unwrap();
                sleep(SECOND * 10).await;
            }
        }
    };
    cluster.add_component("my-operator", admin("me"), run).unwrap();
    let handle = cluster.handle();
    sleep(SECOND * 5).await;
    assert!(handle.kill_component("my-operator", None) && !handle.kill_component("my-operator", None));
    sleep(SECOND * 20).await;
    assert!(handle.start_component("my-operator", None) && !handle.start_component("my-operator", None));
    assert!(handle.double_component("my-operator", None) && !handle.double_component("my-operator", None));
    sleep(SECOND * 5).await;
    assert!(handle.kill_double("my-operator", None) && !handle.kill_double("my-operator", None));
    sleep(SECOND * 10).await;
    let maps = Api::<ConfigMap>::of(&client(&cluster, cluster.service())).within("default");
    let names: Vec<String> = maps.list(&ListParams::default()).await.unwrap().items.into_iter().map(name).collect();
    let own: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with("instance-")).collect();
    assert_eq!(own, ["instance-0-0", "instance-1-0", "instance-1-1", "instance-2-0"]);
    let expected = [(0, "start"), (5, "killed"), (25, "start"), (25, "start"), (30, "killed")];
    assert_eq!(life(&cluster, "my-operator"), said(&expected));
    cluster.shutdown().await;
    assert!(!handle.start_component("my-operator", None), "the cluster has ended");
}

fn name(map: ConfigMap) -> String {
    map.metadata.name.unwrap_or_default()
}

/// What a task of a component has received of a watch, and when.
type Received = Arc<Mutex<Vec<(String, Duration)>>>;

/// Reads a watch in a task that the component has spawned itself: its bytes, or the events that are offered.
fn read_apart(service: Transport, takes_events: bool, received: Received) {
    let began = Instant::now();
    let receive = move |name: &str| received.lock().push((name.to_owned(), began.elapsed()));
    tokio::spawn(async move {
        let opens = Request::get("/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0");
        let mut body = service.send(opens.body(Body::default()).unwrap()).await.unwrap().into_body();
        if let Some(Offer::Events(mut events)) = body.take_offer().filter(|_| takes_events) {
            while let Some(event) = events.next().await {
                if let WatchEvent::Added(object) = event {
                    receive(object.decode(ObjectType::of::<ConfigMap>()).unwrap().object_meta().name.as_ref().unwrap());
                }
            }
        }
        while let Some(frame) = body.frame().await {
            let event: Value = serde_json::from_slice(&frame.unwrap().into_data().unwrap()).unwrap();
            receive(event["object"]["metadata"]["name"].as_str().unwrap());
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_paused_component_receives_nothing_of_its_open_watches_also_in_tasks_of_its_own() {
    for takes_events in [false, true] {
        let cluster = cluster().await;
        let received = Received::default();
        let run = {
            let received = Arc::clone(&received);
            move |service: Transport| {
                read_apart(service, takes_events, Arc::clone(&received));
                std::future::pending()
            }
        };
        cluster.add_component("my-operator", admin("me"), run).unwrap();
        let maps = Api::<ConfigMap>::of(&client(&cluster, cluster.service())).within("default");
        let create = async |name: &str| {
            maps.create(&serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()).await.unwrap();
            sleep(SECOND).await;
        };
        let seen = || {
            let received = received.lock();
            received.iter().map(|(name, at)| (name.clone(), at.as_secs())).collect::<Vec<_>>()
        };
        let expected = |all: &[(&str, u64)]| all.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>();
        create("a").await;
        assert!(cluster.pause_component("my-operator"));
        create("b").await;
        create("c").await;
        assert_eq!(seen(), expected(&[("a", 0)]), "{takes_events}");
        assert!(cluster.resume_component("my-operator"));
        create("d").await;
        assert_eq!(seen(), expected(&[("a", 0), ("b", 3), ("c", 3), ("d", 3)]), "{takes_events}");
        cluster.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_belongs_to_one_component() {
    let cluster = cluster().await;
    let add = |name: &str| cluster.add_component(name, admin("me"), |_| std::future::pending());
    add("my-operator").unwrap();
    for name in ["my-operator", "scheduler"] {
        assert!(add(name).unwrap_err().to_string().contains(name));
    }
    let handle = cluster.handle();
    assert!(!handle.start_component("other", None) && !handle.double_component("other", None));
    assert!(
        !handle.double_component("kubelet", None) && !handle.switch_node("node-1", NodeSwitch::Kubelet, false, None)
    );
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_needs_compacted_history_gets_410() {
    let cluster = cluster().await;
    let maps = Api::<ConfigMap>::of(&client(&cluster, cluster.service())).within("default");
    let create = async |name: &str| {
        let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        maps.create(&map).await.unwrap().metadata.resource_version.unwrap()
    };
    let first = create("a").await;
    let newest = create("b").await;
    let from = |version: &str| coracle_client::WatchParams {
        resource_version: Some(version.to_owned()),
        ..coracle_client::WatchParams::default()
    };
    let mut open = maps.watch(&from(&first)).await.unwrap();
    assert!(open.next().await.unwrap().is_some());
    assert!(cluster.handle().compact_store(newest.parse().unwrap()));
    sleep(SECOND).await;
    assert!(open.next().await.unwrap().is_none(), "the watch has ended");
    let expired = match maps.watch(&from(&first)).await {
        Ok(mut watch) => match watch.next().await.unwrap() {
            Some(WatchEvent::Error(status)) => status.code,
            other => panic!("{other:?}"),
        },
        Err(error) => error.status().map_or(0, |status| status.code),
    };
    assert_eq!(expired, 410);
    assert!(maps.get(&ObjectKey::new("default", "a")).await.is_ok());
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_component_does_nothing_and_its_timers_fire_when_it_continues() {
    let cluster = cluster().await;
    let ambient = cluster.ambient().clone();
    let run = move |service: Transport| {
        let maps = Api::<ConfigMap>::of(&Client::new(service, &ambient)).within("default");
        async move {
            for write in 0.. {
                sleep(SECOND * 10).await;
                let map = json!({"metadata": {"name": format!("write-{write}")}});
                maps.create(&serde_json::from_value(map).unwrap()).await.unwrap();
            }
        }
    };
    cluster.add_component("my-operator", admin("me"), run).unwrap();
    let maps = Api::<ConfigMap>::of(&client(&cluster, cluster.service())).within("default");
    let written = async || {
        let list = maps.list(&ListParams::default()).await.unwrap().items;
        list.into_iter().map(name).filter(|name| name.starts_with("write-")).count()
    };
    sleep(SECOND * 15).await;
    assert_eq!(written().await, 1);
    assert!(cluster.pause_component("my-operator") && !cluster.pause_component("my-operator"));
    sleep(SECOND * 100).await;
    assert_eq!(written().await, 1);
    assert!(cluster.resume_component("my-operator") && !cluster.resume_component("my-operator"));
    sleep(SECOND * 5).await;
    assert_eq!(written().await, 2, "one timer was due, and the next has not fired");
    assert!(cluster.pause_component("my-operator"));
    assert!(cluster.kill_component("my-operator"), "a paused component is killed");
    cluster.start_component("my-operator");
    sleep(SECOND * 15).await;
    assert!(!cluster.resume_component("my-operator"), "a new process is not paused");
    cluster.take_component_panics();
    cluster.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_a_paused_component_has_sent_is_carried_out_and_it_reads_the_answer_when_it_continues() {
    let slow: coracle_cluster::TransportLayer = Arc::new(|_, transport| {
        Transport::to(tower::service_fn(move |request| {
            let transport = transport.clone();
            async move {
                sleep(SECOND * 10).await;
                transport.send(request).await
            }
        }))
    });
    let builder = Cluster::builder().seed(1).api_server_only().transport_layer(slow);
    let cluster = builder.start().await.unwrap();
    let answered = Arc::new(AtomicUsize::new(0));
    let (ambient, counted) = (cluster.ambient().clone(), Arc::clone(&answered));
    let run = move |service: Transport| {
        let maps = Api::<ConfigMap>::of(&Client::new(service, &ambient)).within("default");
        let counted = Arc::clone(&counted);
        async move {
            let map = json!({"metadata": {"name": "sent"}});
            maps.create(&serde_json::from_value(map).unwrap()).await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }
    };
    cluster.add_component("my-operator", admin("me"), run).unwrap();
    sleep(SECOND).await;
    assert!(cluster.pause_component("my-operator"));
    let maps = Api::<ConfigMap>::of(&client(&cluster, cluster.service())).within("default");
    let key = ObjectKey::new("default", "sent");
    sleep(SECOND * 8).await;
    assert!(maps.find(&key).await.unwrap().is_none());
    sleep(SECOND * 2).await;
    assert!(maps.find(&key).await.unwrap().is_some());
    assert_eq!(answered.load(Ordering::Relaxed), 0);
    cluster.resume_component("my-operator");
    sleep(SECOND).await;
    assert_eq!(answered.load(Ordering::Relaxed), 1);
    cluster.shutdown().await;
}
