//! `cargo xtask descriptions RELEASE FILE`: writes `crates/release/data/RELEASE/descriptions.txt.gz`, what kinds, fields and
//! parameters are for, in Kubernetes' own words, from the `/openapi/v2` of a kube-apiserver of that release
//! (`kubectl get --raw /openapi/v2 > FILE`). A release after the first has only what the ones before do not say.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use coracle_release::Release;
use coracle_schema::openapi::{Described, Descriptions as _};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use serde_json::Value;

use crate::failure::Failure;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Descriptions by type and field.
type Found = BTreeMap<(String, Option<String>), String>;

/// Writes the file.
pub(crate) fn write() -> Result<(), Failure> {
    let usage = "usage: cargo xtask descriptions RELEASE FILE";
    let release = Release::named(&std::env::args().nth(2).ok_or(usage)?)?;
    let document: Value = serde_json::from_slice(&std::fs::read(std::env::args().nth(3).ok_or(usage)?)?)?;
    let mut found = found(&document);
    let mut before = Vec::new();
    for earlier in Release::all().filter(|earlier| earlier.place() < release.place()).rev() {
        before.push(Described::read(unpacked(&earlier)?)?);
    }
    found.retain(|(ty, field), text| {
        let known = before.iter().map(|earlier| earlier.describe(ty, field.as_deref()));
        known.into_iter().find(|known| !known.is_empty()).as_ref() != Some(text)
    });
    // No time and no name in the header: the same descriptions are the same file.
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::best());
    gzip.write_all(Described::write(&found).as_bytes())?;
    std::fs::write(file(&release), gzip.finish()?)?;
    Ok(())
}

fn file(release: &Release) -> PathBuf {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/release/data");
    data.join(release.version()).join("descriptions.txt.gz")
}

/// The text of a release.
fn unpacked(release: &Release) -> Result<String, Failure> {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut GzDecoder::new(std::fs::File::open(file(release))?), &mut text)?;
    Ok(text)
}

fn found(document: &Value) -> Found {
    let mut found = Found::new();
    for (ty, schema) in members(&document["definitions"]).filter(|(ty, _)| ty.starts_with("io.k8s.")) {
        describe(&mut found, ty, None, schema);
        for (field, schema) in members(&schema["properties"]) {
            describe(&mut found, ty, Some(field), schema);
        }
    }
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item).filter(|(method, _)| *method != "parameters") {
            let parameters = [&item["parameters"], &operation["parameters"]].into_iter().filter_map(Value::as_array);
            for parameter in parameters.flatten().map(|parameter| resolved(document, parameter)) {
                let name = parameter["name"].as_str().unwrap_or_default();
                if let Some(ty) = options(path, method, operation, name).filter(|_| parameter["in"] == "query") {
                    describe(&mut found, &ty, Some(name), parameter);
                }
            }
        }
    }
    found
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn describe(found: &mut Found, ty: &str, field: Option<&str>, said: &Value) {
    if let Some(text) = said["description"].as_str().filter(|text| !text.is_empty()) {
        found.insert((ty.to_owned(), field.map(str::to_owned)), text.to_owned());
    }
}

/// A parameter that stands elsewhere, by its reference.
fn resolved<'a>(document: &'a Value, parameter: &'a Value) -> &'a Value {
    let name = parameter["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/parameters/"));
    name.map_or(parameter, |name| &document["parameters"][name])
}

/// The options of which a parameter is a field.
fn options(path: &str, method: &str, operation: &Value, name: &str) -> Option<String> {
    if name == "pretty" {
        return None;
    }
    if path.ends_with("/log") {
        return Some("io.k8s.api.core.v1.PodLogOptions".to_owned());
    }
    let of_list = ["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion"];
    let of_list = [&of_list[..], &["resourceVersionMatch", "sendInitialEvents", "timeoutSeconds"]].concat();
    let meta = |kind: &str| Some(format!("{META}.{kind}"));
    match operation["x-kubernetes-action"].as_str()? {
        "connect" => {
            let kind = operation["x-kubernetes-group-version-kind"]["kind"].as_str()?;
            Some(format!("io.k8s.api.core.v1.{kind}"))
        }
        "list" | "watch" | "watchlist" => meta("ListOptions"),
        "deletecollection" if of_list.contains(&name) => meta("ListOptions"),
        "delete" | "deletecollection" => meta("DeleteOptions"),
        "post" => meta("CreateOptions"),
        "put" => meta("UpdateOptions"),
        "patch" => meta("PatchOptions"),
        _ if method == "get" => None,
        other => panic!("{path}: the action {other} is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_fields_and_parameters_are_described_by_the_words_of_the_document() {
        let shared = json!({"limit-x": {"name": "limit", "in": "query", "description": "how many"}});
        let kind = json!({"group": "", "version": "v1", "kind": "PodExecOptions"});
        let document = json!({
            "definitions": {
                "io.k8s.api.core.v1.Pod": {"description": "Pod\nis", "properties": {"spec": {"description": "s"}, "x": {}}},
                "io.example.Boat": {"description": "not Kubernetes' own"},
            },
            "parameters": shared,
            "paths": {
                "/api/v1/pods": {
                    "get": {"x-kubernetes-action": "list", "parameters": [{"$ref": "#/parameters/limit-x"}]},
                    "parameters": [{"name": "pretty", "in": "query", "description": "p"}],
                },
                "/api/v1/pods/{name}/exec": {"get": {
                    "x-kubernetes-action": "connect", "x-kubernetes-group-version-kind": kind,
                    "parameters": [{"name": "tty", "in": "query", "description": "t"}, {"name": "name", "in": "path", "description": "n"}],
                }},
            },
        });
        let expected = "io.k8s.api.core.v1.Pod\tPod\\nis\nio.k8s.api.core.v1.Pod spec\ts\n\
                        io.k8s.api.core.v1.PodExecOptions tty\tt\n\
                        io.k8s.apimachinery.pkg.apis.meta.v1.ListOptions limit\thow many\n";
        assert_eq!(Described::write(&found(&document)), expected);
    }

    #[test]
    fn the_files_can_be_read() {
        for release in Release::all() {
            Described::read(unpacked(&release).unwrap()).unwrap();
        }
    }
}
