use coracle_meta::{GroupVersionKind, Object};
use serde_json::{Value, json};

use super::{Decoded, Format, decode, normalize};
use crate::Table;

fn kind(group: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(group, "v1", kind)
}

fn read(expected: &GroupVersionKind, body: &str) -> Result<Decoded, String> {
    let schema = Table::newest().kind(expected).unwrap();
    decode(body.as_bytes(), Format::Json, expected, &schema).map_err(|status| status.message)
}

fn config_map(body: &str) -> Result<Decoded, String> {
    read(&kind("", "ConfigMap"), body)
}

#[test]
fn unknown_and_duplicate_fields_are_reported_in_order_and_dropped() {
    let body =
        r#"{"kind":"ConfigMap","metadata":{"name":"a","Labels":{},"name":"b"},"Data":{},"data":{"k":"1","k":"2"}}"#;
    let decoded = config_map(body).unwrap();
    assert_eq!(
        decoded.strict,
        [
            r#"unknown field "metadata.Labels""#,
            r#"duplicate field "metadata.name""#,
            r#"unknown field "Data""#,
            r#"duplicate field "data.k""#
        ]
    );
    let want = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"k": "2"}});
    assert_eq!(decoded.object.to_value(), want);
    let status = decoded.strict_error(&kind("", "ConfigMap")).unwrap();
    assert!(status.message.starts_with(
        r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.Labels", dup"#
    ));
}

#[test]
fn a_value_of_the_wrong_type_is_refused_in_gos_words() {
    let replica_set = |spec: &str| read(&kind("apps", "ReplicaSet"), &format!(r#"{{"spec":{spec}}}"#)).unwrap_err();
    let begin = r#"ReplicaSet in version "v1" cannot be handled as a ReplicaSet: json: cannot unmarshal "#;
    for (spec, want) in [
        (r#"{"replicas":"3"}"#, "string into Go struct field ReplicaSetSpec.spec.replicas of type int32"),
        (r#"{"replicas":1.5}"#, "number 1.5 into Go struct field ReplicaSetSpec.spec.replicas of type int32"),
        (
            r#"{"replicas":99999999999}"#,
            "number 99999999999 into Go struct field ReplicaSetSpec.spec.replicas of type int32",
        ),
        (
            r#"{"template":{"spec":{"containers":[{"ports":1}]}}}"#,
            "number into Go struct field Container.spec.template.spec.containers.ports of type []v1.ContainerPort",
        ),
        (
            r#"{"template":{"metadata":{"creationTimestamp":5}}}"#,
            "number into Go struct field ObjectMeta.spec.template.metadata.creationTimestamp of type string",
        ),
        ("7", "number into Go struct field ReplicaSet.spec of type v1.ReplicaSetSpec"),
    ] {
        assert_eq!(replica_set(spec), format!("{begin}{want}"));
    }
}

#[test]
fn a_named_scalar_is_called_by_its_name() {
    let error = |spec: &str| read(&kind("", "Pod"), &format!(r#"{{"spec":{spec}}}"#)).unwrap_err();
    let policy = error(r#"{"containers":[{"terminationMessagePolicy":true}]}"#);
    assert!(
        policy
            .ends_with("field Container.spec.containers.terminationMessagePolicy of type v1.TerminationMessagePolicy")
    );
    let add = error(r#"{"containers":[{"securityContext":{"capabilities":{"add":"x"}}}]}"#);
    assert!(add.ends_with("of type []v1.Capability"), "{add}");
}

#[test]
fn a_body_that_is_no_object_is_not_recognized() {
    for (body, want) in [
        ("", "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        ("{} {", "couldn't get version/kind; json parse error: invalid character '{' after top-level value ({} {)"),
    ] {
        let begin = "the object provided is unrecognized (must be of type ConfigMap): ";
        assert_eq!(config_map(body).unwrap_err(), format!("{begin}{want}"));
    }
    assert!(config_map("[]").unwrap_err().ends_with("(5b5d)"));
}

#[test]
fn another_kind_is_refused() {
    let other = config_map(r#"{"apiVersion":"v1","kind":"Other"}"#).unwrap_err();
    assert!(
        other.starts_with(r#"Other in version "v1" cannot be handled as a ConfigMap: no kind "Other" is registered"#)
    );
    let pod = config_map(r#"{"apiVersion":"v1","kind":"Pod"}"#).unwrap_err();
    assert!(pod.ends_with("converting (v1.Pod) to (core.ConfigMap): unknown conversion"), "{pod}");
}

#[test]
fn values_take_the_form_in_which_kubernetes_prints_them() {
    let body = r#"{"spec":{"containers":[{"name":"c","image":"","stdin":false,"resources":{"limits":{"cpu":"1000m","memory":1024}},
        "ports":[],"securityContext":{}}],"terminationGracePeriodSeconds":0,"nodeSelector":{},"hostNetwork":null}}"#;
    let pod = read(&kind("", "Pod"), body).unwrap().object;
    let want = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": {},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [
            {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1024"}}, "securityContext": {}}
        ]},
    });
    assert_eq!(pod.to_value(), want);
}

#[test]
fn nulls_in_maps_are_zeros() {
    assert_eq!(config_map(r#"{"data":{"a":null}}"#).unwrap().object.text("data.a"), "");
}

#[test]
fn printed_objects_are_normal() {
    let role =
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []});
    let schema = Table::newest().kind(&kind("rbac.authorization.k8s.io", "Role")).unwrap();
    let once = normalize(Object::from_value(role).unwrap(), &schema).unwrap().object;
    assert_eq!(once.field("rules"), Some(&Value::Null));
    assert_eq!(normalize(once.clone(), &schema).unwrap().object, once);
}

#[test]
fn schemas_of_custom_resources_are_read_in_all_their_forms() {
    let body = r#"{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"properties":{"$ref":{"type":"string"},
        "a":{"items":{"type":"integer","nope":1},"additionalProperties":true,"default":{"x":0},"minimum":0}}}}}]}}"#;
    let decoded = read(&kind("apiextensions.k8s.io", "CustomResourceDefinition"), body).unwrap();
    let nope = r#"unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.items.nope""#;
    assert_eq!(decoded.strict, [nope]);
    let version = decoded.object.field("spec.versions").unwrap();
    let a = &version[0]["schema"]["openAPIV3Schema"]["properties"]["a"];
    let want = json!({"items": {"type": "integer"}, "additionalProperties": true, "default": {"x": 0}, "minimum": 0});
    assert_eq!(a, &want);
}

#[test]
fn invalid_schemas_are_ignored_or_refused() {
    let read = |schema: Value| {
        let versions = json!([{"name": "v1", "schema": {"openAPIV3Schema": schema}}]);
        let body = json!({"spec": {"versions": versions}}).to_string();
        let decoded = read(&kind("apiextensions.k8s.io", "CustomResourceDefinition"), &body)?;
        let versions = decoded.object.field("spec.versions").unwrap().clone();
        Ok::<_, String>(versions[0]["schema"]["openAPIV3Schema"].clone())
    };
    assert_eq!(
        read(json!({"items": "text", "dependencies": {"a": ["b", null]}})),
        Ok(json!({"dependencies": {"a": ["b", ""]}}))
    );
    assert_eq!(read(json!({"items": []})), Ok(json!({})));
    let refused = read(json!({"additionalProperties": "text"})).unwrap_err();
    assert!(refused.ends_with("boolean or JSON schema expected"), "{refused}");
}

#[test]
fn a_body_in_a_retired_version_is_of_another_version_and_not_unknown() {
    for (expected, version, other) in [
        (kind("autoscaling", "Scale"), "apps/v1beta1", "autoscaling/v1"),
        (kind("apps", "Deployment"), "extensions/v1beta1", "apps/v1"),
        (kind("node.k8s.io", "RuntimeClass"), "node.k8s.io/v1beta1", "node.k8s.io/v1"),
        (kind("", "Event"), "events.k8s.io/v1beta1", "v1"),
    ] {
        let body = format!(r#"{{"apiVersion":"{version}","kind":"{}"}}"#, expected.kind);
        let want = format!("the API version in the data ({version}) does not match the expected API version ({other})");
        assert_eq!(read(&expected, &body).unwrap_err(), want);
    }
}

#[test]
fn an_eviction_is_taken_in_both_versions_that_it_has_had() {
    let eviction = kind("policy", "Eviction");
    let former = read(&eviction, r#"{"apiVersion":"policy/v1beta1","kind":"Eviction","metadata":{"name":"p"},"x":1}"#);
    let former = former.unwrap();
    assert_eq!((former.object.api_version(), former.object.name()), ("policy/v1beta1", "p"));
    assert_eq!(former.strict, [r#"unknown field "x""#]);
    assert!(read(&eviction, r#"{"apiVersion":"policy/v1beta2","kind":"Eviction"}"#).is_err());
}

#[test]
fn a_patch_may_take_a_document_to_a_retired_version_if_that_can_read_it() {
    let patched = |expected: GroupVersionKind, document: Value| {
        let schema = Table::newest().kind(&expected).unwrap();
        super::decode_patched(document, &expected, &schema).map(|decoded| decoded.object.api_version().to_owned())
    };
    let deployment = json!({"apiVersion": "extensions/v1beta1", "kind": "Deployment", "spec": {"replicas": 1}});
    assert_eq!(patched(kind("apps", "Deployment"), deployment), Ok("apps/v1".to_owned()));
    let scale = |status: Value| json!({"apiVersion": "apps/v1beta1", "kind": "Scale", "status": status});
    assert_eq!(
        patched(kind("autoscaling", "Scale"), scale(json!({"replicas": 0, "selector": "a=b"}))),
        Err("json: cannot unmarshal string into Go struct field ScaleStatus.status.selector of type map[string]string"
            .to_owned())
    );
    assert!(patched(kind("autoscaling", "Scale"), scale(json!({"replicas": 0}))).is_ok());
}

#[test]
fn options_of_another_kind_are_not_known() {
    let options = kind("", "DeleteOptions");
    let pod = read(&options, r#"{"apiVersion":"v1","kind":"Pod"}"#).unwrap_err();
    assert_eq!(pod, "no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"");
    assert!(read(&options, r#"{"apiVersion":"any.example/v7","kind":"DeleteOptions"}"#).is_ok());
}
