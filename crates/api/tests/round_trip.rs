//! Objects of every kind go through their Rust type and come out as they went in.

use coracle_api::{apps_v1, batch_v1, core_v1, meta_v1, networking_v1, policy_v1, rbac_v1};
use coracle_meta::{Object, Resource};
use coracle_schema::Table;
use coracle_schema::decode::normalize;
use coracle_schema::sample::{Choices, value};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A normal object of a kind, with a field that nobody knows.
fn object(kind: &coracle_meta::GroupVersionKind, seed: u64) -> (Value, coracle_schema::KindSchema) {
    let schema = Table::newest().kind(kind).unwrap();
    let mut object = Object::from_value(value(schema.root(), &mut Choices::new(seed))).unwrap();
    object.set_kind(kind);
    (normalize(object, &schema).unwrap().object.into_value(), schema)
}

/// The object after it was read and written as a `K`, in the form in which the server would keep it.
fn through<K: Resource>(seed: u64) -> (Value, Value) {
    let (before, schema) = object(&K::kind(), seed);
    let typed: K = serde_json::from_value(before.clone()).unwrap();
    let mut written = serde_json::to_value(typed).unwrap();
    // The claims of a StatefulSet name their kind, as those that the server answers do.
    for claim in written.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
        let claim = claim.as_object_mut().unwrap();
        assert_eq!(claim.remove("kind"), Some("PersistentVolumeClaim".into()));
        claim.remove("apiVersion");
    }
    let after = Object::from_value(written).unwrap();
    (before, normalize(after, &schema).unwrap().object.into_value())
}

/// Calls a function with the type of every kind that has one.
macro_rules! of_every_kind {
    ($which:expr, $seed:expr, $($kind:ty),* $(,)?) => {{
        let tests: &[fn(u64) -> (Value, Value)] = &[$(through::<$kind>),*];
        tests[$which.index(tests.len())]($seed)
    }};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_typed_round_trip_loses_nothing(seed in any::<u64>(), which in any::<prop::sample::Index>()) {
        let (before, after) = of_every_kind!(which, seed,
            core_v1::ConfigMap, core_v1::Endpoints, core_v1::Event, core_v1::LimitRange, core_v1::Namespace,
            core_v1::Node, core_v1::PersistentVolume, core_v1::PersistentVolumeClaim, core_v1::Pod,
            core_v1::PodTemplate, core_v1::ReplicationController, core_v1::ResourceQuota, core_v1::Secret,
            core_v1::Service, core_v1::ServiceAccount, apps_v1::ControllerRevision, apps_v1::DaemonSet,
            apps_v1::Deployment, apps_v1::ReplicaSet, apps_v1::StatefulSet, batch_v1::CronJob, batch_v1::Job,
            policy_v1::PodDisruptionBudget, networking_v1::Ingress, networking_v1::NetworkPolicy,
            rbac_v1::ClusterRole, rbac_v1::RoleBinding, coracle_api::autoscaling_v2::HorizontalPodAutoscaler,
            coracle_api::certificates_v1::CertificateSigningRequest, coracle_api::coordination_v1::Lease,
            coracle_api::discovery_v1::EndpointSlice, coracle_api::events_v1::Event,
            coracle_api::flowcontrol_v1::FlowSchema, coracle_api::node_v1::RuntimeClass,
            coracle_api::resource_v1::ResourceClaim, coracle_api::scheduling_v1::PriorityClass,
            coracle_api::storage_v1::CSIDriver, coracle_api::storage_v1::StorageClass,
            coracle_api::admissionregistration_v1::ValidatingWebhookConfiguration,
            coracle_api::apiextensions_v1::CustomResourceDefinition,
            coracle_api::apiregistration_v1::APIService,
        );
        prop_assert_eq!(before, after);
    }
}

#[test]
fn unknown_fields_of_newer_clients_are_kept() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "new": [1]},
        "spec": {"containers": [{"name": "c", "new": {"x": null}}], "later": 1}, "status": {}});
    let typed: core_v1::Pod = serde_json::from_value(pod.clone()).unwrap();
    let written = serde_json::to_value(&typed).unwrap();
    assert_eq!(written["metadata"]["new"], json!([1]));
    assert_eq!(written["spec"]["later"], 1);
    assert_eq!(written["spec"]["containers"][0]["new"], json!({"x": null}));
}

#[test]
fn absent_fields_use_little_memory() {
    let empty: core_v1::Container = serde_json::from_value(json!({"name": "c"})).unwrap();
    assert!(empty.unknown.is_none());
    assert!(size_of::<core_v1::Pod>() < 2_500, "{}", size_of::<core_v1::Pod>());
    assert!(size_of::<core_v1::Container>() < 700, "{}", size_of::<core_v1::Container>());
}

#[test]
fn a_selector_chooses_by_labels_and_expressions() {
    let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]});
    let selector: meta_v1::LabelSelector = serde_json::from_value(selector).unwrap();
    let selector = selector.to_selector().unwrap();
    let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert!(selector.matches(&labels(&[("app", "web"), ("tier", "x")])));
    assert!(!selector.matches(&labels(&[("app", "web")])));
}
