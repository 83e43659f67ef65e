use std::sync::Arc;

use coracle_meta::{GroupVersionKind, GroupVersionResource, Object, Scope};
use coracle_schema::structural::Structural;
use serde_json::Value;

use crate::{ConversionWebhook, Scale};

/// The field manager of the API server for the status of definitions.
pub(super) const MANAGER: &str = "kube-apiserver";

/// The resource of definitions.
pub(super) fn resource() -> GroupVersionResource {
    GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

/// A definition of a kind, read from its object. Missing parts are empty: definitions are validated elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// The name of the object.
    pub name: String,
    pub group: String,
    pub scope: Scope,
    pub names: Names,
    pub versions: Vec<Version>,
    /// The generation of the object.
    pub generation: i64,
    /// Whether it is terminating, so that no objects can be created.
    pub is_terminating: bool,
    /// The conversion webhook, if a change of `apiVersion` does not suffice.
    pub conversion: Option<Arc<ConversionWebhook>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Version {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    /// The warning of a deprecated version.
    pub deprecation: Option<String>,
    pub schema: Arc<Structural>,
    /// The schema as in the definition.
    pub published: Value,
    pub has_status: bool,
    pub scale: Option<Scale>,
    pub columns: Vec<ColumnDefinition>,
    /// Paths without their leading dot.
    pub selectable: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct ColumnDefinition {
    pub name: String,
    pub kind: String,
    pub format: String,
    pub description: String,
    pub priority: i32,
    pub json_path: String,
}

fn text(value: &Value, path: &str) -> String {
    value.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned()
}

fn texts(value: &Value, path: &str) -> Vec<String> {
    list(value, path).iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

pub(super) fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    value.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The steps of a path such as `.spec.replicas`.
pub(super) fn steps(path: &str) -> Vec<String> {
    path.trim_start_matches('.').split('.').map(str::to_owned).collect()
}

impl Definition {
    /// Reads a definition.
    pub(super) fn read(object: &Object) -> Self {
        let value = object.as_value();
        Self {
            name: object.name().to_owned(),
            group: text(value, "/spec/group"),
            scope: if text(value, "/spec/scope") == "Namespaced" { Scope::Namespaced } else { Scope::Cluster },
            names: Names {
                plural: text(value, "/spec/names/plural"),
                singular: text(value, "/spec/names/singular"),
                kind: text(value, "/spec/names/kind"),
                list_kind: text(value, "/spec/names/listKind"),
                short_names: texts(value, "/spec/names/shortNames"),
                categories: texts(value, "/spec/names/categories"),
            },
            versions: list(value, "/spec/versions").iter().map(Version::read).collect(),
            generation: object.generation(),
            is_terminating: list(value, "/status/conditions")
                .iter()
                .any(|condition| condition["type"] == "Terminating" && condition["status"] == "True"),
            conversion: value.pointer("/spec/conversion").and_then(ConversionWebhook::read).map(Arc::new),
        }
    }

    /// The kind in a version.
    pub(super) fn kind(&self, version: &str) -> GroupVersionKind {
        GroupVersionKind::new(self.group.as_str(), version, self.names.kind.as_str())
    }

    /// The resource in a version.
    pub(super) fn resource(&self, version: &str) -> GroupVersionResource {
        GroupVersionResource::new(self.group.as_str(), version, self.names.plural.as_str())
    }

    /// The version in which objects are stored.
    pub(super) fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }
}

impl Version {
    fn read(version: &Value) -> Self {
        let flag = |path: &str| version.pointer(path).and_then(Value::as_bool).unwrap_or(false);
        let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        Self {
            name: text(version, "/name"),
            served: flag("/served"),
            storage: flag("/storage"),
            deprecation: flag("/deprecated").then(|| text(version, "/deprecationWarning")),
            schema: Arc::new(Structural::from_json(schema)),
            published: schema.clone(),
            has_status: version.pointer("/subresources/status").is_some_and(|status| !status.is_null()),
            scale: version.pointer("/subresources/scale").filter(|scale| scale.is_object()).map(read_scale),
            columns: list(version, "/additionalPrinterColumns").iter().map(ColumnDefinition::read).collect(),
            selectable: list(version, "/selectableFields")
                .iter()
                .map(|field| text(field, "/jsonPath").trim_start_matches('.').to_owned())
                .collect(),
        }
    }
}

fn read_scale(scale: &Value) -> Scale {
    let selector = text(scale, "/labelSelectorPath");
    let selector = (!selector.is_empty()).then(|| steps(&selector));
    Scale::at(steps(&text(scale, "/specReplicasPath")), steps(&text(scale, "/statusReplicasPath")), selector)
}

impl ColumnDefinition {
    fn read(column: &Value) -> Self {
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
        Self {
            name: text(column, "/name"),
            kind: text(column, "/type"),
            format: text(column, "/format"),
            description: text(column, "/description"),
            priority: i32::try_from(priority).unwrap_or(0),
            json_path: text(column, "/jsonPath"),
        }
    }
}
