//! What each fault of a running cluster does to a program: over HTTPS, in JSON and in protobuf.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::fault_cluster::{Cluster, JSON, PROTOBUF, PROTOBUF_WATCH, Program, SECOND, SECRETS, SOON, Watch, run};

const FORMATS: [&str; 2] = [JSON, PROTOBUF_WATCH];

/// Waits until the fault has struck this often, and returns it as the cluster lists it.
async fn struck(other: &Program, times: u64) -> Value {
    loop {
        let fault = other.faults().await.remove(0);
        if fault["struck"].as_u64() >= Some(times) {
            return fault;
        }
        tokio::time::sleep(SECOND / 50).await;
    }
}

async fn has_nothing_of(watch: &mut Watch, name: &str) -> bool {
    timeout(SECOND, watch.delivers(name)).await.is_err()
}

#[test]
fn a_watch_that_hangs_delivers_what_it_held_once_and_in_order_when_the_fault_is_removed() {
    let cluster = Cluster::start("faults-hang", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        for format in FORMATS {
            let mut hangs = operator.watch(SECRETS, format).await;
            let mut others = other.watch(SECRETS, format).await;
            other.cause("{do: {hang: {}, kind: Secret, to: my-operator}}").await;
            let names = ["c-held", "a-held", "b-held"].map(|name| format!("{name}-{}", format.len()));
            for name in &names {
                assert_eq!(other.create(name).await, Ok(201));
            }
            assert_eq!(timeout(SOON, others.delivers(&names[2])).await, Ok(true));
            assert_eq!(struck(&other, 1).await["state"], "active");
            assert!(has_nothing_of(&mut hangs, &names[0]).await, "{format}");
            other.heal().await;
            assert_eq!(timeout(SOON, hangs.delivers(&names[2])).await, Ok(true), "{format}");
            assert_eq!(names.each_ref().map(|name| hangs.times(name)), [1, 1, 1], "{format}");
            let places = names.each_ref().map(|name| hangs.place(name));
            assert!(places.is_sorted(), "{format}: {places:?}");
            let after = format!("after-{}", format.len());
            assert_eq!(other.create(&after).await, Ok(201));
            assert_eq!(timeout(SOON, hangs.delivers(&after)).await, Ok(true), "the watch is open");
        }
    });
}

#[test]
fn a_watch_that_is_closed_ends_without_an_error_and_continues_after_its_last_revision() {
    let cluster = Cluster::start("faults-close", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        let mut closed = [operator.watch(SECRETS, FORMATS[0]).await, operator.watch(SECRETS, FORMATS[1]).await];
        let mut of_namespaces = operator.watch("/api/v1/namespaces", JSON).await;
        let mut others = other.watch(SECRETS, JSON).await;
        assert_eq!(other.create("before").await, Ok(201));
        for watch in &mut closed {
            assert_eq!(timeout(SOON, watch.delivers("before")).await, Ok(true));
        }
        let (_, before) = other.send(Method::GET, &format!("{SECRETS}/before"), &Value::Null).await.unwrap();
        other.cause("{do: {close: {}, kind: Secret, to: my-operator}}").await;
        for watch in &mut closed {
            assert_eq!(timeout(SOON, watch.ends()).await, Ok(Ok(true)), "no event, and no error");
        }
        assert_eq!(struck(&other, 2).await["struck"], 2);
        assert_eq!(other.create("after").await, Ok(201));
        assert_eq!(timeout(SOON, others.delivers("after")).await, Ok(true));
        let version = before["metadata"]["resourceVersion"].as_str().unwrap();
        for format in FORMATS {
            let since = format!("{SECRETS}?watch=true&resourceVersion={version}");
            let mut again = operator.watch_at(&since, format).await;
            assert_eq!(timeout(SOON, again.delivers("after")).await, Ok(true));
            assert_eq!(again.times("before"), 0, "{format}");
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        assert_eq!(other.send(Method::POST, "/api/v1/namespaces", &namespace).await.unwrap().0, 201);
        assert_eq!(timeout(SOON, of_namespaces.delivers("shop")).await, Ok(true), "another kind is not closed");
    });
}

#[test]
fn a_watch_that_is_gone_ends_with_a_whole_status() {
    let cluster = Cluster::start("faults-gone", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        let mut in_json = operator.watch(SECRETS, JSON).await;
        let mut in_protobuf = operator.watch(SECRETS, PROTOBUF_WATCH).await;
        assert_eq!(other.create("before").await, Ok(201));
        for watch in [&mut in_json, &mut in_protobuf] {
            assert_eq!(timeout(SOON, watch.delivers("before")).await, Ok(true));
            watch.read.clear();
        }
        other.cause("{do: {gone: {}, kind: Secret, to: my-operator}}").await;
        for watch in [&mut in_json, &mut in_protobuf] {
            assert_eq!(timeout(SOON, watch.delivers("too old resource version")).await, Ok(true));
            assert_eq!(timeout(SOON, watch.ends()).await, Ok(Ok(true)), "nothing follows");
        }
        let event: Value = serde_json::from_slice(&in_json.read).unwrap();
        assert_eq!(event["type"], "ERROR");
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version", "reason": "Expired", "code": 410,
        });
        assert_eq!(event["object"], status);
        for part in ["ERROR", "v1", "Status", "Failure", "Expired"] {
            assert_eq!(in_protobuf.times(part), 1, "{part}");
        }
    });
}

/// Reads a secret and writes it back as it was read. Returns the status code of the write.
async fn write_back(program: &Program, media_type: &str) -> u16 {
    let path = format!("{SECRETS}/web");
    let (code, object) = program.send_as(Method::GET, &path, media_type, Bytes::new()).await.unwrap();
    assert_eq!(code, 200);
    program.send_as(Method::PUT, &path, media_type, object).await.unwrap().0
}

#[test]
fn a_storm_of_conflicts_strikes_the_updates_of_one_program_in_json_and_in_protobuf() {
    let cluster = Cluster::start("faults-conflicts", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        assert_eq!(other.create("web").await, Ok(201));
        for media_type in [JSON, PROTOBUF] {
            other.cause("{when: {by: my-operator, verb: update, resource: secrets}, do: {refuse: 409}, for: 3}").await;
            assert_eq!(write_back(&other, media_type).await, 200, "{media_type}");
            let unconditional = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web"}});
            let path = format!("{SECRETS}/web");
            assert_eq!(operator.send(Method::PUT, &path, &unconditional).await.unwrap().0, 200, "it cannot conflict");
            for code in [409, 409, 409, 200] {
                assert_eq!(write_back(&operator, media_type).await, code, "{media_type}");
            }
            let fault = &other.faults().await[0];
            assert_eq!((&fault["state"], &fault["struck"]), (&json!("ended"), &json!(3)), "{fault}");
            other.heal().await;
        }
    });
}

#[test]
fn a_storm_of_conflicts_strikes_deletions_at_a_resource_version() {
    let cluster = Cluster::start("faults-deletions", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        assert_eq!(other.create("web").await, Ok(201));
        other.cause("{when: {by: my-operator, verb: delete, resource: secrets}, do: {refuse: 409}}").await;
        let path = format!("{SECRETS}/web");
        let version = || async {
            let (_, secret) = operator.send(Method::GET, &path, &Value::Null).await.unwrap();
            json!({"preconditions": {"resourceVersion": secret["metadata"]["resourceVersion"]}})
        };
        let (code, status) = operator.send(Method::DELETE, &path, &version().await).await.unwrap();
        assert_eq!((code, &status["reason"]), (409, &json!("Conflict")), "{status}");
        assert_eq!(operator.send(Method::DELETE, &path, &version().await).await.unwrap().0, 200);
    });
}

#[test]
fn a_stale_program_reads_the_past_in_the_cache_and_the_present_if_it_asks_for_it() {
    let cluster = Cluster::start("faults-present", &[]);
    run(async {
        let (operator, other) = (cluster.program("my-operator/v0"), cluster.program("other/v1"));
        assert_eq!(other.create("before").await, Ok(201));
        other.cause("{do: {stale: my-operator}}").await;
        assert_eq!(other.create("after").await, Ok(201));
        assert_eq!(operator.list("?resourceVersion=0").await, ["before"]);
        let after = format!("{SECRETS}/after");
        let in_cache = format!("{after}?resourceVersion=0");
        assert_eq!(operator.send(Method::GET, &in_cache, &Value::Null).await.unwrap().0, 404);
        let asked = Instant::now();
        assert_eq!(operator.list("").await, ["after", "before"]);
        assert!(asked.elapsed() >= 3 * SECOND, "the cache is waited for: {:?}", asked.elapsed());
        let (code, read) = operator.send(Method::GET, &after, &Value::Null).await.unwrap();
        assert_eq!(code, 200);
        let newer = format!("{SECRETS}?resourceVersion={}", read["metadata"]["resourceVersion"].as_str().unwrap());
        let (code, status) = operator.send(Method::GET, &newer, &Value::Null).await.unwrap();
        assert_eq!((code, &status["reason"]), (504, &json!("Timeout")), "{status}");
        assert_eq!(other.list("?resourceVersion=0").await, ["after", "before"]);
        assert!(other.faults().await[0]["struck"].as_u64() >= Some(4));
    });
}
