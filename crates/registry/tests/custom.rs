//! A kind that a definition defines, from the definition to its end.

use std::sync::Arc;

use bytes::Bytes;
use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Status};
use coracle_registry::{
    DeleteOptions, Deleted, GetOptions, ListOptions, Patch, PatchKind, Registry, Request, Strategy, Verb, custom,
};
use coracle_release::Release;
use coracle_schema::decode::{Format, decode};
use coracle_storage::Storage;
use coracle_store::{Engine, Options};
use serde_json::{Value, json};

fn definitions() -> GroupVersionResource {
    GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

fn boats() -> GroupVersionResource {
    GroupVersionResource::new("o.example.com", "v1", "boats")
}

struct World {
    registry: Registry,
}

impl World {
    fn new() -> Self {
        Self::on(Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()))))
    }

    fn on(store: Arc<Engine>) -> Self {
        let ambient = Ambient::seeded(1);
        let storage = Storage::new(store);
        tokio::spawn(storage.run());
        let builder = Registry::builder(storage, ambient, Recorder::off());
        Self {
            registry: builder.kinds([Arc::new(custom::definitions(&Release::default())) as Arc<dyn Strategy>]).build(),
        }
    }

    fn request(&self, verb: Verb, resource: GroupVersionResource, name: &str) -> Request {
        let namespace = if resource == definitions() { "" } else { "default" };
        let request = Request::new(verb, resource, self.registry.ambient().clock.now());
        Request { field_manager: "me".to_owned(), ..request }.object(namespace, name)
    }

    async fn create(&self, resource: GroupVersionResource, body: Value) -> Result<Object, Status> {
        let kind = self.registry.kind(&resource).expect("the kind is served");
        let decoded = decode(body.to_string().as_bytes(), Format::Json, kind.gvk(), kind.schema())?;
        let request = self.request(Verb::Create, resource, "");
        let stored = self.registry.create(&request, decoded.object).await?;
        Ok(Object::clone(&stored.object()))
    }

    async fn get(&self, resource: GroupVersionResource, name: &str) -> Result<Object, Status> {
        let stored = self.registry.get(&self.request(Verb::Get, resource, name), &GetOptions::default()).await?;
        Ok(Object::clone(&stored.object()))
    }

    async fn merge(&self, name: &str, subresource: &str, patch: Value) -> Result<Object, Status> {
        let request = self.request(Verb::Patch, boats(), name).subresource(subresource);
        let patch = Patch { kind: PatchKind::Merge, body: Bytes::from(patch.to_string()) };
        let written = self.registry.patch(&request, &patch).await?;
        Ok(Object::clone(&written.object.object()))
    }

    async fn apply(&self, manager: &str, config: Value) -> Result<Object, Status> {
        let name = config["metadata"]["name"].as_str().unwrap_or("").to_owned();
        let request = Request { field_manager: manager.to_owned(), ..self.request(Verb::Patch, boats(), &name) };
        let patch = Patch { kind: PatchKind::Apply { force: false }, body: Bytes::from(config.to_string()) };
        let written = self.registry.patch(&request, &patch).await?;
        Ok(Object::clone(&written.object.object()))
    }

    async fn delete(&self, resource: GroupVersionResource, name: &str) -> Result<Deleted, Status> {
        self.registry.delete(&self.request(Verb::Delete, resource, name), &DeleteOptions::default()).await
    }
}

fn definition(spec: Value) -> Value {
    let version = |schema: Value| {
        json!([{
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.oars", "statusReplicasPath": ".status.oars", "labelSelectorPath": ".status.selector"
            }},
            "selectableFields": [{"jsonPath": ".spec.colour"}],
            "additionalPrinterColumns": [{"name": "Oars", "type": "integer", "jsonPath": ".spec.oars"}]
        }])
    };
    let schema = json!({"type": "object", "properties": {
        "spec": spec,
        "status": {"type": "object", "properties": {
            "oars": {"type": "integer"}, "phase": {"type": "string"}, "selector": {"type": "string"}
        }}
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.o.example.com"},
        "spec": {
            "group": "o.example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": version(schema)
        }
    })
}

fn spec() -> Value {
    json!({
        "type": "object", "required": ["oars"],
        "properties": {
            "oars": {"type": "integer", "minimum": 0, "maximum": 20},
            "colour": {"type": "string", "default": "red"},
            "min": {"type": "integer"}, "max": {"type": "integer"}
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min must not exceed max"},
            {"rule": "!has(oldSelf.colour) || self.colour == oldSelf.colour", "message": "colour is immutable"}
        ]
    })
}

fn boat(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "o.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec})
}

fn causes(status: &Status) -> Vec<String> {
    let details = status.details.as_ref().expect("an invalid object has details");
    let mut causes: Vec<_> = details.causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    causes.sort();
    causes
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_established_and_its_kind_served() {
    let world = World::new();
    let created = world.create(definitions(), definition(spec())).await.unwrap();
    assert_eq!(created.field("status.storedVersions"), Some(&json!(["v1"])));
    let established = world.get(definitions(), "boats.o.example.com").await.unwrap();
    let conditions = established.field("status.conditions").unwrap();
    let met: Vec<_> = conditions.as_array().unwrap().iter().map(|c| (&c["type"], &c["status"])).collect();
    assert_eq!(met, [(&json!("NamesAccepted"), &json!("True")), (&json!("Established"), &json!("True"))]);
    assert_eq!(established.text("status.acceptedNames.listKind"), "BoatList");
    let kind = world.registry.kind(&boats()).expect("the kind is served");
    assert_eq!(kind.gvk(), &GroupVersionKind::new("o.example.com", "v1", "Boat"));

    let boat = world.create(boats(), boat("b", json!({"oars": 2, "extra": 1}))).await.unwrap();
    assert_eq!(boat.field("spec"), Some(&json!({"oars": 2, "colour": "red"})));
    assert_eq!(boat.generation(), 1);
    let now = world.registry.ambient().clock.now();
    assert_eq!(kind.spec().cells(&boat, now), [json!("b"), json!(2)]);
}

#[tokio::test(start_paused = true)]
async fn schema_and_rules_refuse_with_their_causes() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    let status = world.create(boats(), boat("m", json!({"colour": "red"}))).await.unwrap_err();
    let unchecked = "<nil>: Invalid value: null: some validation rules were not checked because the object was \
        invalid; correct the existing errors to complete validation";
    assert_eq!(causes(&status), [unchecked, "spec.oars: Required value"]);
    let status = world.create(boats(), boat("m", json!({"oars": 1, "min": 5, "max": 2}))).await.unwrap_err();
    assert_eq!(causes(&status), ["spec: Invalid value: min must not exceed max"]);
    world.create(boats(), boat("b", json!({"oars": 1}))).await.unwrap();
    let status = world.merge("b", "", json!({"spec": {"colour": "blue"}})).await.unwrap_err();
    assert_eq!(causes(&status), ["spec: Invalid value: colour is immutable"]);
}

#[tokio::test(start_paused = true)]
async fn a_patch_may_not_take_the_kind() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    world.create(boats(), boat("b", json!({"oars": 2}))).await.unwrap();
    let status = world.merge("b", "", json!({"kind": null})).await.unwrap_err();
    assert_eq!(status.code, 422);
    assert!(status.message.contains(": Object 'Kind' is missing in '{\"apiVersion\":"), "{}", status.message);
}

#[tokio::test(start_paused = true)]
async fn status_and_scale_are_parts_of_their_own() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    world.create(boats(), boat("b", json!({"oars": 2}))).await.unwrap();
    let patch = json!({"status": {"phase": "Afloat", "oars": 2, "selector": "a=b"}, "spec": {"oars": 19}});
    let boat = world.merge("b", "status", patch).await.unwrap();
    assert_eq!((boat.number("spec.oars"), boat.generation()), (Some(2), 1));
    let scale = world.merge("b", "scale", json!({"spec": {"replicas": 6}})).await.unwrap();
    assert_eq!(scale.field("status"), Some(&json!({"replicas": 2, "selector": "a=b"})));
    let boat = world.get(boats(), "b").await.unwrap();
    assert_eq!((boat.number("spec.oars"), boat.generation()), (Some(6), 2));
    assert_eq!(boat.text("status.phase"), "Afloat");
}

/// A specification whose fields can be empty, null and filled with defaults.
fn rigging() -> Value {
    json!({"type": "object", "properties": {
        "oars": {"type": "integer"}, "colour": {"type": "string"},
        "sail": {"type": "object", "properties": {"area": {"type": "integer", "default": 10}}},
        "mast": {"type": "object", "properties": {"height": {"type": "integer"}}},
        "flag": {"type": "object", "nullable": true, "properties": {"text": {"type": "string"}}},
        "crew": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
            "type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"},
                "watch": {"type": "object", "properties": {"hours": {"type": "integer", "default": 4}}}
            }
        }},
        "ropes": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "box": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"lid": {"type": "string"}}}
    }})
}

#[tokio::test(start_paused = true)]
async fn an_empty_object_that_is_applied_again_keeps_what_is_in_it() {
    let world = World::new();
    world.create(definitions(), definition(rigging())).await.unwrap();
    for config in [
        json!({"sail": {}}),
        json!({"sail": {}, "oars": 1}),
        json!({"crew": [{"name": "a", "watch": {}}]}),
        json!({"crew": [], "ropes": [], "box": {}}),
    ] {
        let first = world.apply("me", boat("b", config.clone())).await.unwrap();
        for _ in 0..2 {
            let again = world.apply("me", boat("b", config.clone())).await.unwrap();
            assert_eq!(again.field("spec"), first.field("spec"), "{config}");
            assert_eq!(again.generation(), first.generation(), "{config}");
        }
        world.delete(boats(), "b").await.unwrap();
    }
    let first = world.apply("me", boat("s", json!({"sail": {}}))).await.unwrap();
    assert_eq!(first.field("spec"), Some(&json!({"sail": {"area": 10}})));
}

#[tokio::test(start_paused = true)]
async fn an_object_applied_empty_after_fields_is_null_and_not_absent() {
    let world = World::new();
    world.create(definitions(), definition(rigging())).await.unwrap();
    let null = |path: &str| format!("{path}: Invalid value: \"null\": {path} in body must be of type object: \"null\"");
    world.apply("me", boat("a", json!({"mast": {"height": 1}}))).await.unwrap();
    let status = world.apply("me", boat("a", json!({"mast": {}}))).await.unwrap_err();
    assert_eq!((status.code, causes(&status)), (422, vec![null("spec.mast")]));

    world.apply("me", boat("b", json!({"oars": 1}))).await.unwrap();
    let status = world.apply("me", boat("b", json!({}))).await.unwrap_err();
    assert_eq!((status.code, causes(&status)), (422, vec![null("spec")]));

    world.apply("me", boat("c", json!({"flag": {"text": "x"}}))).await.unwrap();
    let nulled = world.apply("me", boat("c", json!({"flag": null}))).await.unwrap();
    assert_eq!((nulled.field("spec"), nulled.generation()), (Some(&json!({"flag": null})), 2));
}

#[tokio::test(start_paused = true)]
async fn scaling_to_the_present_size_leaves_the_scaler_what_else_it_owns() {
    let world = World::new();
    world.create(definitions(), definition(rigging())).await.unwrap();
    world.create(boats(), boat("b", json!({"oars": 2, "colour": "red"}))).await.unwrap();
    world.merge("b", "scale", json!({"spec": {"replicas": 2}})).await.unwrap();
    let scaled = world.get(boats(), "b").await.unwrap();
    let owners = scaled.field("metadata.managedFields").and_then(Value::as_array).unwrap();
    let owned: Vec<_> = owners.iter().map(|owner| (&owner["manager"], &owner["fieldsV1"]["f:spec"])).collect();
    let me = json!("me");
    assert_eq!(owned, [(&me, &json!({"f:oars": {}})), (&me, &json!({".": {}, "f:colour": {}}))]);
    let status = world.apply("other", boat("b", json!({"colour": "blue"}))).await.unwrap_err();
    assert_eq!((status.code, causes(&status).len()), (409, 1));
}

/// Whether a definition is gone within some seconds.
async fn is_gone(world: &World, seconds: u64) -> bool {
    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
    world.get(definitions(), "boats.o.example.com").await.is_err_and(|status| status.is_not_found())
}

#[tokio::test(start_paused = true)]
async fn a_definition_goes_with_its_objects() {
    let world = World::new();
    let finisher = world.registry.clone();
    let finishing = tokio::spawn(async move { finisher.finish_custom_kinds().await });
    world.create(definitions(), definition(spec())).await.unwrap();
    world.create(boats(), boat("free", json!({"oars": 1}))).await.unwrap();
    let mut held = boat("held", json!({"oars": 1}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.create(boats(), held).await.unwrap();
    world.delete(definitions(), "boats.o.example.com").await.unwrap();
    assert!(world.get(boats(), "free").await.unwrap_err().is_not_found());
    assert!(!is_gone(&world, 60).await, "an object still waits for its finalizer");
    world.merge("held", "", json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert!(is_gone(&world, 5).await);
    assert!(world.registry.kind(&boats()).is_none());
    finishing.abort();
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_definition_has_gone_since_serves_nothing() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    let written = world.get(definitions(), "boats.o.example.com").await.unwrap();
    let mut terminating = written.clone();
    terminating.set("metadata.deletionTimestamp", "2026-01-01T00:00:00Z");
    world.delete(definitions(), "boats.o.example.com").await.unwrap();
    assert!(is_gone(&world, 10).await);
    // What follows each write comes late, after another request has removed the definition.
    let (request, hooks) =
        (world.request(Verb::Update, definitions(), written.name()), custom::definitions(&Release::default()).hooks);
    for (new, old) in [(&written, None), (&terminating, Some(&written)), (&terminating, Some(&terminating))] {
        hooks.after(&world.registry, &request, Some(new), old).await.unwrap();
        assert!(world.registry.kind(&boats()).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_terminating_definition_takes_no_new_objects() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    let mut held = boat("held", json!({"oars": 1}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.create(boats(), held).await.unwrap();
    world.delete(definitions(), "boats.o.example.com").await.unwrap();
    let why = |name: &str| {
        format!(
            "boats.o.example.com {name:?} is forbidden: create not allowed while custom resource definition is terminating"
        )
    };
    let refused = world.create(boats(), boat("new", json!({"oars": 1}))).await.unwrap_err();
    assert_eq!(refused.message, why("new"));
    let apply = Patch {
        kind: PatchKind::Apply { force: false },
        body: Bytes::from(boat("applied", json!({"oars": 1})).to_string()),
    };
    let refused = world.registry.patch(&world.request(Verb::Patch, boats(), "applied"), &apply).await.unwrap_err();
    assert_eq!(refused.message, why("applied"));
    let held = world.merge("held", "", json!({"spec": {"oars": 2}})).await.unwrap();
    assert_eq!(held.number("spec.oars"), Some(2), "what is there may change");
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_another_server_left_terminating_goes() {
    let store = Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off())));
    let first = World::on(Arc::clone(&store));
    first.create(definitions(), definition(spec())).await.unwrap();
    let mut held = boat("held", json!({"oars": 1}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    first.create(boats(), held).await.unwrap();
    first.delete(definitions(), "boats.o.example.com").await.unwrap();
    let second = World::on(store);
    second.registry.load_custom_kinds().await.unwrap();
    assert!(second.create(boats(), boat("new", json!({"oars": 1}))).await.unwrap_err().is_forbidden());
    let finisher = second.registry.clone();
    let finishing = tokio::spawn(async move { finisher.finish_custom_kinds().await });
    second.merge("held", "", json!({"metadata": {"finalizers": null}})).await.unwrap();
    assert!(is_gone(&second, 6).await);
    finishing.abort();
}

#[tokio::test(start_paused = true)]
async fn definitions_that_are_stored_are_served_by_the_next_server() {
    let store = Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off())));
    let first = World::on(Arc::clone(&store));
    first.create(definitions(), definition(spec())).await.unwrap();
    first.create(boats(), boat("b", json!({"oars": 2}))).await.unwrap();
    let second = World::on(store);
    second.registry.load_custom_kinds().await.unwrap();
    assert_eq!(second.get(boats(), "b").await.unwrap().number("spec.oars"), Some(2));
}

#[tokio::test(start_paused = true)]
async fn definitions_of_another_api_server_are_served_and_removed() {
    let store = Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off())));
    let (first, second) = (World::on(Arc::clone(&store)), World::on(store));
    let beside = second.registry.clone();
    let following = tokio::spawn(async move { beside.follow_custom_kinds().await });
    let is_served = async |wanted: bool| {
        for _ in 0..100 {
            if second.registry.kind(&boats()).is_some() == wanted {
                return true;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        false
    };
    first.create(definitions(), definition(spec())).await.unwrap();
    assert!(is_served(true).await);
    second.create(boats(), boat("b", json!({"oars": 2}))).await.unwrap();
    assert_eq!(first.get(boats(), "b").await.unwrap().number("spec.oars"), Some(2));
    let request = first.request(Verb::Delete, definitions(), "boats.o.example.com");
    first.registry.delete(&request, &DeleteOptions::default()).await.unwrap();
    assert!(is_served(false).await);
    first.create(definitions(), definition(spec())).await.unwrap();
    assert!(is_served(true).await, "it came again");
    following.abort();
}

#[tokio::test(start_paused = true)]
async fn an_invalid_definition_is_refused_with_the_path() {
    let world = World::new();
    let refused = async |change: fn(&mut Value)| {
        let mut body = definition(spec());
        change(&mut body);
        causes(&world.create(definitions(), body).await.unwrap_err())
    };
    let name = refused(|body| body["metadata"]["name"] = json!("x.o.example.com")).await;
    assert_eq!(name, [r#"metadata.name: Invalid value: "x.o.example.com": must be spec.names.plural+"."+spec.group"#]);
    let scope = refused(|body| body["spec"]["scope"] = json!("Galaxy")).await;
    assert_eq!(scope, [r#"spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced""#]);
    let untyped = refused(|body| {
        body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
            json!({"properties": {"colour": {"type": "string"}}});
    });
    let expected = "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for \
        specified object fields";
    assert_eq!(untyped.await, [expected]);
    let rule = refused(|body| {
        body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
            json!([{"rule": "self.b > 1"}]);
    });
    let expected = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: \
        {\"Rule\":\"self.b \\u003e 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\
        \"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b > 1\n | ....^";
    assert_eq!(rule.await, [expected]);
    let column = refused(|body| body["spec"]["versions"][0]["additionalPrinterColumns"][0]["type"] = json!("wrong"));
    let expected = r#"spec.additionalPrinterColumns[0].type: Invalid value: "wrong": must be one of boolean,date,integer,number,string"#;
    assert_eq!(column.await, [expected]);
}

/// A specification whose lists are without limits, with rules.
fn with_rules(rules: &Value) -> Value {
    let names = json!({"type": "array", "items": {"type": "string"}});
    let properties = json!({"oars": {"type": "integer"}, "colour": {"type": "string"}, "names": names});
    json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules})
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_may_cost_too_much_is_refused_with_its_definition() {
    let world = World::new();
    let refused =
        async |rules: Value| causes(&world.create(definitions(), definition(with_rules(&rules))).await.unwrap_err());
    let path = "spec.validation.openAPIV3Schema";
    let advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and \
        strings are declared)";
    let squared = json!([{"rule": "self.names.all(a, self.names.exists_one(b, a == b))"}]);
    let rule = format!("{path}.properties[spec].x-kubernetes-validations[0].rule: Forbidden");
    let expected = [
        format!("{rule}: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"),
        format!("{rule}: estimated rule cost exceeds budget by factor of more than 100x {advice}"),
        format!(
            "{path}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds \
             budget by factor of more than 100x {advice}"
        ),
    ];
    assert_eq!(refused(squared).await, expected);
    let once = json!([{"rule": "self.names.all(a, a.matches('^a+$') && a != 'b' && a.startsWith('c'))"}]);
    let found = refused(once).await;
    assert!(found.iter().any(|cause| cause.starts_with(&rule)), "{found:?}");
    let path = format!("{path}.properties[spec].x-kubernetes-validations[0]");
    let field = json!([{"rule": "true", "fieldPath": ".sails"}, {"rule": "true", "message": "a\rb"}]);
    let expected = [
        format!("{path}.fieldPath: Invalid value: \".sails\": must be a valid path"),
        format!("{}.message: Invalid value: \"a\\rb\": must not contain line breaks", path.replace("[0]", "[1]")),
    ];
    assert_eq!(refused(field).await, expected);
}

#[tokio::test(start_paused = true)]
async fn limits_of_a_list_limit_the_cost_of_a_rule() {
    let world = World::new();
    let mut spec = with_rules(&json!([{"rule": "self.names.all(a, self.names.exists_one(b, a == b))"}]));
    spec["properties"]["names"]["maxItems"] = json!(10);
    spec["properties"]["names"]["items"]["maxLength"] = json!(20);
    world.create(definitions(), definition(spec)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_field_that_is_declared_selectable_selects() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    world.create(boats(), boat("r", json!({"oars": 2}))).await.unwrap();
    world.create(boats(), boat("b", json!({"oars": 2, "colour": "blue"}))).await.unwrap();
    let request = world.request(Verb::List, boats(), "");
    let field_selector = coracle_meta::FieldSelector::parse("spec.colour=blue").unwrap();
    let list = world.registry.list(&request, &ListOptions { field_selector, ..ListOptions::default() }).await.unwrap();
    let names: Vec<_> = list.items.iter().map(|item| item.object().name().to_owned()).collect();
    assert_eq!(names, ["b"]);
}

fn beta() -> GroupVersionResource {
    GroupVersionResource::new("o.example.com", "v1beta1", "boats")
}

/// The definition with a version beside the stored one: it knows a crew instead of oars, and both know a colour.
fn two_versions(serves_stored: bool) -> Value {
    let mut definition = definition(spec());
    let mut beta = definition["spec"]["versions"][0].clone();
    beta["name"] = "v1beta1".into();
    beta["storage"] = false.into();
    beta["schema"]["openAPIV3Schema"]["properties"]["spec"] = json!({"type": "object", "properties": {
        "crew": {"type": "integer", "maximum": 5, "default": 2}, "colour": {"type": "string"}
    }});
    definition["spec"]["versions"][0]["served"] = serves_stored.into();
    definition["spec"]["versions"].as_array_mut().unwrap().push(beta);
    definition
}

fn beta_boat(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "o.example.com/v1beta1", "kind": "Boat", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test(start_paused = true)]
async fn objects_are_validated_with_the_schema_of_their_version() {
    let world = World::new();
    world.create(definitions(), two_versions(true)).await.unwrap();
    let made = world.create(beta(), beta_boat("b", json!({"crew": 3}))).await.unwrap();
    assert_eq!(made.api_version(), "o.example.com/v1beta1", "the stored version asks for oars, this one does not");
    assert_eq!(made.field("spec"), Some(&json!({"colour": "red"})), "by the defaults and the fields of the stored one");
    let refused = world.create(beta(), beta_boat("c", json!({"crew": 6}))).await.unwrap_err();
    assert_eq!(causes(&refused), ["spec.crew: Invalid value: 6: spec.crew in body should be less than or equal to 5"]);
    let refused = world.create(boats(), boat("c", json!({}))).await.unwrap_err();
    assert!(causes(&refused).contains(&"spec.oars: Required value".to_owned()), "{refused}");
    let stored = world.get(boats(), "b").await.unwrap();
    assert_eq!(stored.field("spec"), Some(&json!({"colour": "red"})));

    let mut changed = made.clone();
    changed.set("spec.crew", 6);
    let request = world.request(Verb::Update, beta(), "b");
    let refused = world.registry.update(&request, changed.clone()).await.unwrap_err();
    assert_eq!(refused.code, 422);
    changed.set("spec.crew", 4);
    changed.set("metadata.labels.seen", "yes");
    let written = world.registry.update(&request, changed).await.unwrap().object.object();
    assert_eq!(written.field("metadata.labels.seen"), Some(&json!("yes")));
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_served_is_stored_all_the_same() {
    let world = World::new();
    world.create(definitions(), two_versions(false)).await.unwrap();
    assert!(world.registry.kind(&boats()).is_none());
    let made = world.create(beta(), beta_boat("b", json!({"colour": "blue"}))).await.unwrap();
    assert_eq!(made.api_version(), "o.example.com/v1beta1");
    let kind = world.registry.kind(&beta()).unwrap();
    assert_eq!(kind.hub().spec().gvk().version, "v1");
    assert_eq!(world.get(beta(), "b").await.unwrap().field("spec"), Some(&json!({"colour": "blue"})));
}

#[tokio::test(start_paused = true)]
async fn stored_objects_are_read_with_the_current_definition() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    world.create(boats(), boat("b", json!({"oars": 2, "min": 1}))).await.unwrap();
    let mut changed = world.get(definitions(), "boats.o.example.com").await.unwrap();
    let mut versions = changed.field("spec.versions").unwrap().clone();
    let properties = &mut versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    properties["sails"] = json!({"type": "integer", "default": 1});
    properties.as_object_mut().unwrap().remove("colour");
    versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        .as_object_mut()
        .unwrap()
        .remove("x-kubernetes-validations");
    versions[0].as_object_mut().unwrap().remove("selectableFields");
    changed.set("spec.versions", versions);
    let request = world.request(Verb::Update, definitions(), "boats.o.example.com");
    world.registry.update(&request, changed).await.unwrap();
    let expected = json!({"oars": 2, "min": 1, "sails": 1});
    assert_eq!(world.get(boats(), "b").await.unwrap().field("spec"), Some(&expected));
    let list = world.registry.list(&world.request(Verb::List, boats(), ""), &ListOptions::default()).await.unwrap();
    assert_eq!(list.items[0].object().field("spec"), Some(&expected));
}

/// A definition of the group of boats with other names.
fn named(plural: &str, names: Value) -> Value {
    let mut made = definition(spec());
    made["metadata"]["name"] = json!(format!("{plural}.o.example.com"));
    made["spec"]["names"] = names;
    made["spec"]["names"]["plural"] = json!(plural);
    made
}

#[tokio::test(start_paused = true)]
async fn names_that_another_definition_has_are_accepted_when_it_goes() {
    let world = World::new();
    world.create(definitions(), definition(spec())).await.unwrap();
    world.create(definitions(), named("ships", json!({"kind": "Boat", "singular": "ship"}))).await.unwrap();
    let waiting = world.get(definitions(), "ships.o.example.com").await.unwrap();
    assert_eq!(
        waiting.field("status.acceptedNames"),
        Some(&json!({"kind": "", "plural": "ships", "singular": "ship"}))
    );
    let reasons = |object: &Object| -> Vec<String> {
        let conditions = object.field("status.conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        conditions.iter().map(|condition| condition["reason"].as_str().unwrap_or("").to_owned()).collect()
    };
    assert_eq!(reasons(&waiting), ["ListKindConflict", "NotAccepted"]);
    let ships = GroupVersionResource::new("o.example.com", "v1", "ships");
    assert!(world.registry.kind(&ships).is_none());
    world.delete(definitions(), "boats.o.example.com").await.unwrap();
    let accepted = world.get(definitions(), "ships.o.example.com").await.unwrap();
    assert_eq!(reasons(&accepted), ["NoConflicts", "InitialNamesAccepted"]);
    assert!(world.registry.kind(&ships).is_some());
}
