use serde_json::{Value, json};

use super::{Descriptions, Published, Undescribed, v2, v3, v3_paths};
use crate::{ResourceRow, Table};

fn built_in() -> Vec<Published<'static>> {
    Table::v1_35().resources().iter().map(|row| Published { row, schema: None }).collect()
}

fn document(path: &str) -> Value {
    v3(path, &built_in(), &Undescribed).unwrap()
}

#[test]
fn every_group_version_has_a_document_and_so_has_its_group() {
    let paths = v3_paths(&built_in());
    for path in ["api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "apis/autoscaling/v2", "version"] {
        assert!(paths.contains(path), "{path}");
    }
    assert_eq!(v3("apis/apps/v9", &built_in(), &Undescribed), None);
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
        "items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ServicePort"}], "default": {}},
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
        "rest": {"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": true}
    }, "required": ["oars", "colour"]}}});
    let resources = [Published { row: &row, schema: Some(&schema) }];
    let document = v3("apis/example.com/v1", &resources, &Undescribed).unwrap();
    let boat = &document["components"]["schemas"]["com.example.v1.Boat"];
    assert_eq!(boat["properties"]["spec"]["properties"]["oars"], json!({"type": "integer", "nullable": true}));
    let meta = json!([{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]);
    assert_eq!(boat["properties"]["metadata"]["allOf"], meta);
    let patch = &document["paths"]["/apis/example.com/v1/namespaces/{namespace}/boats/{name}/status"]["patch"];
    assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_none());
    let v2 = v2(&resources, &Undescribed);
    let mut spec = schema["properties"]["spec"].clone();
    spec["properties"]["oars"] = json!({});
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
fn what_all_objects_have_is_described_for_custom_kinds_too() {
    let row = boats();
    let schema = json!({"type": "object"});
    let document = v3("apis/example.com/v1", &[Published { row: &row, schema: Some(&schema) }], &Named).unwrap();
    let description = |ty: &str, field: &str| {
        document["components"]["schemas"][format!("com.example.v1.{ty}")]["properties"][field]["description"].clone()
    };
    assert_eq!(description("Boat", "kind"), "kind of CustomResourceDefinition");
    assert_eq!(description("Boat", "metadata"), "metadata of CustomResourceDefinition");
    assert_eq!(description("BoatList", "metadata"), "metadata of Status");
}

#[test]
fn a_kind_that_takes_any_field_is_but_an_object_in_version_two() {
    let row = boats();
    let schema = json!({"type": "object", "description": "", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": true});
    let v2 = v2(&[Published { row: &row, schema: Some(&schema) }], &Undescribed);
    let kind = json!([{"group": "example.com", "version": "v1", "kind": "Boat"}]);
    let boat = &v2["definitions"]["com.example.v1.Boat"];
    assert_eq!(boat, &json!({"type": "object", "x-kubernetes-group-version-kind": kind}));
}

#[test]
fn version_two_refers_to_its_own_definitions() {
    let text = v2(&built_in(), &Undescribed).to_string();
    assert!(!text.contains("#/components/"));
    assert!(text.contains(r##""$ref":"#/definitions/io.k8s.api.core.v1.PodSpec""##));
}
