use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use super::definition::ColumnDefinition;
use super::json_path::JsonPath;
use crate::table::{self, Column};

/// The table of a custom kind: its name, and the columns that its definition adds, or else its age.
/// In Kubernetes: `customresource/tableconvertor`.
#[derive(Debug)]
pub(super) struct Columns {
    added: Vec<(Column, Option<JsonPath>)>,
}

impl Columns {
    pub(super) fn new(definitions: &[ColumnDefinition]) -> Self {
        if definitions.is_empty() {
            let created = table::default_columns().pop().map(|column| column.description).unwrap_or_default();
            let age = Column::new("Age", "date", &created);
            return Self { added: vec![(age, JsonPath::parse(".metadata.creationTimestamp").ok())] };
        }
        let column = |definition: &ColumnDefinition| {
            let description = match definition.description.as_str() {
                "" => format!("Custom resource definition column (in JSONPath format): {}", definition.json_path),
                description => description.to_owned(),
            };
            let column = Column {
                name: definition.name.clone(),
                kind: definition.kind.clone(),
                format: definition.format.clone(),
                description,
                priority: definition.priority,
            };
            (column, JsonPath::parse(&definition.json_path).ok())
        };
        Self { added: definitions.iter().map(column).collect() }
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        std::iter::once(Column::name()).chain(self.added.iter().map(|(column, _)| column.clone())).collect()
    }

    pub(super) fn cells(&self, object: &Object, now: Timestamp) -> Vec<Value> {
        let value = object.as_value();
        let cell = |(column, path): &(Column, Option<JsonPath>)| {
            let found = path.as_ref().and_then(|path| path.find(value).into_iter().next());
            found.map_or(Value::Null, |found| cell(&column.kind, found, now))
        };
        std::iter::once(Value::from(object.name())).chain(self.added.iter().map(cell)).collect()
    }
}

/// A value as its column shows it; null for one that is not of the column's type.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or(0.0) as i64),
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => value.clone(),
        ("string", Value::Null) => Value::from(""),
        ("string", other) => Value::from(other.to_string()),
        ("date", Value::String(time)) => Value::from(table::age(time, now)),
        _ => Value::Null,
    }
}
