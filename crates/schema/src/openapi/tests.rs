use serde_json::{Value, json};

use super::{Descriptions, Published, Undescribed, v2, v3, v3_paths};
use coracle_release::Release;

use crate::{ResourceRow, Table};

fn built_in() -> Vec<Published<'static>> {
    Table::newest().resources().iter().map(|row| Published { row, schema: None, selectable: Vec::new() }).collect()
}

fn document(path: &str) -> Value {
    v3(&Release::newest(), path, &built_in(), &Undescribed).unwrap()
}

#[test]
fn every_group_version_has_a_document_and_so_has_its_group() {
    let paths = v3_paths(&built_in());
    for path in ["api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "apis/autoscaling/v2", "version"] {
        assert!(paths.contains(path), "{path}");
    }
    assert_eq!(v3(&Release::newest(), "apis/apps/v9", &built_in(), &Undescribed), None);
}

#[test]
fn every_reference_of_every_document_leads_somewhere() {
    for path in v3_paths(&built_in()) {
        let document = document(&path);
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(document["components"]["schemas"].get(name).is_some(), "{path}: {name}");
        }
    }
}

#[test]
fn a_patch_says_what_kubectl_looks_for() {
    let document = document("apis/apps/v1");
    let item = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
    let patch = &item["patch"];
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let names: Vec<_> = patch["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_some());
    let shared: Vec<_> = item["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
    assert_eq!(shared, ["name", "namespace", "pretty"]);
}

#[test]
fn fields_say_how_they_merge_and_what_go_makes_of_nothing() {
    let document = document("api/v1");
    let schemas = &document["components"]["schemas"];
    let ports = &schemas["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"];
    let want = json!({
        "type": "array", "description": "",
        "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.ServicePort"},
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
        "x-kubernetes-patch-merge-key": "port", "x-kubernetes-patch-strategy": "merge",
    });
    assert_eq!(ports, &want);
    let protocol = &schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"];
    let values = json!(["SCTP", "TCP", "UDP"]);
    assert_eq!(protocol, &json!({"type": "string", "description": "", "default": "TCP", "enum": values}));
}

fn boats() -> ResourceRow {
    let rows = "example.com/v1 boats Boat namespaced\n status get,patch,update\n";
    Table::from_text("", rows).unwrap().resources()[0].clone()
}

#[test]
fn a_custom_kind_is_published_under_its_reversed_group() {
    let row = boats();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "oars": {"type": "integer", "nullable": true}, "colour": {"type": "string", "enum": ["red"], "default": "red"},
        "length": {"x-kubernetes-int-or-string": true, "description": "", "oneOf": [{"minimum": 1}]},
        "mate": {"type": "object", "x-kubernetes-embedded-resource": true, "required": ["kind"]},
        "rest": {"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": true}
    }, "required": ["oars", "colour"]}}});
    let resources = [Published { row: &row, schema: Some(&schema), selectable: Vec::new() }];
    let document = v3(&Release::newest(), "apis/example.com/v1", &resources, &Undescribed).unwrap();
    let boat = &document["components"]["schemas"]["com.example.v1.Boat"];
    assert_eq!(boat["properties"]["spec"]["properties"]["oars"], json!({"type": "integer", "nullable": true}));
    let meta = json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]);
    assert_eq!(boat["properties"]["metadata"]["allOf"], meta);
    let spec = &boat["properties"]["spec"]["properties"];
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let length = json!({"x-kubernetes-int-or-string": true, "oneOf": [{"minimum": 1}], "anyOf": either});
    assert_eq!(spec["length"], length);
    assert_eq!(spec["mate"]["required"], json!(["kind", "apiVersion"]));
    assert_eq!(spec["mate"]["properties"]["metadata"]["allOf"], meta);
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/boats/{name}/status"]["patch"];
    assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_none());
    let v2 = v2(&Release::newest(), &resources, &Undescribed);
    let mut spec = schema["properties"]["spec"].clone();
    spec["properties"]["oars"] = json!({});
    spec["properties"]["length"] = json!({"x-kubernetes-int-or-string": true});
    spec["properties"]["mate"] =
        v2["definitions"]["com.example.v1.Boat"]["properties"]["spec"]["properties"]["mate"].clone();
    spec["properties"]["rest"] = json!({"x-kubernetes-preserve-unknown-fields": true});
    spec["properties"]["colour"] = json!({"type": "string", "enum": ["red"]});
    spec["required"] = json!(["colour"]);
    assert_eq!(v2["definitions"]["com.example.v1.Boat"]["properties"]["spec"], spec);
}

/// Says of each field what it is of.
struct Named;

impl Descriptions for Named {
    fn describe(&self, ty: &str, field: Option<&str>) -> String {
        format!("{} of {}", field.unwrap_or_default(), ty.rsplit('.').next().unwrap_or_default())
    }
}

#[test]
fn common_fields_are_described_for_custom_kinds_too() {
    let row = boats();
    let schema = json!({"type": "object"});
    let document = v3(
        &Release::newest(),
        "apis/example.com/v1",
        &[Published { row: &row, schema: Some(&schema), selectable: Vec::new() }],
        &Named,
    )
    .unwrap();
    let description = |ty: &str, field: &str| {
        document["components"]["schemas"][format!("com.example.v1.{ty}")]["properties"][field]["description"].clone()
    };
    assert_eq!(description("Boat", "kind"), "kind of CustomResourceDefinition");
    assert_eq!(description("Boat", "metadata"), "metadata of CustomResourceDefinition");
    assert_eq!(description("BoatList", "metadata"), "metadata of Status");
}

#[test]
fn custom_kinds_say_by_which_fields_they_are_chosen_and_their_groups_are_not_published() {
    let row = boats();
    let schema = json!({"type": "object"});
    let resources = [Published { row: &row, schema: Some(&schema), selectable: vec!["spec.colour"] }];
    assert!(!v3_paths(&resources).contains("apis/example.com"));
    let release = Release::named("1.35").unwrap();
    let document = v3(&release, "apis/example.com/v1", &resources, &Undescribed).unwrap();
    assert!(document["paths"].get("/apis/example.com/v1/").is_none());
    for kind in ["Boat", "BoatList"] {
        let of_kind = &document["components"]["schemas"][format!("com.example.v1.{kind}")];
        assert_eq!(of_kind["x-kubernetes-selectable-fields"], json!([{"fieldPath": "spec.colour"}]));
    }
    let options = &document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
    let groups = options["x-kubernetes-group-version-kind"].as_array().unwrap();
    assert!(groups.iter().any(|kind| kind["group"] == "apps"));
    assert!(groups.iter().all(|kind| kind["group"] != "apiextensions.k8s.io"));
}

#[test]
fn operations_have_names_that_are_their_own() {
    let document = v2(&Release::newest(), &built_in(), &Undescribed);
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values());
    let mut names: Vec<_> = operations.filter_map(|operation| operation["operationId"].as_str()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for name in [
        "listCoreV1PodForAllNamespaces",
        "connectCoreV1GetNamespacedPodProxyWithPath",
        "watchAppsV1NamespacedDeploymentList",
        "getCodeVersion",
    ] {
        assert!(names.binary_search(&name).is_ok(), "{name}");
    }
}

#[test]
fn parameters_that_many_operations_have_are_said_once_in_version_two() {
    let document = v2(&Release::newest(), &built_in(), &Undescribed);
    let list = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["get"];
    let mut names = Vec::new();
    for parameter in list["parameters"].as_array().unwrap() {
        let name = parameter["$ref"].as_str().unwrap().strip_prefix("#/parameters/").unwrap();
        names.push(document["parameters"][name]["name"].as_str().unwrap());
    }
    assert_eq!(names[..2], ["allowWatchBookmarks", "continue"]);
    let create = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"]["parameters"];
    assert_eq!((&create[0]["name"], &create[1]["name"]), (&json!("body"), &json!("dryRun")));
}

#[test]
fn a_kind_that_takes_any_field_is_but_an_object_in_version_two() {
    let row = boats();
    let schema = json!({"type": "object", "description": "", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": true});
    let v2 =
        v2(&Release::newest(), &[Published { row: &row, schema: Some(&schema), selectable: Vec::new() }], &Undescribed);
    let kind = json!([{"group": "example.com", "version": "v1", "kind": "Boat"}]);
    let boat = &v2["definitions"]["com.example.v1.Boat"];
    assert_eq!(boat, &json!({"type": "object", "x-kubernetes-group-version-kind": kind}));
}

#[test]
fn version_two_refers_to_its_own_definitions() {
    let text = v2(&Release::newest(), &built_in(), &Undescribed).to_string();
    assert!(!text.contains("#/components/"));
    assert!(text.contains(r##""$ref":"#/definitions/io.k8s.api.core.v1.PodSpec""##));
}
