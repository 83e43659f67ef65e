//! What server-side apply does to objects and owners, on built-in kinds.

use std::borrow::Cow;

use coracle_meta::{GroupVersionKind, Status};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{KindSchema, Table};

fn schema(group: &str, version: &str, kind: &str) -> KindSchema {
    Table::newest().kind(&GroupVersionKind::new(group, version, kind)).expect("the table has the kind")
}

/// An object and its endpoints, written to by one manager after the other.
struct Server {
    api_version: &'static str,
    schema: KindSchema,
    live: Value,
    seconds: u32,
}

impl Server {
    fn new(group: &'static str, api_version: &'static str, kind: &str) -> Self {
        let version = api_version.rsplit('/').next().unwrap_or(api_version);
        Self { api_version, schema: schema(group, version, kind), live: json!({}), seconds: 0 }
    }

    fn deployments() -> Self {
        Self::new("apps", "apps/v1", "Deployment")
    }

    fn config_maps() -> Self {
        Self::new("", "v1", "ConfigMap")
    }

    fn write<R>(
        &mut self,
        manager: &str,
        subresource: &str,
        run: impl FnOnce(&Booking<'_, OneVersion<'_>>, &Value) -> R,
    ) -> R {
        self.seconds += 1;
        let reset: &[&[&str]] = if subresource == "status" { &[&["spec"], &["metadata"]] } else { &[&["status"]] };
        let time = format!("2026-01-01T00:00:{:02}Z", self.seconds % 60);
        let versions =
            OneVersion { api_version: self.api_version, schema: &self.schema, filter: Filter::except(reset) };
        let api_version = self.api_version;
        run(&Booking { versions, api_version, manager, subresource, time }, &self.live)
    }

    fn keep(&mut self, mut object: Value) {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("uid".to_owned(), json!("u"));
        }
        self.live = object;
    }

    fn apply(&mut self, manager: &str, config: Value, force: bool) -> Result<(), ApplyError> {
        let merged = self.write(manager, "", |write, live| managed_fields::apply(write, live, &config, force))?;
        self.keep(merged);
        Ok(())
    }

    fn update(&mut self, manager: &str, subresource: &str, change: impl FnOnce(&mut Value)) {
        let new = self.write(manager, subresource, |write, live| {
            let mut new = live.clone();
            change(&mut new);
            managed_fields::update(write, live, new)
        });
        self.keep(new);
    }

    /// The fields that a manager owns, as texts.
    fn owned(&self, manager: &str) -> Vec<String> {
        let managers = decode(self.live.pointer("/metadata/managedFields")).unwrap();
        managers.iter().filter(|(key, _)| key.name == manager).flat_map(|(_, owned)| owned.set.texts()).collect()
    }

    fn entries(&self) -> Vec<Value> {
        self.live.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn at(&self, path: &str) -> Option<&Value> {
        self.live.pointer(path)
    }
}

fn deployment(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn container(fields: Value) -> Value {
    json!({"template": {"spec": {"containers": [fields]}}})
}

#[test]
fn an_applier_owns_what_it_names_and_atomic_fields_as_a_whole() {
    let mut server = Server::deployments();
    let spec = json!({
        "replicas": 3,
        "selector": {"matchLabels": {"app": "x"}},
        "template": {"spec": {"containers": [{"name": "c", "image": "nginx", "args": ["a"], "ports": [{"containerPort": 80}]}]}}
    });
    server.apply("me", deployment(spec), false).unwrap();
    let expected = [
        ".spec.replicas",
        ".spec.selector",
        r#".spec.template.spec.containers[name="c"]"#,
        r#".spec.template.spec.containers[name="c"].args"#,
        r#".spec.template.spec.containers[name="c"].image"#,
        r#".spec.template.spec.containers[name="c"].name"#,
        r#".spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"]"#,
        r#".spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].containerPort"#,
    ];
    assert_eq!(server.owned("me"), expected);
    let entry = &server.entries()[0];
    assert_eq!((&entry["manager"], &entry["operation"]), (&json!("me"), &json!("Apply")));
    assert_eq!((&entry["apiVersion"], &entry["fieldsType"]), (&json!("apps/v1"), &json!("FieldsV1")));
    assert_eq!(entry["time"], json!("2026-01-01T00:00:01Z"));
}

#[test]
fn another_value_is_a_conflict_and_the_same_value_is_owned_by_both() {
    let mut server = Server::deployments();
    server.apply("one", deployment(json!({"replicas": 3})), false).unwrap();
    server.apply("two", deployment(json!({"replicas": 3})), false).unwrap();
    assert_eq!(server.owned("one"), [".spec.replicas"]);
    assert_eq!(server.owned("two"), [".spec.replicas"]);

    let error = server.apply("two", deployment(json!({"replicas": 5})), false).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas");
    let status: Status = error.into();
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(cause.reason, "FieldManagerConflict");
    assert_eq!(cause.message, "conflict with \"one\"");
    assert_eq!(cause.field, ".spec.replicas");
}

#[test]
fn conflicts_list_the_fields_below_their_managers() {
    let mut server = Server::deployments();
    let spec = container(json!({"name": "c", "image": "nginx"}));
    server.apply("one", deployment(spec), false).unwrap();
    server.update("hand", "", |object| object["spec"]["replicas"] = json!(9));
    server.update("scaler", "scale", |object| object["spec"]["paused"] = json!(true));
    let mut spec = container(json!({"name": "c", "image": "redis"}));
    spec["replicas"] = json!(1);
    spec["paused"] = json!(false);
    let error = server.apply("two", deployment(spec), false).unwrap_err();
    let expected = "Apply failed with 3 conflicts: conflicts with \"hand\" using apps/v1:\n- .spec.replicas\n\
        conflicts with \"one\":\n- .spec.template.spec.containers[name=\"c\"].image\n\
        conflicts with \"scaler\" with subresource \"scale\" using apps/v1:\n- .spec.paused";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn force_takes_the_field_from_its_owners() {
    let mut server = Server::deployments();
    server.apply("one", deployment(json!({"replicas": 3, "paused": true})), false).unwrap();
    server.apply("two", deployment(json!({"replicas": 5})), true).unwrap();
    assert_eq!(server.owned("one"), [".spec.paused"]);
    assert_eq!(server.owned("two"), [".spec.replicas"]);
    assert_eq!(server.at("/spec/replicas"), Some(&json!(5)));
}

#[test]
fn fields_not_applied_any_more_are_removed_unless_another_manager_owns_them() {
    let mut server = Server::deployments();
    let env = |names: &[&str]| {
        let env: Vec<_> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
        container(json!({"name": "c", "env": env}))
    };
    server.apply("one", deployment(env(&["A", "B"])), false).unwrap();
    server.apply("two", deployment(env(&["B", "C"])), false).unwrap();
    server.apply("one", deployment(container(json!({"name": "c"}))), false).unwrap();
    let left: Vec<_> = server.at("/spec/template/spec/containers/0/env").unwrap().as_array().unwrap().clone();
    assert_eq!(left, [json!({"name": "B", "value": "1"}), json!({"name": "C", "value": "1"})]);
    assert_eq!(server.owned("one").last().unwrap(), r#".spec.template.spec.containers[name="c"].name"#);
}

#[test]
fn dropping_the_last_field_of_a_struct_drops_the_struct_but_not_what_others_put_there() {
    let mut server = Server::deployments();
    server
        .apply("one", deployment(json!({"strategy": {"rollingUpdate": {"maxSurge": 1}}, "replicas": 1})), false)
        .unwrap();
    server.update("hand", "", |object| object["spec"]["strategy"]["type"] = json!("RollingUpdate"));
    server.apply("one", deployment(json!({"replicas": 1})), false).unwrap();
    assert_eq!(server.at("/spec/strategy"), Some(&json!({"type": "RollingUpdate"})));
}

#[test]
fn list_items_are_identified_with_the_defaults_of_their_keys() {
    let mut server = Server::new("", "v1", "Service");
    let service = |ports: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}});
    server.apply("one", service(json!([{"port": 80, "name": "a"}])), false).unwrap();
    server.apply("two", service(json!([{"port": 80, "protocol": "UDP", "name": "b"}])), false).unwrap();
    assert_eq!(server.owned("one")[0], r#".spec.ports[port=80,protocol="TCP"]"#);
    assert_eq!(server.at("/spec/ports").unwrap().as_array().unwrap().len(), 2);
    let error = server.apply("two", service(json!([{"port": 80, "name": "c"}])), false).unwrap_err();
    assert!(error.to_string().ends_with(r#".spec.ports[port=80,protocol="TCP"].name"#), "{error}");
}

#[test]
fn the_same_item_twice_is_refused_in_a_configuration_and_owned_together_in_an_object() {
    let mut server = Server::deployments();
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let spec = container(json!({"name": "c", "env": twice}));
    let error = server.apply("one", deployment(spec.clone()), false).unwrap_err();
    let expected = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): \
        .spec.template.spec.containers[name=\"c\"].env: duplicate entries for key [name=\"A\"]";
    assert_eq!(error.to_string(), expected);
    assert_eq!(Status::from(error).code, 500);

    server.update("hand", "", |object| *object = deployment(spec));
    let owned = server.owned("hand");
    assert!(owned.contains(&r#".spec.template.spec.containers[name="c"].env[name="A"]"#.to_owned()));
    assert!(!owned.iter().any(|field| field.contains(r#"env[name="A"].value"#)));
}

#[test]
fn a_field_that_the_kind_does_not_have_is_named() {
    let error = Server::deployments().apply("one", deployment(json!({"bogus": 1})), false).unwrap_err();
    let expected = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.bogus: field not declared in schema";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn fields_that_do_not_fit_are_listed_up_to_a_size_however_many_they_are() {
    let many: serde_json::Map<_, _> = (0..200_000).map(|at| (format!("unknown{at}"), json!(1))).collect();
    let error = Server::deployments().apply("one", deployment(Value::Object(many)), false).unwrap_err().to_string();
    assert!(
        error.contains("errors:\n  .spec.unknown0: field not declared in schema\n  .spec.unknown1: "),
        "{}",
        &error[..200]
    );
    assert!(error.len() < 9 << 20 && error.ends_with(" more errors"), "{}", error.len());

    let mut item = json!({"name": "c".repeat(1 << 20)});
    (0..10_000).for_each(|at| item[format!("unknown{at}")] = json!(1));
    let error = Server::deployments().apply("one", deployment(container(item)), false).unwrap_err().to_string();
    assert!(error.len() < 10 << 20, "{}", error.len());
    assert!(error.ends_with("\n  and 9992 more errors"), "{}", &error[error.len() - 40..]);
}

#[test]
fn fields_in_conflict_are_listed_up_to_a_size_however_long_their_paths_are() {
    let mut server = Server::deployments();
    let with = |value: &str| {
        let variables: Vec<_> = (0..1000).map(|at| json!({"name": format!("n{at}"), "value": value})).collect();
        deployment(container(json!({"name": "c".repeat(1 << 20), "env": variables})))
    };
    server.apply("one", with("1"), false).unwrap();
    let error = server.apply("two", with("2"), false).unwrap_err();
    assert!(error.to_string().starts_with("Apply failed with 1000 conflicts: conflicts with \"one\""));
    let status = Status::from(error);
    assert!(
        status.message.len() < 10 << 20 && status.message.ends_with("\nand 992 more fields"),
        "{}",
        status.message.len()
    );
    assert_eq!(status.details.unwrap().causes.len(), 8);
}

#[test]
fn sets_are_owned_value_by_value() {
    let mut server = Server::config_maps();
    let with = |finalizers: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "finalizers": finalizers}});
    server.apply("one", with(json!(["a.com/x"])), false).unwrap();
    server.apply("two", with(json!(["b.com/y"])), false).unwrap();
    assert_eq!(server.at("/metadata/finalizers"), Some(&json!(["a.com/x", "b.com/y"])));
    server.apply("one", with(json!([])), false).unwrap();
    assert_eq!(server.at("/metadata/finalizers"), Some(&json!(["b.com/y"])));
    assert_eq!(server.owned("two"), [r#".metadata.finalizers[="b.com/y"]"#]);
}

#[test]
fn lists_follow_the_configuration_as_far_as_it_names_their_items() {
    let mut server = Server::deployments();
    let containers = |names: &[&str]| {
        let list: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        deployment(json!({"template": {"spec": {"containers": list}}}))
    };
    server.update("hand", "", |object| *object = containers(&["a", "b", "c"]));
    let names = |server: &Server| -> Vec<String> {
        let list = server.at("/spec/template/spec/containers").and_then(Value::as_array).unwrap();
        list.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    server.apply("one", containers(&["c", "x", "a"]), false).unwrap();
    assert_eq!(names(&server), ["b", "c", "x", "a"]);
    server.apply("one", containers(&["a"]), false).unwrap();
    assert_eq!(names(&server), ["b", "c", "a"]);
}

#[test]
fn an_update_owns_what_it_changes_and_takes_it_from_others() {
    let mut server = Server::config_maps();
    server.update("one", "", |object| *object = config_map(json!({"a": "1", "b": "2"})));
    assert_eq!(server.owned("one"), [".data", ".data.a", ".data.b"]);
    server.update("two", "", |object| object["data"]["a"] = json!("x"));
    assert_eq!(server.owned("one"), [".data", ".data.b"]);
    assert_eq!(server.owned("two"), [".data.a"]);
    server.update("three", "", |object| object["data"]["b"] = json!("2"));
    assert!(server.owned("three").is_empty());
    server.update("three", "", |object| {
        object["data"].as_object_mut().unwrap().remove("b");
    });
    assert_eq!(server.owned("one"), [".data"]);
}

#[test]
fn structs_that_are_always_there_never_change_hands() {
    let mut server = Server::deployments();
    server.update("one", "", |object| {
        *object = deployment(
            json!({"replicas": 1, "strategy": {"type": "Recreate"}, "template": {"metadata": {"labels": {"a": "b"}}}}),
        )
    });
    let expected =
        [".spec.replicas", ".spec.strategy.type", ".spec.template.metadata.labels", ".spec.template.metadata.labels.a"];
    assert_eq!(server.owned("one"), expected);
}

#[test]
fn an_endpoint_does_not_own_what_it_resets() {
    let mut server = Server::deployments();
    let mut object = deployment(json!({"replicas": 1}));
    object["status"] = json!({"replicas": 1});
    server.update("one", "", |live| *live = object);
    assert_eq!(server.owned("one"), [".spec.replicas"]);
    server.update("one", "status", |object| object["status"]["replicas"] = json!(2));
    let entries = server.entries();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["subresource"], json!("status"));
    assert_eq!(entries[1]["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
}

#[test]
fn an_object_without_entries_is_before_first_apply() {
    let mut server = Server::config_maps();
    server.live = config_map(json!({"a": "1"}));
    server.live["metadata"]["uid"] = json!("u");
    server.update("one", "", |object| object["data"]["b"] = json!("2"));
    assert!(server.entries().is_empty(), "an update does not begin to track");
    let error = server.apply("two", config_map(json!({"a": "x"})), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a"
    );
    server.apply("two", config_map(json!({"a": "x"})), true).unwrap();
    assert_eq!(server.owned("before-first-apply"), [".data", ".data.b"]);
}

#[test]
fn entries_are_reset_by_an_empty_list_and_kept_when_they_are_forgotten() {
    let mut server = Server::config_maps();
    server.update("one", "", |object| *object = config_map(json!({"a": "1"})));
    server.update("two", "", |object| {
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
    });
    assert_eq!(server.owned("one"), [".data", ".data.a"]);
    for reset in [json!([]), json!([{}])] {
        let mut server = Server::config_maps();
        server.update("one", "", |object| *object = config_map(json!({"a": "1"})));
        server.update("two", "", |object| object["metadata"]["managedFields"] = reset);
        assert!(server.entries().is_empty());
    }
}

#[test]
fn a_subresource_cannot_rewrite_the_entries() {
    let mut server = Server::config_maps();
    server.update("one", "", |object| *object = config_map(json!({"a": "1"})));
    server.update("two", "status", |object| object["metadata"]["managedFields"] = json!([]));
    assert_eq!(server.owned("one"), [".data", ".data.a"]);
}

#[test]
fn the_oldest_of_many_updaters_become_ancient_changes() {
    let mut server = Server::config_maps();
    server.update("m0", "", |object| *object = config_map(json!({})));
    for number in 1..=12 {
        server.update(&format!("m{number}"), "", |object| object["data"][format!("k{number}")] = json!("v"));
    }
    let entries = server.entries();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], json!("ancient-changes"));
    assert_eq!(entries[0]["time"], json!("2026-01-01T00:00:04Z"));
    assert_eq!(server.owned("ancient-changes"), [".data", ".data.k1", ".data.k2", ".data.k3"]);
}

#[test]
fn saying_the_same_again_changes_nothing_and_times_alone_are_no_change() {
    let mut server = Server::config_maps();
    server.apply("one", config_map(json!({"a": "1"})), false).unwrap();
    let before = server.live.clone();
    server.apply("one", config_map(json!({"a": "1"})), false).unwrap();
    assert_eq!(server.live, before);
    let mut later = before.clone();
    later["metadata"]["managedFields"][0]["time"] = json!("2027-01-01T00:00:00Z");
    assert!(managed_fields::differ_in_times_only(&before, &later));
    later["data"]["a"] = json!("2");
    assert!(!managed_fields::differ_in_times_only(&before, &later));
}

#[test]
fn kubectl_takes_over_what_it_applied_from_the_client_side() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let last = config_map(json!({"a": "1", "b": "1"}));
    let mut server = Server::config_maps();
    server.update("kubectl-client-side-apply", "", |object| {
        *object = last.clone();
        object["metadata"]["annotations"] = json!({annotation: last.to_string()});
    });
    let config = config_map(json!({"a": "2", "b": "<1>"}));
    assert!(server.apply("somebody", config.clone(), false).is_err());
    server.apply("kubectl", config, false).unwrap();
    assert_eq!(server.at("/data/a"), Some(&json!("2")));
    let text = server.live["metadata"]["annotations"][annotation].as_str().unwrap();
    assert!(text.ends_with("}\n") && text.contains(r#""b":"\u003c1\u003e""#), "{text}");

    server.update("hand", "", |object| object["data"]["a"] = json!("3"));
    let error = server.apply("kubectl", config_map(json!({"a": "4", "b": "2"})), false).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"hand\" using v1: .data.a");
}

#[test]
fn the_configuration_has_to_be_of_the_version_and_without_entries() {
    let mut server = Server::config_maps();
    let mut config = config_map(json!({}));
    config["metadata"]["managedFields"] = json!([]);
    assert_eq!(
        server.apply("one", config, false).unwrap_err(),
        ApplyError::BadRequest("metadata.managedFields must be nil".to_owned())
    );
    let config = json!({"apiVersion": "v2", "kind": "ConfigMap"});
    assert!(matches!(server.apply("one", config, false), Err(ApplyError::BadRequest(_))));
}

#[test]
fn replicas_change_hands_through_the_scale() {
    let paths =
        scale::ReplicasPaths::from([("apps/v1".to_owned(), Some(vec!["spec".to_owned(), "replicas".to_owned()]))]);
    let mut server = Server::deployments();
    server.apply("one", deployment(json!({"replicas": 1, "paused": true})), false).unwrap();
    let parent = server.at("/metadata/managedFields");
    let in_scale = scale::to_scale(parent, &paths).unwrap();
    assert_eq!(in_scale[0]["apiVersion"], json!("autoscaling/v1"));
    assert_eq!(in_scale[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));

    let written = json!([{
        "manager": "scaler", "operation": "Update", "apiVersion": "autoscaling/v1", "subresource": "scale",
        "time": "2026-01-01T00:00:09Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}
    }]);
    let entries = scale::to_parent(parent, Some(&written), &paths, "apps/v1").unwrap();
    assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": {"f:paused": {}}}));
    let scaler = json!({
        "manager": "scaler", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}
    });
    assert_eq!(entries[1], scaler);
}

/// A kind with two versions: `b` of the newer is `a` of the older.
#[derive(Clone)]
struct Renamed {
    schema: KindSchema,
}

impl Versions for Renamed {
    type Place = Loose;

    fn schema_may_change(&self) -> bool {
        false
    }

    fn place(&self, api_version: &str) -> Option<Loose> {
        let _ = &self.schema;
        ["g/v1", "g/v2"].contains(&api_version).then_some(Loose)
    }

    fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>> {
        let own = object.get("apiVersion").and_then(Value::as_str).unwrap_or("g/v1");
        if own == api_version {
            return Some(Cow::Borrowed(object));
        }
        let (from, to) = if api_version == "g/v2" { ("a", "b") } else { ("b", "a") };
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        if let Some(value) = object.as_object_mut().and_then(|fields| fields.remove(from)) {
            object[to] = value;
        }
        Some(Cow::Owned(object))
    }

    fn filter(&self, _api_version: &str) -> Filter {
        Filter::All
    }
}

/// A schema that declares nothing.
#[derive(Clone, Copy)]
struct Loose;

impl Place for Loose {
    fn form(self) -> ValueForm {
        ValueForm::Any
    }
    fn field(self, _name: &str) -> Option<Self> {
        None
    }
    fn entry(self) -> Option<Self> {
        None
    }
    fn item(self) -> Option<Self> {
        None
    }
    fn list_map_keys<'p>(self) -> &'p [String] {
        &[]
    }
    fn default(self) -> Option<Value> {
        None
    }
    fn zero(self) -> Option<&'static Value> {
        None
    }
    fn patch_strategy(self) -> crate::PatchStrategy {
        crate::PatchStrategy::default()
    }
}

#[test]
fn owners_in_another_version_lose_and_keep_fields_under_their_names_there() {
    let versions = Renamed { schema: schema("", "v1", "ConfigMap") };
    let write = |api_version, manager| Booking {
        versions: versions.clone(),
        api_version,
        manager,
        subresource: "",
        time: "2026-01-01T00:00:01Z".to_owned(),
    };
    let object = |version: &str, fields: Value| {
        let mut object = json!({"apiVersion": version, "metadata": {"name": "x"}});
        object.as_object_mut().unwrap().extend(fields.as_object().cloned().unwrap_or_default());
        object
    };
    let live =
        managed_fields::apply(&write("g/v1", "one"), &json!({}), &object("g/v1", json!({"a": 1, "c": 1})), false)
            .unwrap();
    let live_v2 = versions.convert(&live, "g/v2").unwrap().into_owned();
    let error =
        managed_fields::apply(&write("g/v2", "two"), &live_v2, &object("g/v2", json!({"b": 2})), false).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"one\": .a");
    let live_v2 =
        managed_fields::apply(&write("g/v2", "two"), &live_v2, &object("g/v2", json!({"b": 2})), true).unwrap();
    let managers = decode(live_v2.pointer("/metadata/managedFields")).unwrap();
    let texts: Vec<_> = managers.values().map(|owned| owned.set.texts()).collect();
    assert_eq!(texts, [vec![".c".to_owned()], vec![".b".to_owned()]]);

    // The first manager goes over to the newer version and drops `c`, which it had applied in the older one.
    let live_v2 =
        managed_fields::apply(&write("g/v2", "one"), &live_v2, &object("g/v2", json!({"d": 1})), false).unwrap();
    assert_eq!(live_v2.get("c"), None);
    assert_eq!(live_v2["b"], json!(2));
}

#[test]
fn a_field_that_became_atomic_is_owned_as_a_whole() {
    let mut server = Server::deployments();
    server.apply("one", deployment(json!({"selector": {"matchLabels": {"a": "b"}}})), false).unwrap();
    server.live["metadata"]["managedFields"][0]["fieldsV1"] =
        json!({"f:spec": {"f:selector": {"f:matchLabels": {"f:a": {}}}}});
    let error = server.apply("two", deployment(json!({"selector": {"matchLabels": {"a": "c"}}})), false).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"one\": .spec.selector");
}

fn data() -> impl Strategy<Value = Value> {
    let value = prop_oneof![Just("1"), Just("2"), Just("3")];
    proptest::collection::btree_map("[a-d]", value, 0..4).prop_map(|map| json!(map))
}

fn containers() -> impl Strategy<Value = Value> {
    let env = proptest::collection::btree_map("[A-C]", "[12]", 0..3)
        .prop_map(|env| env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>());
    let fields = ("[ab]", env, proptest::option::of("[xy]"), proptest::option::of(1..3i64));
    let sorted = proptest::collection::btree_map("[pqr]", fields, 0..3);
    let list = sorted.prop_map(|containers| containers.into_iter().collect::<Vec<_>>()).prop_shuffle();
    list.prop_map(|containers| {
        let list: Vec<_> = containers
            .into_iter()
            .map(|(name, (image, env, args, port))| {
                let mut container = json!({"name": name, "image": image, "env": env});
                if let Some(args) = args {
                    container["args"] = json!([args]);
                }
                if let Some(port) = port {
                    container["ports"] = json!([{"containerPort": port}]);
                }
                container
            })
            .collect();
        deployment(json!({"template": {"spec": {"containers": list}}}))
    })
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(first in containers(), second in containers()) {
        let mut server = Server::deployments();
        server.apply("one", first, false).unwrap();
        server.apply("two", second.clone(), true).unwrap();
        let once = server.live.clone();
        server.apply("two", second, false).unwrap();
        prop_assert_eq!(server.live, once);
    }

    #[test]
    fn extracting_returns_what_a_manager_applied(other in containers(), config in containers()) {
        let mut server = Server::deployments();
        server.apply("other", other, false).unwrap();
        server.apply("me", config.clone(), true).unwrap();
        let place = TablePlace::root(&server.schema);
        let extracted = managed_fields::extract(place, &server.live, "me", "").unwrap_or_else(|| json!({}));
        prop_assert_eq!(field_set(place, &extracted), field_set(place, &json!({"spec": config["spec"]})));
    }

    #[test]
    fn after_a_forced_apply_the_object_says_what_was_applied(a in data(), b in data(), c in data()) {
        let mut server = Server::config_maps();
        server.update("hand", "", |object| *object = config_map(a));
        server.apply("one", config_map(b), true).unwrap();
        prop_assert!(server.apply("two", config_map(c.clone()), true).is_ok());
        for (name, value) in c.as_object().unwrap() {
            prop_assert_eq!(&server.live["data"][name], value);
        }
    }

    #[test]
    fn every_field_of_an_object_that_only_appliers_wrote_has_an_owner(a in data(), b in data(), c in data()) {
        let mut server = Server::config_maps();
        for (manager, config) in [("one", a), ("two", b), ("one", c)] {
            server.apply(manager, config_map(config), true).unwrap();
        }
        let owned: std::collections::BTreeSet<_> = ["one", "two"].iter().flat_map(|manager| server.owned(manager)).collect();
        for name in server.live["data"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let field = format!(".data.{name}");
            prop_assert!(owned.contains(&field), "{field} is nobody's");
        }
    }

    #[test]
    fn entries_that_make_no_sense_never_panic(entries in proptest::collection::vec(("[a-z]{0,3}", "(Apply|Update|X)", "(v1|v9|)", ".{0,8}"), 0..4)) {
        let entries: Vec<_> = entries.into_iter().map(|(manager, operation, version, field)| json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": {field: {}}
        })).collect();
        let mut server = Server::config_maps();
        server.update("one", "", |object| *object = config_map(json!({"a": "1"})));
        server.update("two", "", |object| object["metadata"]["managedFields"] = json!(entries));
        let _ = server.apply("three", config_map(json!({"a": "2"})), true);
    }
}
