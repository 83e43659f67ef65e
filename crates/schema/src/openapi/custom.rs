//! The published schemas of custom kinds, in both versions of OpenAPI.

use serde_json::{Map, Value, json};

use super::dialect::Dialect;
use super::structural::structural;
use super::{Descriptions, META, Published, type_name};
use crate::table::Table;

/// The types to which custom kinds refer.
pub(super) const REFERRED: [&str; 2] =
    ["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"];

/// The kind whose descriptions of `apiVersion`, `kind` and `metadata` are used.
const DEFINITION: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
/// The kind whose metadata has the type of list metadata.
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const API_VERSION: &str = "the group and version that the object is written in";
const KIND: &str = "the kind of the object";
const METADATA: &str = "standard metadata";

const UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const GROUP_VERSION_KIND: &str = "x-kubernetes-group-version-kind";

/// Groups without a Go client, which Kubernetes' server of custom kinds does not know.
const UNKNOWN_GROUPS: [&str; 4] =
    ["admission.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "imagepolicy.k8s.io"];

/// Adds the schema of a custom kind and of lists of it. In Kubernetes: `buildKubeNative`, `buildListSchema`.
pub(super) fn add_kind(
    table: &Table,
    published: &Published<'_>,
    dialect: Dialect,
    descriptions: &dyn Descriptions,
    out: &mut Map<String, Value>,
) {
    let row = published.row;
    let words = Words { descriptions, dialect };
    let (name, list_name) = (type_name(table, row, &row.kind.kind), type_name(table, row, &row.list_kind));
    let kind = |kind: &str| json!([{"group": row.kind.group, "version": row.kind.version, "kind": kind}]);
    let mut object = words.object(published.schema.unwrap_or(&Value::Null));
    object[GROUP_VERSION_KIND] = kind(&row.kind.kind);
    let items = json!({"type": "array", "description": "the objects", "items": {"$ref": dialect.name(&name)}});
    let mut list = json!({
        "description": format!("{} is a list of {}", row.list_kind, row.kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {"items": items, "metadata": words.reference("ListMeta", STATUS, "metadata", METADATA)},
        GROUP_VERSION_KIND: kind(&row.list_kind),
    });
    words.add_type(&mut list);
    if !published.selectable.is_empty() {
        let fields = published.selectable.iter().map(|path| json!({"fieldPath": path}));
        let fields: Value = fields.collect();
        object["x-kubernetes-selectable-fields"] = fields.clone();
        list["x-kubernetes-selectable-fields"] = fields;
    }
    out.insert(name, object);
    out.insert(list_name, list);
}

/// Removes kinds of a type that are not in documents of custom kinds (there is a `DeleteOptions` in every group).
pub(super) fn forget_unknown_groups(schema: &mut Value) {
    let is_known = |kind: &Value| !kind["group"].as_str().is_some_and(|group| UNKNOWN_GROUPS.contains(&group));
    if let Some(Value::Array(kinds)) = schema.get_mut(GROUP_VERSION_KIND) {
        kinds.retain(is_known);
    }
}

/// The source of the descriptions of common fields.
struct Words<'a> {
    descriptions: &'a dyn Descriptions,
    dialect: Dialect,
}

impl Words<'_> {
    /// In v2, a kind that accepts any field is published as an object without further schema, because kubectl would
    /// refuse fields that are not listed.
    fn object(&self, schema: &Value) -> Value {
        let Some(schema) = schema.as_object().filter(|schema| !schema.is_empty()) else {
            return json!({"type": "object"});
        };
        if self.dialect == Dialect::V2 && schema.get(UNKNOWN) == Some(&Value::Bool(true)) {
            return json!({"type": "object"});
        }
        let mut out = structural(schema, self.dialect);
        out["properties"]["metadata"] = self.reference("ObjectMeta", DEFINITION, "metadata", METADATA);
        self.add_type(&mut out);
        self.embed(&mut out);
        out
    }

    fn describe(&self, ty: &str, field: &str, otherwise: &str) -> String {
        let found = self.descriptions.describe(ty, Some(field));
        if found.is_empty() { otherwise.to_owned() } else { found }
    }

    /// A reference with a description: in v3, a `$ref` must not have siblings.
    fn reference(&self, ty: &str, of: &str, field: &str, otherwise: &str) -> Value {
        let target = json!({"$ref": self.dialect.name(&format!("{META}.{ty}"))});
        let description = self.describe(of, field, otherwise);
        match self.dialect {
            Dialect::V2 => json!({"$ref": target["$ref"], "description": description}),
            Dialect::V3 => json!({"allOf": [target], "description": description}),
        }
    }

    fn add_type(&self, object: &mut Value) {
        let api_version = self.describe(DEFINITION, "apiVersion", API_VERSION);
        object["properties"]["apiVersion"] = json!({"type": "string", "description": api_version});
        let kind = self.describe(DEFINITION, "kind", KIND);
        object["properties"]["kind"] = json!({"type": "string", "description": kind});
    }

    /// Embedded resources have the common fields, unless kubectl would then refuse their other fields.
    fn embed(&self, schema: &mut Value) {
        let Some(fields) = schema.as_object_mut() else { return };
        if let Some(Value::Object(properties)) = fields.get_mut("properties") {
            properties.values_mut().for_each(|property| self.embed(property));
        }
        for name in ["items", "additionalProperties"] {
            fields.get_mut(name).into_iter().for_each(|below| self.embed(below));
        }
        let says = |name: &str| fields.get(name) == Some(&Value::Bool(true));
        if !says("x-kubernetes-embedded-resource") || self.dialect == Dialect::V2 && says(UNKNOWN) {
            return;
        }
        self.add_type(schema);
        schema["properties"]["metadata"] = self.reference("ObjectMeta", DEFINITION, "metadata", METADATA);
        let mut required = schema["required"].as_array().cloned().unwrap_or_default();
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known == name) {
                required.push(name.into());
            }
        }
        schema["required"] = required.into();
    }
}
