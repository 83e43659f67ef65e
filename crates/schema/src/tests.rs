use coracle_meta::{GroupVersionKind, GroupVersionResource, Scope};
use serde_json::json;

use crate::{ListKind, Presence, Table, Trait, TypeNode};

fn pod() -> crate::KindSchema {
    Table::newest().kind(&GroupVersionKind::new("", "v1", "Pod")).unwrap()
}

#[test]
fn a_walk_leads_from_a_pod_to_the_keys_of_its_ports() {
    let pod = pod();
    let container = pod.root().step("spec").and_then(|spec| spec.step("containers")).unwrap();
    assert_eq!(container.list_kind(), Some(&ListKind::Map { keys: vec!["name".to_owned()] }));
    let container = container.element().unwrap();
    assert_eq!(container.field("ports").unwrap().field().patch.merge_key.as_deref(), Some("containerPort"));
    let ports = container.step("ports").unwrap();
    let keys = vec!["containerPort".to_owned(), "protocol".to_owned()];
    assert_eq!(ports.list_kind(), Some(&ListKind::Map { keys }));
    assert_eq!(ports.key_default("protocol"), Some(&json!("TCP")));
    assert!(matches!(ports.element().and_then(|port| port.step("hostPort")).unwrap().node(), TypeNode::Int32));
    assert!(container.step("nothing").is_none());
}

#[test]
fn a_field_overrides_what_its_type_says_of_merging() {
    let kind = GroupVersionKind::new("", "v1", "PersistentVolume");
    let schema = Table::newest().kind(&kind).unwrap();
    assert!(!schema.root().step("spec").unwrap().step("claimRef").unwrap().is_atomic());
    let pod = pod();
    assert!(pod.root().step("spec").unwrap().step("nodeSelector").unwrap().is_atomic());
}

#[test]
fn embedded_structs_have_the_tags_of_the_way_to_them() {
    let volume = Table::newest().by_name("io.k8s.api.core.v1.Volume").unwrap();
    let crate::TypeBody::Struct(body) = &volume.body else { panic!("a volume is a struct") };
    assert_eq!(body.field("emptyDir").unwrap().tags, [2, 2]);
    assert_eq!(body.field("name").unwrap().presence, Presence::Always);
}

#[test]
fn every_resource_has_a_type() {
    let table = Table::newest();
    for row in table.resources() {
        assert!(table.kind(&row.kind).is_some(), "{}", row.kind);
    }
    let scaled = table.resource(&GroupVersionResource::new("apps", "v1", "deployments")).unwrap();
    assert_eq!(scaled.subresource("scale").unwrap().kind, GroupVersionKind::new("autoscaling", "v1", "Scale"));
    assert!(scaled.has(Trait::Generation) && scaled.scope == Scope::Namespaced);
}

#[test]
fn fields_are_sorted_by_name() {
    for ty in Table::newest().types() {
        if let crate::TypeBody::Struct(body) = &ty.body {
            assert!(body.fields.is_sorted_by(|a, b| a.name < b.name), "{}", ty.name);
        }
    }
}

#[test]
fn an_unreadable_line_is_named() {
    let error = Table::from_text("package a\ntype B\n c strin 1\n", "").unwrap_err();
    assert_eq!(error.to_string(), "line 3: unknown type strin");
}
