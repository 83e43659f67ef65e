use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_expression::{Environment, Object, Order, Schema, SchemaField, Shape, Type, escaped};
use coracle_schema::ListKind;
use coracle_schema::structural::{Rule, Structural, ValueType};
use serde_json::Value;

/// The part of a schema that rules can access; `None` if rules can access nothing, such as for any value.
/// In Kubernetes: `model.SchemaDeclType`.
pub(super) fn rule_schema(schema: &Structural, is_resource: bool) -> Option<Schema> {
    typed(schema, is_resource, "selfType")
}

/// The variables of a rule.
pub(super) fn environment(rule: &Rule, schema: &Arc<Schema>) -> Environment {
    let of = schema.as_type();
    let old = if rule.optional_old_self == Some(true) { Type::optional(of.clone()) } else { of.clone() };
    Environment::new().with("self", of).with("oldSelf", old)
}

fn typed(schema: &Structural, is_resource: bool, name: &str) -> Option<Schema> {
    let limits = &schema.constraints;
    if schema.int_or_string {
        return Some(Schema::new(Shape::Any).with_largest(limits.max_length));
    }
    Some(match schema.value_type? {
        ValueType::Array => {
            let items = schema.items.as_ref()?;
            let items = typed(items, items.embedded_resource, &format!("{name}.@idx"))?;
            let order = match schema.list_kind() {
                ListKind::Set => Order::Any,
                ListKind::Map { keys } => Order::Keyed(keys.iter().map(|key| escaped(key)).collect()),
                ListKind::Atomic { .. } => Order::Fixed,
            };
            Schema::new(Shape::List(Arc::new(items), order)).with_largest(limits.max_items)
        }
        ValueType::Object => match schema.additional.schema().filter(|_| !is_resource) {
            Some(values) => {
                let values = typed(values, values.embedded_resource, &format!("{name}.@elem"))?;
                Schema::new(Shape::Map(Arc::new(values))).with_largest(limits.max_properties)
            }
            None => Schema::new(Shape::Object(object(schema, is_resource, name))),
        },
        ValueType::String => text(schema),
        ValueType::Boolean => Schema::new(Shape::Bool),
        ValueType::Number => Schema::new(Shape::Double),
        ValueType::Integer => Schema::new(Shape::Int),
    })
}

fn text(schema: &Structural) -> Schema {
    let limits = &schema.constraints;
    match limits.format.as_str() {
        "byte" => Schema::new(Shape::Bytes).with_largest(limits.max_length),
        "duration" => Schema::new(Shape::Duration),
        "date" => Schema::new(Shape::Date),
        "date-time" => Schema::new(Shape::Timestamp),
        _ => {
            let text = Schema::new(Shape::String).with_largest(limits.max_length);
            match limits.values.as_ref().filter(|values| !values.listed().is_empty() && limits.max_length.is_none()) {
                Some(values) => {
                    let longest = values.listed().iter().filter_map(Value::as_str).map(str::len).max().unwrap_or(0);
                    text.with_longest(longest as u64)
                }
                None => text,
            }
        }
    }
}

fn object(schema: &Structural, is_resource: bool, name: &str) -> Object {
    let required: BTreeSet<&String> = schema.constraints.required.iter().collect();
    let mut fields = BTreeMap::new();
    for (key, below) in &schema.properties {
        let escaped = escaped(key);
        if let Some(below_schema) = typed(below, below.embedded_resource, &format!("{name}.{escaped}")) {
            let is_required = required.contains(key) && below.default.is_none();
            fields.insert(escaped, SchemaField { key: key.clone(), schema: Arc::new(below_schema), is_required });
        }
    }
    if is_resource {
        of_every_resource(&mut fields, name);
    }
    Object { name: name.to_owned(), fields }
}

/// Rules can access the type and the names of a resource, and no other metadata.
fn of_every_resource(fields: &mut BTreeMap<String, SchemaField>, name: &str) {
    let plain = |key: &str| SchemaField {
        key: key.to_owned(),
        schema: Arc::new(Schema::new(Shape::String)),
        is_required: false,
    };
    let has = |fields: &BTreeMap<String, SchemaField>, key: &str| {
        fields.get("metadata").is_some_and(|field| field.schema.field(key).is_some())
    };
    let is_declared = fields.contains_key("kind") && fields.contains_key("apiVersion");
    if is_declared && has(fields, "name") && has(fields, "generateName") {
        return;
    }
    for key in ["kind", "apiVersion"] {
        fields.insert(key.to_owned(), plain(key));
    }
    let names = ["name", "generateName"].map(|key| (key.to_owned(), plain(key)));
    let metadata = Object { name: format!("{name}.metadata"), fields: BTreeMap::from(names) };
    let schema = Arc::new(Schema::new(Shape::Object(metadata)));
    fields.insert("metadata".to_owned(), SchemaField { key: "metadata".to_owned(), schema, is_required: false });
}
