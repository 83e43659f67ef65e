use coracle_ambient::Timestamp;
use serde_json::Value;

use super::definition::ColumnDefinition;
use super::json_path::JsonPath;
use crate::table::{self, Column, TableColumn};

/// The table of a custom kind: the name, and the columns of its definition, or the age if there are none.
/// In Kubernetes: `customresource/tableconvertor`.
pub(super) fn columns(definitions: &[ColumnDefinition]) -> Vec<TableColumn> {
    let mut columns = vec![TableColumn::name()];
    if definitions.is_empty() {
        let age = Column { kind: "date".into(), ..Column::age() };
        columns.push(column(age, ".metadata.creationTimestamp"));
    }
    columns.extend(definitions.iter().map(|definition| {
        let description = match definition.description.as_str() {
            "" => format!("Custom resource definition column (in JSONPath format): {}", definition.json_path),
            description => description.to_owned(),
        };
        let heading = Column {
            name: definition.name.clone().into(),
            kind: definition.kind.clone().into(),
            format: definition.format.clone().into(),
            description: description.into(),
            priority: definition.priority,
        };
        column(heading, &definition.json_path)
    }));
    columns
}

/// A column with the first value at a path.
fn column(heading: Column, path: &str) -> TableColumn {
    let (kind, path) = (heading.kind.clone(), JsonPath::parse(path).ok());
    TableColumn::new(heading, move |object, now| {
        let found = path.as_ref().and_then(|path| path.find(object.as_value()).into_iter().next());
        found.map_or(Value::Null, |found| cell(&kind, found, now))
    })
}

/// The cell of a value; null for a value of another type than the column's.
fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("integer", Value::Number(number)) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or(0.0) as i64),
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) | ("string", Value::String(_)) => value.clone(),
        ("string", Value::Null) => Value::from(""),
        ("string", other) => Value::from(other.to_string()),
        ("date", Value::String(time)) => Value::from(table::since(time, now)),
        _ => Value::Null,
    }
}
