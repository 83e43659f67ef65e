//! Quotas read what a pod asks for off its tree, the scheduler off its type: both find the same.

use std::collections::BTreeMap;

use coracle_api::core_v1::Pod;
use coracle_api::pod_resources::{Amounts, of_pod};
use coracle_meta::Quantity;
use coracle_meta::fields::Fields;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Some amounts of resources that a pod as a whole may ask for, and of others.
fn amounts() -> impl Strategy<Value = Value> {
    let resource = prop::sample::select(vec!["cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "example.com/gpu"]);
    let amount = prop::sample::select(vec!["0", "250m", "1", "3", "64Mi", "2Gi"]);
    prop::collection::btree_map(resource, amount, 0..4).prop_map(|amounts: BTreeMap<&str, &str>| json!(amounts))
}

fn container() -> impl Strategy<Value = Value> {
    amounts().prop_map(|requests| json!({"name": "c", "resources": {"requests": requests}}))
}

/// An init container, or a sidecar.
fn init_container() -> impl Strategy<Value = Value> {
    (container(), any::<bool>()).prop_map(|(mut container, stays)| {
        if stays {
            container["restartPolicy"] = "Always".into();
        }
        container
    })
}

fn pod() -> impl Strategy<Value = Value> {
    let containers = prop::collection::vec(container(), 1..4);
    let init_containers = prop::collection::vec(init_container(), 0..4);
    (containers, init_containers, prop::option::of(amounts()), amounts()).prop_map(
        |(containers, init, whole, overhead)| {
            let mut spec = json!({"containers": containers, "initContainers": init, "overhead": overhead});
            if let Some(whole) = whole {
                spec["resources"] = json!({"requests": whole});
            }
            json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})
        },
    )
}

fn typed(pod: &Value) -> Pod {
    serde_json::from_value(pod.clone()).unwrap()
}

proptest! {
    #[test]
    fn a_tree_and_a_typed_pod_ask_for_the_same(pod in pod()) {
        prop_assert_eq!(of_pod(pod.at("spec"), "requests"), typed(&pod).requests());
    }
}

#[test]
fn a_pod_as_a_whole_may_ask_for_huge_pages() {
    let pod = json!({"spec": {
        "containers": [{"name": "c", "resources": {"requests": {"hugepages-2Mi": "2Mi", "example.com/gpu": "1"}}}],
        "resources": {"requests": {"hugepages-2Mi": "8Mi", "example.com/gpu": "5"}},
        "overhead": {"hugepages-2Mi": "2Mi"},
    }});
    let amount = |text: &str| Quantity::parse(text).unwrap();
    let wanted: Amounts = [("hugepages-2Mi", "10Mi"), ("example.com/gpu", "1")]
        .map(|(name, text)| (name.to_owned(), amount(text)))
        .into();
    assert_eq!(typed(&pod).requests(), wanted);
    assert_eq!(of_pod(pod.at("spec"), "requests"), wanted);
}
