use coracle_meta::{GroupVersion, Scope};
use coracle_yaml::YamlNode;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::LabAnswer;
use crate::clusters::Clusters;
use crate::error::LabError;
use crate::lab_cluster::LabCluster;
use crate::message::Message;
use crate::request::{Asked, send};

/// The name of a manifest in messages.
const FILE: &str = "manifest.yaml";
/// The field manager of applied manifests, as of `kubectl apply --server-side`.
const MANAGER: &str = "kubectl";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Applied {
    manifest: String,
    /// The namespace of objects without one.
    #[serde(default = "default_namespace")]
    namespace: String,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    dry_run: bool,
}

fn default_namespace() -> String {
    "default".to_owned()
}

/// An object of a manifest.
struct Document {
    /// The line on which it begins.
    line: u64,
    object: Value,
}

/// Applies the objects of a manifest on the server, in their order. The first that is refused ends it; those before it
/// are applied.
pub(crate) fn answer(clusters: &mut Clusters, message: Message) -> Result<LabAnswer, LabError> {
    let cluster = clusters.cluster(&message.cluster)?;
    let applied: Applied = message.fields()?;
    let mut objects = Vec::new();
    for document in documents(&applied.manifest)? {
        let at = |error: LabError| error.at(FILE, document.line);
        let path = path(cluster, &document.object, &applied.namespace).map_err(at)?;
        let dry_run = if applied.dry_run { "&dryRun=All" } else { "" };
        let path = format!(
            "{path}?fieldManager={MANAGER}&fieldValidation=Strict&force={force}{dry_run}",
            force = applied.force
        );
        let mut asked = Asked::new(&Method::PATCH, path, document.object);
        asked.headers.insert("content-type".to_owned(), "application/apply-patch+yaml".to_owned());
        let answered = send(cluster, &asked).map_err(at)?;
        let is_new = answered.status == 201;
        objects.push(json!({"line": document.line, "created": is_new, "object": answered.taken().map_err(at)?}));
    }
    let mut answer = cluster.state();
    answer["objects"] = Value::Array(objects);
    Ok(answer.into())
}

/// The objects of a text; a `List` becomes its items.
fn documents(text: &str) -> Result<Vec<Document>, LabError> {
    let nodes = YamlNode::parse_all(text).map_err(|error| LabError::new(error.to_string()).at(FILE, error.line))?;
    let mut documents = Vec::new();
    for node in nodes {
        let (line, object) = (node.line(), Value::from(&node));
        match object.get("items").and_then(Value::as_array) {
            Some(items) if object["kind"] == "List" => {
                documents.extend(items.iter().map(|item| Document { line, object: item.clone() }));
            }
            _ => documents.push(Document { line, object }),
        }
    }
    if documents.is_empty() { Err(LabError::new("the manifest has no object").at(FILE, 1)) } else { Ok(documents) }
}

/// The path of an object.
fn path(cluster: &LabCluster, object: &Value, namespace: &str) -> Result<String, LabError> {
    let text = |place: &str| object.pointer(place).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    for (field, value) in [("apiVersion", api_version), ("kind", kind), ("metadata.name", name)] {
        if value.is_empty() {
            return Err(LabError::new(format!("the object has no `{field}`")));
        }
    }
    let kinds = cluster.cluster().registry().kinds();
    let found = GroupVersion::parse(api_version).and_then(|version| kinds.kind(&version.kind(kind)));
    let missing = || LabError::new(format!("no matches for kind \"{kind}\" in version \"{api_version}\""));
    let row = found.ok_or_else(missing)?.row().clone();
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let namespace = match text("/metadata/namespace") {
        "" => namespace,
        own => own,
    };
    let within = match row.scope {
        Scope::Namespaced => format!("/namespaces/{namespace}"),
        Scope::Cluster => String::new(),
    };
    Ok(format!("{root}/{api_version}{within}/{}/{name}", row.plural))
}
