use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_client::{Client, Error};
use coracle_expression::{Object, Order, Schema, SchemaField, Shape, escaped};
use coracle_meta::fields::Fields;
use coracle_meta::{GroupVersion, GroupVersionKind};
use serde_json::Value;

/// The schemas of kinds, from the OpenAPI documents that the server publishes; each is read once. In Kubernetes:
/// `resolver.ClientDiscoveryResolver`.
pub(super) struct Schemas<'c> {
    client: &'c Client,
    documents: BTreeMap<GroupVersion, Value>,
}

impl<'c> Schemas<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client, documents: BTreeMap::new() }
    }

    /// The schema of a kind; `None` if none is published.
    pub(super) async fn of(&mut self, kind: &GroupVersionKind) -> Result<Option<Arc<Schema>>, Error> {
        let version = GroupVersion::new(kind.group.as_str(), kind.version.as_str());
        if !self.documents.contains_key(&version) {
            let path = match kind.group.as_str() {
                "" => format!("/openapi/v3/api/{}", kind.version),
                group => format!("/openapi/v3/apis/{group}/{}", kind.version),
            };
            let document = match self.client.get_path(&path).await {
                Err(Error::Api(status)) if status.is_not_found() => Value::Null,
                document => document?,
            };
            self.documents.insert(version.clone(), document);
        }
        Ok(self.documents.get(&version).and_then(|document| schema_in(document, kind)).map(Arc::new))
    }
}

/// The schema of a kind in an OpenAPI v3 document. In Kubernetes: `common.SchemaDeclType`.
pub(super) fn schema_in(document: &Value, kind: &GroupVersionKind) -> Option<Schema> {
    let is_kind = |named: &Value| {
        (named.text("group"), named.text("version"), named.text("kind"))
            == (kind.group.as_str(), kind.version.as_str(), kind.kind.as_str())
    };
    let of_kind = |schema: &&Value| {
        let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        kinds.is_some_and(|kinds| kinds.iter().any(is_kind))
    };
    let schemas = document.pointer("/components/schemas")?;
    let found = schemas.as_object()?.values().find(of_kind)?;
    Reader { schemas, within: Vec::new() }.read(found, true, &kind.kind)
}

struct Reader<'d> {
    schemas: &'d Value,
    /// The names of the schemas being read: recursion ends at a schema that refers to itself.
    within: Vec<&'d str>,
}

impl<'d> Reader<'d> {
    fn read(&mut self, schema: &'d Value, is_resource: bool, name: &str) -> Option<Schema> {
        let Some(reference) = reference(schema) else { return self.read_here(schema, is_resource, name) };
        if self.within.contains(&reference) {
            return None;
        }
        self.within.push(reference);
        let read = self.read_here(self.schemas.get(reference)?, is_resource, name);
        self.within.pop();
        read
    }

    fn read_here(&mut self, schema: &'d Value, is_resource: bool, name: &str) -> Option<Schema> {
        if schema.text("format") == "int-or-string"
            || schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true))
        {
            return Some(Schema::new(Shape::Any));
        }
        Some(Schema::new(match schema.text("type") {
            "array" => {
                Shape::List(Arc::new(self.read(schema.get("items")?, false, &format!("{name}.@idx"))?), order(schema))
            }
            "object" => match schema.get("additionalProperties").filter(|values| values.is_object()) {
                Some(values) => Shape::Map(Arc::new(self.read(values, false, &format!("{name}.@elem"))?)),
                None => Shape::Object(self.object(schema, is_resource, name)),
            },
            "string" => match schema.text("format") {
                "byte" => Shape::Bytes,
                "duration" => Shape::Duration,
                "date" => Shape::Date,
                "date-time" => Shape::Timestamp,
                _ => Shape::String,
            },
            "boolean" => Shape::Bool,
            "number" => Shape::Double,
            "integer" => Shape::Int,
            _ => return None,
        }))
    }

    fn object(&mut self, schema: &'d Value, is_resource: bool, name: &str) -> Object {
        let mut fields = BTreeMap::new();
        for (key, below) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let shown = escaped(key);
            if let Some(below) = self.read(below, false, &format!("{name}.{shown}")) {
                fields.insert(shown, field(key, below));
            }
        }
        if is_resource {
            for key in ["kind", "apiVersion"] {
                fields.entry(key.to_owned()).or_insert_with(|| field(key, Schema::new(Shape::String)));
            }
            fields.entry("metadata".to_owned()).or_insert_with(|| {
                let names =
                    ["name", "generateName"].map(|key| (key.to_owned(), field(key, Schema::new(Shape::String))));
                let metadata = Object { name: format!("{name}.metadata"), fields: names.into() };
                field("metadata", Schema::new(Shape::Object(metadata)))
            });
        }
        Object { name: name.to_owned(), fields }
    }
}

fn field(key: &str, schema: Schema) -> SchemaField {
    SchemaField { key: key.to_owned(), schema: Arc::new(schema), is_required: false }
}

/// The name of the schema that a `$ref` refers to, possibly wrapped with a description.
fn reference(schema: &Value) -> Option<&str> {
    let own = schema.get("$ref").and_then(Value::as_str);
    let mut wrapped = schema.list("allOf").iter().filter_map(|schema| schema.get("$ref").and_then(Value::as_str));
    own.or_else(|| wrapped.next())?.strip_prefix("#/components/schemas/")
}

fn order(schema: &Value) -> Order {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Order::Any,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).into_iter().flatten();
            Order::Keyed(keys.filter_map(Value::as_str).map(escaped).collect())
        }
        _ => Order::Fixed,
    }
}
