use serde_json::{Map, Value};

use super::node::{Additional, Structural};

impl Structural {
    /// Sets the defaults of missing fields, and of null fields that are not nullable. Other nulls stay.
    /// In Kubernetes: `defaulting.Default`.
    pub fn default_fields(&self, fields: &mut Map<String, Value>) {
        fill_in(fields, self);
    }

    /// Drops the nulls that are not nullable and have no default. A decoder does this, and an apply does not.
    /// In Kubernetes: `defaulting.PruneNonNullableNullsWithoutDefaults`.
    pub fn drop_nulls(&self, fields: &mut Map<String, Value>) {
        drop_nulls(fields, Some(self));
    }

    fn takes_no_null(&self) -> bool {
        !self.nullable
    }
}

fn drop_nulls(fields: &mut Map<String, Value>, schema: Option<&Structural>) {
    fields.retain(|name, value| {
        let below = schema.and_then(|schema| schema.field(name));
        if value.is_null() && below.is_some_and(|below| below.takes_no_null() && below.default.is_none()) {
            return false;
        }
        drop_nulls_in(value, below);
        true
    });
}

fn drop_nulls_in(value: &mut Value, schema: Option<&Structural>) {
    match value {
        Value::Object(fields) => drop_nulls(fields, schema),
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.items.as_deref());
            items.iter_mut().for_each(|item| drop_nulls_in(item, below));
        }
        _ => {}
    }
}

fn fill_in(fields: &mut Map<String, Value>, schema: &Structural) {
    for (name, below) in &schema.properties {
        let Some(default) = &below.default else { continue };
        match fields.get(name) {
            None => {}
            Some(Value::Null) if below.takes_no_null() => {}
            Some(_) => continue,
        }
        fields.insert(name.clone(), default.clone());
    }
    for (name, value) in fields {
        match (schema.properties.get(name), &schema.additional) {
            (Some(below), _) => fill_in_value(value, below),
            (None, Additional::Schema(below)) => {
                replace_null(value, below);
                fill_in_value(value, below);
            }
            (None, _) => {}
        }
    }
}

fn fill_in_value(value: &mut Value, schema: &Structural) {
    match (value, &schema.items) {
        (Value::Object(fields), _) => fill_in(fields, schema),
        (Value::Array(items), Some(below)) => {
            for item in items {
                replace_null(item, below);
                fill_in_value(item, below);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Structural) {
    if value.is_null() && schema.takes_no_null() {
        *value = schema.default.clone().unwrap_or(Value::Null);
    }
}
