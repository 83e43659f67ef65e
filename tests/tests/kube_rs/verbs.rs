//! Every verb of `kube::Api`, and what its errors are taken for.

use coracle::Cluster;
use coracle::prelude::*;
use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams};
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

use crate::eventually;

fn config_map(value: Value) -> ConfigMap {
    serde_json::from_value(value).unwrap()
}

/// What the server has against a request.
#[track_caller]
fn refusal<T: std::fmt::Debug>(answer: Result<T, kube::Error>) -> Status {
    match answer {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("the server did not refuse: {other:?}"),
    }
}

async fn client() -> Client {
    Cluster::builder().api_server_only().start().await.unwrap().client()
}

#[tokio::test(start_paused = true)]
async fn an_object_lives_through_every_verb_while_a_watch_looks_on() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client().await);
    let start = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let looking = tokio::spawn({
        let maps = maps.clone();
        async move {
            let seen = maps.watch(&WatchParams::default().labels("app=m"), &start).await.unwrap();
            let kinds = seen.map_ok(|event| match event {
                WatchEvent::Added(_) => "added",
                WatchEvent::Modified(_) => "modified",
                WatchEvent::Deleted(_) => "deleted",
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => "else",
            });
            kinds.take(7).try_collect::<Vec<_>>().await.unwrap()
        }
    });

    let wanted = config_map(json!({"metadata": {"name": "m", "labels": {"app": "m"}}, "data": {"a": "1"}}));
    let mut made = maps.create(&PostParams::default(), &wanted).await.unwrap();
    assert!(refusal(maps.create(&PostParams::default(), &wanted).await).is_already_exists());
    made.data.as_mut().unwrap().insert("a".to_owned(), "2".to_owned());
    maps.replace("m", &PostParams::default(), &made).await.unwrap();
    assert!(refusal(maps.replace("m", &PostParams::default(), &made).await).is_conflict());

    let plain = PatchParams::default();
    let operations = json!([{"op": "add", "path": "/data/json", "value": "y"}]);
    maps.patch("m", &plain, &Patch::Json::<()>(serde_json::from_value(operations).unwrap())).await.unwrap();
    maps.patch("m", &plain, &Patch::Merge(json!({"data": {"merge": "y", "a": null}}))).await.unwrap();
    maps.patch("m", &plain, &Patch::Strategic(json!({"data": {"strategic": "y"}}))).await.unwrap();
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"applied": "y"}});
    let patched = maps.patch("m", &PatchParams::apply("one"), &Patch::Apply(&applied)).await.unwrap();
    let keys: Vec<_> = patched.data.unwrap().into_keys().collect();
    assert_eq!(keys, ["applied", "json", "merge", "strategic"]);

    let list = maps.list(&ListParams::default().fields("metadata.name=m")).await.unwrap();
    assert_eq!(list.items.len(), 1);
    let partial = maps.list_metadata(&ListParams::default().labels("app=m").limit(1)).await.unwrap();
    assert_eq!(partial.items[0].metadata.uid, made.metadata.uid);
    let gone = maps.delete("m", &DeleteParams::background().grace_period(0)).await.unwrap();
    assert!(gone.is_right());
    assert!(refusal(maps.get("m").await).is_not_found());
    let modified = ["modified"; 5];
    assert_eq!(looking.await.unwrap(), [&["added"][..], &modified, &["deleted"]].concat());
}

#[tokio::test(start_paused = true)]
async fn two_appliers_meet_in_conflict_and_one_forces_its_way() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client().await);
    let wanted = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": value}});
    maps.patch("applied", &PatchParams::apply("one"), &Patch::Apply(wanted("1"))).await.unwrap();
    let conflict = refusal(maps.patch("applied", &PatchParams::apply("two"), &Patch::Apply(wanted("2"))).await);
    assert!(conflict.is_conflict());
    let cause = &conflict.details.unwrap().causes[0];
    assert_eq!((cause.reason.as_str(), cause.field.as_str()), ("FieldManagerConflict", ".data.a"));
    let forced = maps.patch("applied", &PatchParams::apply("two").force(), &Patch::Apply(wanted("2"))).await.unwrap();
    let managers: Vec<_> = forced.managed_fields().iter().filter_map(|entry| entry.manager.as_deref()).collect();
    assert_eq!(managers, ["two"]);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_listed_in_pages_and_deleted_by_a_selector() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client().await);
    for number in 0..5 {
        let labels = json!({"odd": (number % 2 == 1).to_string()});
        let map = config_map(json!({"metadata": {"name": format!("m-{number}"), "labels": labels}}));
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    let selected = ListParams::default().labels("odd=false");
    let first = maps.list(&selected.clone().limit(2)).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = maps.list(&selected.clone().limit(2).continue_token(&token)).await.unwrap();
    let names: Vec<_> = first.items.iter().chain(&rest.items).map(ResourceExt::name_any).collect();
    assert_eq!(names, ["m-0", "m-2", "m-4"]);
    maps.delete_collection(&DeleteParams::default(), &selected).await.unwrap();
    let left = maps.list(&ListParams::default().labels("odd")).await.unwrap();
    assert_eq!(left.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["m-1", "m-3"]);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_streams_its_list_and_continues_with_events() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client().await);
    let labels = json!({"app": "s"});
    let made = |name: &str| config_map(json!({"metadata": {"name": name, "labels": labels}}));
    maps.create(&PostParams::default(), &made("before")).await.unwrap();
    let config = watcher::Config::default().labels("app=s").streaming_lists();
    let mut seen = Box::pin(watcher(maps.clone(), config).touched_objects());
    assert_eq!(seen.next().await.unwrap().unwrap().name_any(), "before");
    maps.create(&PostParams::default(), &made("after")).await.unwrap();
    assert_eq!(seen.next().await.unwrap().unwrap().name_any(), "after");
}

#[tokio::test(start_paused = true)]
async fn a_custom_kind_is_defined_scaled_and_written_without_a_type() {
    let client = client().await;
    let size = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": size, "status": size}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.kube.example.com"},
        "spec": {
            "group": "kube.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
            }],
        },
    });
    let of = |group: &str, kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let definitions: Api<DynamicObject> =
        Api::all_with(client.clone(), &of("apiextensions.k8s.io", "CustomResourceDefinition"));
    let defined = serde_json::from_value(definition).unwrap();
    definitions.create(&PostParams::default(), &defined).await.unwrap();
    let boats: Api<DynamicObject> = Api::default_namespaced_with(client, &of("kube.example.com", "Boat"));
    eventually(|| async { boats.list(&ListParams::default()).await.ok() }).await;

    let boat =
        json!({"apiVersion": "kube.example.com/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"size": 2}});
    boats.patch("b", &PatchParams::apply("one"), &Patch::Apply(&boat)).await.unwrap();
    let scaled = boats.patch_scale("b", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 5}}))).await;
    assert_eq!(scaled.unwrap().spec.unwrap().replicas, Some(5));
    let status = Patch::Merge(json!({"status": {"size": 4}}));
    let patched = boats.patch_status("b", &PatchParams::default(), &status).await.unwrap();
    assert_eq!((&patched.data["spec"]["size"], &patched.data["status"]["size"]), (&json!(5), &json!(4)));
    let wrong = boats.patch("b", &PatchParams::default(), &Patch::Merge(json!({"spec": {"size": "x"}}))).await;
    assert!(refusal(wrong).is_invalid());
    let strategic = boats.patch("b", &PatchParams::default(), &Patch::Strategic(json!({"spec": {"size": 1}}))).await;
    assert_eq!(refusal(strategic).code, 415);
}
