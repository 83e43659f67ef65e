use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use coracle_meta::GroupVersion;
use coracle_meta::fields::Fields;
use coracle_registry::{ExtensionDocuments, OutgoingResponse, Registry, ServiceAddress, Trust};
use serde_json::{Map, Value, json};

use super::condition::Condition;

/// The timeout of each request to a server.
const PATIENCE: Duration = Duration::from_secs(5);
const JSON: &str = "application/json";
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                         application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// A probe of the server of an APIService.
#[derive(Debug)]
pub(super) struct DiscoveryRequest {
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) version: GroupVersion,
    pub(super) service: ServiceAddress,
    pub(super) trust: Trust,
    pub(super) known: Arc<ExtensionDocuments>,
}

/// The result of a probe.
#[derive(Debug)]
pub(super) struct DiscoveryResult {
    pub(super) name: String,
    pub(super) number: u64,
    pub(super) condition: Condition,
    pub(super) documents: Arc<ExtensionDocuments>,
}

/// Probes whether a server serves its group and version, and downloads its discovery and OpenAPI documents.
///
/// In Kubernetes: the request at the end of `sync` of the remote controller, `fetchFreshDiscoveryForService`, and the
/// downloaders of OpenAPI. Unlike Kubernetes: one request, not five at once.
pub(super) async fn ask(registry: &Registry, question: DiscoveryRequest) -> DiscoveryResult {
    let condition = match available(registry, &question).await {
        Ok(()) => Condition::passed(),
        Err(why) => Condition::no("FailedDiscoveryCheck", why),
    };
    let documents = if condition.is_true {
        fetch(registry, &question).await
    } else {
        ExtensionDocuments { is_current: false, ..ExtensionDocuments::clone(&question.known) }
    };
    DiscoveryResult { name: question.name, number: question.number, condition, documents: Arc::new(documents) }
}

fn path(version: &GroupVersion) -> String {
    format!("/apis/{version}")
}

async fn available(registry: &Registry, question: &DiscoveryRequest) -> Result<(), String> {
    // An untrusted certificate prevents forwarding, but does not make the server unavailable.
    let asked =
        coracle_registry::ExtensionRequest { trust: Trust::Anybody, ..get(question, path(&question.version), JSON) };
    let url = asked.url();
    let failing = |why: String| format!("failing or missing response from {url}: {why}");
    let answer = registry.ask(&asked).await.map_err(failing)?;
    match answer.code {
        200..=299 => Ok(()),
        code => Err(failing(format!("bad status from {url}: {code}"))),
    }
}

fn get(question: &DiscoveryRequest, path: String, accept: &'static str) -> coracle_registry::ExtensionRequest {
    coracle_registry::ExtensionRequest {
        to: question.service.clone(),
        trust: question.trust.clone(),
        path,
        accept,
        etag: String::new(),
        timeout: PATIENCE,
    }
}

async fn fetch(registry: &Registry, question: &DiscoveryRequest) -> ExtensionDocuments {
    let version = &question.version;
    let (resources, is_current) = match resources(registry, question).await {
        Some(resources) => (resources, true),
        None => (question.known.resources.clone(), false),
    };
    let ask = async |path: &str| json_of(registry.ask(&get(question, path.to_owned(), JSON)).await);
    let openapi_v3 = ask("/openapi/v3").await.map(|index| v3_of(&index, version));
    let openapi_v2 = ask("/openapi/v2").await.map(|document| v2_of(&document, version));
    ExtensionDocuments {
        resources,
        is_current,
        openapi_v2: openapi_v2.unwrap_or_else(|| question.known.openapi_v2.clone()),
        openapi_v3: openapi_v3.unwrap_or_else(|| question.known.openapi_v3.clone()),
    }
}

async fn resources(registry: &Registry, question: &DiscoveryRequest) -> Option<Value> {
    let groups = registry.ask(&get(question, "/apis".to_owned(), DISCOVERY)).await.ok()?;
    if groups.code == 200 && groups.media_type.contains("as=APIGroupDiscoveryList") {
        let groups: Value = coracle_meta::json::from_slice(&groups.body).ok()?;
        return Some(resources_of(&groups, &question.version));
    }
    let list = json_of(registry.ask(&get(question, path(&question.version), JSON)).await)?;
    Some(from_list(&list))
}

fn json_of(answer: Result<OutgoingResponse, String>) -> Option<Value> {
    let answer = answer.ok().filter(|answer| answer.code == 200)?;
    coracle_meta::json::from_slice(&answer.body).ok()
}

/// The resources of a group and version; empty if the server does not list it.
fn resources_of(groups: &Value, version: &GroupVersion) -> Value {
    let group = groups.list("items").iter().find(|group| group.text("metadata.name") == version.group);
    let versions = group.map_or(&[][..], |group| group.list("versions"));
    let found = versions.iter().find(|found| found.text("version") == version.version);
    let mut resources = found.map_or_else(|| json!([]), |found| found.at("resources").clone());
    for resource in resources.as_array_mut().into_iter().flatten() {
        set_kind(resource);
        for subresource in resource.get_mut("subresources").and_then(Value::as_array_mut).into_iter().flatten() {
            set_kind(subresource);
        }
    }
    resources
}

/// Sets the kind, without which clients of 1.26 panic.
fn set_kind(resource: &mut Value) {
    if let Some(resource) = resource.as_object_mut() {
        resource.entry("responseKind").or_insert_with(|| json!({"group": "", "version": "", "kind": ""}));
    }
}

/// The same from an `APIResourceList`. In Kubernetes: `ConvertGroupVersionIntoToDiscovery`.
fn from_list(list: &Value) -> Value {
    let (mut resources, mut places) = (Vec::<Value>::new(), BTreeMap::new());
    for listed in list.list("resources") {
        let kind =
            json!({"group": listed.text("group"), "version": listed.text("version"), "kind": listed.text("kind")});
        let scope = if listed.at("namespaced").as_bool() == Some(true) { "Namespaced" } else { "Cluster" };
        let (name, subresource) = match listed.text("name").split_once('/') {
            Some((name, subresource)) => (name, Some(subresource)),
            None => (listed.text("name"), None),
        };
        let at = *places.entry(name).or_insert_with(|| {
            resources.push(json!({"resource": name, "responseKind": {"group": "", "version": "", "kind": ""},
                "scope": scope, "singularResource": "", "verbs": []}));
            resources.len() - 1
        });
        let Some(resource) = resources.get_mut(at).and_then(Value::as_object_mut) else { continue };
        match subresource {
            Some(subresource) => {
                let subresources = resource.entry("subresources").or_insert_with(|| json!([]));
                let described = json!({"subresource": subresource, "responseKind": kind, "verbs": listed.at("verbs")});
                subresources.as_array_mut().into_iter().for_each(|all| all.push(described.clone()));
            }
            None => {
                resource.insert("responseKind".to_owned(), kind);
                resource.insert("singularResource".to_owned(), listed.text("singularName").into());
                for name in ["verbs", "shortNames", "categories"] {
                    if listed.at(name).is_array() {
                        resource.insert(name.to_owned(), listed.at(name).clone());
                    }
                }
            }
        }
    }
    resources.into()
}

/// The path of a server's OpenAPI v3 document.
fn v3_of(index: &Value, version: &GroupVersion) -> String {
    let name = format!("apis/{version}");
    index["paths"][name.as_str()].text("serverRelativeURL").to_owned()
}

/// The part of a server's OpenAPI v2 document about a group and version: its paths, and the definitions to which they
/// refer.
fn v2_of(document: &Value, version: &GroupVersion) -> Value {
    let (at, below) = (path(version), format!("{}/", path(version)));
    let all = document["paths"].as_object().cloned().unwrap_or_default();
    let paths: Map<String, Value> =
        all.into_iter().filter(|(path, _)| *path == at || path.starts_with(&below)).collect();
    let (mut definitions, mut open) = (Map::new(), BTreeSet::new());
    paths.values().for_each(|value| references(value, &mut open));
    while let Some(name) = open.pop_first() {
        let definition = &document["definitions"][name.as_str()];
        if !definition.is_null() && !definitions.contains_key(&name) {
            references(definition, &mut open);
            definitions.insert(name, definition.clone());
        }
    }
    json!({"paths": paths, "definitions": definitions})
}

fn references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let name = members.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix("#/definitions/"));
            names.extend(name.map(str::to_owned));
            members.values().for_each(|member| references(member, names));
        }
        Value::Array(elements) => elements.iter().for_each(|element| references(element, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_list_equals_the_aggregated_document() {
        let list = json!({"resources": [
            {"name": "fish", "singularName": "fish", "namespaced": true, "kind": "Fish", "verbs": ["get"], "shortNames": ["f"]},
            {"name": "fish/status", "singularName": "", "namespaced": true, "kind": "Fish", "verbs": ["update"]},
        ]});
        let kind = json!({"group": "", "version": "", "kind": "Fish"});
        let status = json!({"subresource": "status", "responseKind": kind, "verbs": ["update"]});
        let fish = json!([{"resource": "fish", "responseKind": kind, "scope": "Namespaced", "singularResource": "fish",
            "verbs": ["get"], "shortNames": ["f"], "subresources": [status]}]);
        assert_eq!(from_list(&list), fish);
    }

    #[test]
    fn of_another_servers_document_only_its_group_and_what_that_leads_to_is_taken() {
        let refer = |name: &str| json!({"$ref": format!("#/definitions/{name}")});
        let document = json!({
            "paths": {"/apis/g/v1/x": {"get": {"schema": refer("a")}}, "/apis/g/v10/x": {}, "/version": {"get": refer("c")}},
            "definitions": {"a": {"properties": {"b": refer("b")}}, "b": {"items": refer("a")}, "c": {}},
        });
        let taken = v2_of(&document, &GroupVersion::new("g", "v1"));
        let names = |of: &str| taken[of].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!((names("paths"), names("definitions")), (vec!["/apis/g/v1/x".into()], vec!["a".into(), "b".into()]));
    }
}
