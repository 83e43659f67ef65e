//! The documents that say which kinds are served.
//!
//! In Kubernetes: `endpoints/discovery` and `endpoints/discovery/aggregated`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use coracle_meta::{GroupVersion, Scope, Status};
use coracle_registry::{Kind, Kinds, Verb};
use coracle_schema::{SubresourceRow, Table};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::answer::negotiate::{AggregatedVersion, Format, Negotiated, Offer, aggregated_version, negotiate};
use crate::answer::respond;
use crate::server::Received;

/// The documents of one set of kinds, made when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    kinds_version: u64,
    documents: BTreeMap<(String, Option<AggregatedVersion>), Option<Arc<Document>>>,
}

#[derive(Debug)]
struct Document {
    /// The text in JSON, its members in the order in which people know them.
    json: String,
    etag: String,
}

impl Discovery {
    /// Answers `/api`, `/apis` and what is directly below; `None` for any other path.
    pub(crate) fn serve(
        &self,
        kinds: &Kinds,
        received: &Received,
        path: &str,
    ) -> Option<Result<Response<Body>, Status>> {
        let steps: Vec<&str> = path.trim_matches('/').split('/').collect();
        if !matches!(steps.as_slice(), ["api" | "apis"] | ["api", _] | ["apis", _] | ["apis", _, _]) {
            return None;
        }
        let aggregated = if steps.len() == 1 { aggregated_version(&received.headers) } else { None };
        let document = self.document(kinds, path.trim_matches('/'), aggregated)?;
        Some(answer(received, &document, aggregated))
    }

    fn document(&self, kinds: &Kinds, path: &str, aggregated: Option<AggregatedVersion>) -> Option<Arc<Document>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.kinds_version != kinds.version {
            *made = Made { kinds_version: kinds.version, documents: BTreeMap::new() };
        }
        let key = (path.to_owned(), aggregated);
        if let Some(known) = made.documents.get(&key) {
            return known.clone();
        }
        let document = json_at(kinds, path, aggregated).map(|json| {
            let digest = Sha256::digest(&json);
            let hex: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
            Arc::new(Document { json, etag: format!("\"{hex}\"") })
        });
        // Only what is there is remembered, so that made-up paths take no memory.
        if document.is_some() {
            made.documents.insert(key, document.clone());
        }
        document
    }
}

fn json_at(kinds: &Kinds, path: &str, aggregated: Option<AggregatedVersion>) -> Option<String> {
    let value = match (path.split('/').collect::<Vec<_>>().as_slice(), aggregated) {
        (["api"], Some(version)) => aggregated_list(kinds, version, true),
        (["apis"], Some(version)) => aggregated_list(kinds, version, false),
        (["api"], None) => core_versions(kinds),
        (["apis"], None) => {
            let groups = groups(kinds);
            let groups: Vec<_> = groups.iter().filter(|group| !group.name.is_empty()).map(Group::tell).collect();
            return serde_json::to_string(&ApiGroupList { kind: "APIGroupList", api_version: "v1", groups }).ok();
        }
        (["apis", name], _) => {
            let group = groups(kinds).into_iter().find(|group| !name.is_empty() && group.name == **name)?;
            let told = ApiGroup { kind: Some("APIGroup"), api_version: Some("v1"), ..group.tell() };
            return serde_json::to_string(&told).ok();
        }
        (["api", version], _) => resource_list(kinds, &GroupVersion::new("", *version))?,
        (["apis", group, version], _) => resource_list(kinds, &GroupVersion::new(*group, *version))?,
        _ => return None,
    };
    Some(value.to_string())
}

/// `metav1.APIGroupList`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroupList {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup>,
}

/// `metav1.APIGroup`
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: String,
    versions: Vec<ServedVersion>,
    preferred_version: Option<ServedVersion>,
}

/// `metav1.GroupVersionForDiscovery`
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServedVersion {
    group_version: String,
    version: String,
}

/// A group with its versions, the preferred first.
struct Group {
    name: String,
    versions: Vec<String>,
}

impl Group {
    fn tell(&self) -> ApiGroup {
        let versions = self.versions.iter().map(|version| ServedVersion {
            group_version: format!("{}/{version}", self.name),
            version: version.clone(),
        });
        let versions: Vec<_> = versions.collect();
        let preferred_version = versions.first().cloned();
        ApiGroup { kind: None, api_version: None, name: self.name.clone(), versions, preferred_version }
    }
}

/// The groups in the order of discovery: the built-in ones as the table has them, then those of custom kinds by name.
fn groups(kinds: &Kinds) -> Vec<Group> {
    let mut built_in: Vec<Group> = Vec::new();
    let mut custom: Vec<Group> = Vec::new();
    for kind in kinds.iter() {
        let gvk = kind.gvk();
        let known = built_in.iter_mut().chain(&mut custom).find(|group| group.name == gvk.group);
        match known {
            Some(group) if group.versions.contains(&gvk.version) => {}
            Some(group) => group.versions.push(gvk.version.clone()),
            None => {
                let group = Group { name: gvk.group.clone(), versions: vec![gvk.version.clone()] };
                if kind.is_custom() { custom.push(group) } else { built_in.push(group) }
            }
        }
    }
    // Kinds are registered in any order; the table has that of discovery.
    let order = Table::v1_35().group_versions();
    let place = |group: &str, version: &str| {
        order.iter().position(|known| known.group == group && (version.is_empty() || known.version == version))
    };
    built_in.sort_by_key(|group| place(&group.name, ""));
    for group in &mut built_in {
        let name = group.name.clone();
        group.versions.sort_by_key(|version| place(&name, version));
    }
    for group in &mut custom {
        group.versions.sort_by(|a, b| compare_versions(a, b));
    }
    custom.sort_by(|a, b| a.name.cmp(&b.name));
    built_in.extend(custom);
    built_in
}

/// `v2` before `v1` before `v1beta1`; what is no such version comes last, by its letters.
/// In Kubernetes: `version.CompareKubeAwareVersionStrings`, the greater first.
pub(crate) fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse_version(a), parse_version(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (alpha 0, beta 1, stable 2), which counts most, then the major and the minor version.
fn parse_version(text: &str) -> Option<(u8, u64, u64)> {
    let rest = text.strip_prefix('v')?;
    let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    let major = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (0, minor),
        (_, Some(minor)) => (1, minor),
        _ => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

fn core_versions(kinds: &Kinds) -> Value {
    let core = groups(kinds).into_iter().find(|group| group.name.is_empty());
    json!({
        "kind": "APIVersions",
        "versions": core.map(|group| group.versions).unwrap_or_default(),
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
    })
}

fn kinds_of<'a>(kinds: &'a Kinds, version: &GroupVersion) -> Vec<&'a Arc<Kind>> {
    let mut found: Vec<_> = kinds.iter().filter(|kind| kind.gvk().group_version() == *version).collect();
    found.sort_by(|a, b| a.row().plural.cmp(&b.row().plural));
    found
}

fn resource_list(kinds: &Kinds, version: &GroupVersion) -> Option<Value> {
    let found = kinds_of(kinds, version);
    if found.is_empty() {
        return None;
    }
    let mut resources: Vec<(String, Value)> = Vec::new();
    let mut are_custom = true;
    for kind in found {
        are_custom &= kind.is_custom();
        resources.push((kind.row().plural.clone(), api_resource(kind)));
        for subresource in &kind.row().subresources {
            let name = format!("{}/{}", kind.row().plural, subresource.name);
            resources.push((name.clone(), api_subresource(kind, subresource, &name)));
        }
    }
    // Groups of custom kinds list subresources as their rows do.
    if !are_custom {
        resources.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let resources: Vec<Value> = resources.into_iter().map(|(_, resource)| resource).collect();
    let mut list = json!({"kind": "APIResourceList", "groupVersion": version.to_string(), "resources": resources});
    if !version.group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn api_resource(kind: &Kind) -> Value {
    let row = kind.row();
    let mut resource = json!({
        "name": row.plural, "singularName": row.singular, "namespaced": row.scope == Scope::Namespaced,
        "kind": row.kind.kind, "verbs": verbs(kind),
    });
    set_names(&mut resource, kind);
    if kind.serves(Verb::List) && kind.serves(Verb::Create) {
        resource["storageVersionHash"] = storage_version_hash(kind).into();
    }
    resource
}

/// Custom resources list their verbs in an order of their own.
fn verbs(kind: &Kind) -> Vec<String> {
    let verbs = kind.row().verbs.clone();
    if kind.is_custom() {
        let order = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
        return order
            .iter()
            .filter(|verb| verbs.iter().any(|own| own == *verb))
            .map(|verb| (*verb).to_owned())
            .collect();
    }
    verbs
}

fn set_names(resource: &mut Value, kind: &Kind) {
    let row = kind.row();
    if !row.short_names.is_empty() {
        resource["shortNames"] = row.short_names.clone().into();
    }
    if !row.categories.is_empty() {
        resource["categories"] = row.categories.clone().into();
    }
}

/// In Kubernetes: `discovery.StorageVersionHash`; the core group stands before the slash as nothing.
fn storage_version_hash(kind: &Kind) -> String {
    let GroupVersion { group, version } = &kind.row().storage_version;
    base64(&Sha256::digest(format!("{group}/{version}/{}", kind.gvk().kind))[..8])
}

/// Base64 of eight bytes and the like; there is too little of it for a crate.
fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sign = SIGNS[(number >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= chunk.len() { char::from(sign) } else { '=' });
        }
    }
    out
}

/// Whether the kind of a subresource is of another group or version than its parent.
fn is_foreign(kind: &Kind, subresource: &SubresourceRow) -> bool {
    subresource.foreign && subresource.kind.group_version() != kind.gvk().group_version()
}

fn api_subresource(kind: &Kind, subresource: &SubresourceRow, name: &str) -> Value {
    let mut resource = json!({
        "name": name, "singularName": "", "namespaced": kind.is_namespaced(),
        "kind": subresource.kind.kind, "verbs": subresource.verbs,
    });
    if is_foreign(kind, subresource) {
        resource["group"] = subresource.kind.group.as_str().into();
        resource["version"] = subresource.kind.version.as_str().into();
    }
    resource
}

fn aggregated_list(kinds: &Kinds, version: AggregatedVersion, core: bool) -> Value {
    let groups = groups(kinds);
    let items = groups.iter().filter(|group| group.name.is_empty() == core).map(|group| {
        let versions = group.versions.iter().map(|version| {
            let group_version = GroupVersion::new(group.name.as_str(), version.as_str());
            let found = kinds_of(kinds, &group_version);
            let resources: Vec<Value> = found.into_iter().map(|kind| aggregated_resource(kind)).collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        });
        let metadata = if core { json!({}) } else { json!({"name": group.name}) };
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": version.api_version(), "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

fn aggregated_resource(kind: &Kind) -> Value {
    let row = kind.row();
    let scope = if row.scope == Scope::Namespaced { "Namespaced" } else { "Cluster" };
    let own = if kind.is_custom() { (row.kind.group.as_str(), row.kind.version.as_str()) } else { ("", "") };
    let mut resource = json!({
        "resource": row.plural, "singularResource": row.singular, "scope": scope, "verbs": verbs(kind),
        "responseKind": {"group": own.0, "version": own.1, "kind": row.kind.kind},
    });
    set_names(&mut resource, kind);
    let subresources = row.subresources.iter().map(|subresource| {
        let own = if is_foreign(kind, subresource) || kind.is_custom() {
            (subresource.kind.group.as_str(), subresource.kind.version.as_str())
        } else {
            ("", "")
        };
        json!({
            "subresource": subresource.name, "verbs": subresource.verbs,
            "responseKind": {"group": own.0, "version": own.1, "kind": subresource.kind.kind},
        })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        resource["subresources"] = subresources.into();
    }
    resource
}

fn answer(
    received: &Received,
    document: &Document,
    aggregated: Option<AggregatedVersion>,
) -> Result<Response<Body>, Status> {
    let mut response = if aggregated.is_some() && matches(&received.headers, &document.etag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else if let Some(version) = aggregated {
        let mut response = respond::bytes(StatusCode::OK, Format::Json, format!("{}\n", document.json));
        let media_type = HeaderValue::from_static(version.media_type());
        response.headers_mut().insert(http::header::CONTENT_TYPE, media_type);
        response
    } else {
        let offer = Offer { formats: &Format::ALL, transforms: false, lists: false };
        let how = negotiate(&received.headers, &received.query, offer)?;
        if how == Negotiated::JSON {
            respond::bytes(StatusCode::OK, Format::Json, format!("{}\n", document.json))
        } else {
            let value: Value = serde_json::from_str(&document.json).unwrap_or_default();
            respond::value(StatusCode::OK, &value, how)
        }
    };
    let headers = response.headers_mut();
    if aggregated.is_some() {
        if let Ok(etag) = HeaderValue::from_str(&document.etag) {
            headers.insert(http::header::ETAG, etag);
        }
        headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public"));
    }
    headers.insert(http::header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// Whether the client has this document already.
pub(crate) fn matches(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(http::header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|known| known.trim().trim_start_matches("W/") == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = ["foo10", "v1beta1", "v3", "foo1", "v11alpha2", "v10", "v12alpha1", "v11beta2", "v2", "v1"];
        versions.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(
            versions,
            ["v10", "v3", "v2", "v1", "v11beta2", "v1beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
        );
    }

    #[test]
    fn the_hash_of_a_storage_version_is_the_one_clients_know() {
        let digest = Sha256::digest("/v1/Pod");
        assert_eq!(base64(&digest[..8]), "xPOwRZ+Yhw8=");
    }

    #[test]
    fn a_group_prefers_its_first_version() {
        let group = Group { name: "autoscaling".into(), versions: vec!["v2".into(), "v1".into()] };
        assert_eq!(group.tell().preferred_version.unwrap().group_version, "autoscaling/v2");
    }
}
