//! What the expressions of mutating policies compute: apply configurations and JSON patches.
//!
//! In Kubernetes: `apiserver/pkg/admission/plugin/policy/mutating/patch`, and the conversions of
//! `apiserver/pkg/cel/mutation`.

use std::sync::Arc;

use serde_json::{Map as Fields, Number, Value as Json};

use crate::expression::{Error, EvaluationResult, Expression};
use crate::session::Session;
use crate::types::Type;
use crate::value::{ListValue, Map, Message, Value, to_json};

impl Type {
    /// The type of an expression for an apply configuration.
    pub fn apply_configuration() -> Self {
        Self::Message(Arc::from("Object"))
    }

    /// The type of an expression for a JSON patch.
    pub fn json_patch() -> Self {
        Self::list(Self::Message(Arc::from("JSONPatch")))
    }
}

impl Session<'_> {
    /// Evaluates an expression for an apply configuration with a cost limit.
    pub fn apply_configuration(&mut self, expression: &Expression, limit: u64) -> EvaluationResult<Json> {
        self.start(expression, limit, |value| match value {
            Value::Message(message) => configuration(message),
            other => {
                let name = other.type_of().name();
                Err(Error::NotAPatch(format!("unsupported return type from ApplyConfiguration expression: {name}")))
            }
        })
    }

    /// Evaluates an expression for a JSON patch with a cost limit; its result has one item for each operation.
    pub fn json_patch(&mut self, expression: &Expression, limit: u64) -> EvaluationResult<Vec<Fields<String, Json>>> {
        const MISFIT: &str = "type mismatch: JSONPatchType.expression should evaluate to array";
        self.start(expression, limit, |value| {
            let Value::List(list) = value else { return Err(Error::NotAPatch(MISFIT.to_owned())) };
            let items = list.items().map_err(|fault| Error::Evaluation(fault.to_string()))?;
            let operations = items.iter().map(|item| match item {
                Value::Message(message) => operation(message),
                other => Err(Error::NotAPatch(format!("{MISFIT} of JSONPatch: {}", other.type_of().name()))),
            });
            operations.collect()
        })
    }
}

fn configuration(message: &Message<'_>) -> Result<Json, Error> {
    check_names(message)?;
    native_message(message, "")
}

fn operation(message: &Message<'_>) -> Result<Fields<String, Json>, Error> {
    let mut operation = Fields::new();
    for (name, is_required) in [("op", true), ("path", true), ("from", false)] {
        let text = match message.fields.get(name) {
            Some(Value::String(text)) => text.to_string(),
            _ => String::new(),
        };
        if is_required || !text.is_empty() {
            operation.insert(name.to_owned(), Json::String(text));
        }
    }
    if let Some(value) = message.fields.get("value") {
        if let Value::Message(object) = value {
            check_names(object)?;
        }
        let json = to_json(value).map(portable).ok_or_else(|| {
            let what = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
            Error::NotAPatch(format!("{what}: {}", value.type_of().name()))
        })?;
        operation.insert("value".to_owned(), json);
    }
    Ok(operation)
}

/// Whether the types in an object are named like their places: `Object.spec{}` is the type of the field `spec`.
/// In Kubernetes: `CheckTypeNamesMatchFieldPathNames`.
fn check_names(message: &Message<'_>) -> Result<(), Error> {
    let mut misnamed = Vec::new();
    find_misnamed(message, &message.name, &mut misnamed);
    if misnamed.is_empty() { Ok(()) } else { Err(Error::NotAPatch(format!("type mismatch: {}", misnamed.join("\n")))) }
}

fn find_misnamed(message: &Message<'_>, expected: &str, misnamed: &mut Vec<String>) {
    if *message.name != *expected {
        let what = "which matches field name path from root Object type";
        misnamed.push(format!("unexpected type name {:?}, expected {expected:?}, {what}", &*message.name));
    }
    for (field, value) in &message.fields {
        find_misnamed_below(value, &format!("{expected}.{field}"), misnamed);
    }
}

fn find_misnamed_below(value: &Value<'_>, expected: &str, misnamed: &mut Vec<String>) {
    match value {
        Value::Message(message) => find_misnamed(message, expected, misnamed),
        Value::List(ListValue::Owned(items)) => {
            items.iter().for_each(|item| find_misnamed_below(item, expected, misnamed));
        }
        Value::Map(Map::Owned(entries)) => {
            entries.values().for_each(|value| find_misnamed_below(value, expected, misnamed));
        }
        _ => {}
    }
}

/// An object of an apply configuration.
fn native_message(message: &Message<'_>, path: &str) -> Result<Json, Error> {
    let fields = message.fields.iter().map(|(name, value)| {
        let path = format!("{path}.{name}");
        let json = match value {
            Value::List(ListValue::Owned(items)) => {
                let items = items.iter().enumerate().map(|(at, item)| native(item, &format!("{path}[{at}]")));
                Json::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Map(Map::Owned(entries)) => {
                let entries = entries.iter().map(|(key, value)| {
                    let key = key.to_string();
                    let value = native(value, &format!("{path}.{key}"))?;
                    Ok((key, value))
                });
                Json::Object(entries.collect::<Result<_, Error>>()?)
            }
            other => native(other, &path)?,
        };
        Ok((name.to_string(), json))
    });
    Ok(Json::Object(fields.collect::<Result<_, Error>>()?))
}

/// A value in an apply configuration. As in Kubernetes, lists and maps that an expression has created are converted only
/// directly in a field of an object.
fn native(value: &Value<'_>, path: &str) -> Result<Json, Error> {
    let misfit = |what: &str| {
        let place = format!("failed to convert patch object to typed object: {path}: {what}");
        Err(Error::NotAPatch(format!("error applying patch: {place}")))
    };
    match value {
        Value::Message(message) => native_message(message, path),
        Value::Null => misfit("expected string, got &value.valueUnstructured{Value:0}"),
        Value::List(ListValue::Owned(_)) => misfit(&format!("expected list, got &{{{}}}", go_text(value))),
        Value::Map(Map::Owned(_)) => misfit(&format!("expected map, got &{{{}}}", go_text(value))),
        Value::Optional(Some(value)) => native(value, path),
        Value::Bytes(_) | Value::Timestamp(_) | Value::Duration(_) | Value::Opaque(_) | Value::Optional(None) => {
            misfit(&format!("expected string, got {}", value.type_of().name()))
        }
        other => match to_json(other) {
            Some(json) => Ok(portable(json)),
            None => misfit(&format!("expected string, got {}", other.type_of().name())),
        },
    }
}

/// A value as Go prints it.
fn go_text(value: &Value<'_>) -> String {
    match value {
        Value::List(ListValue::Owned(items)) => {
            format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" "))
        }
        Value::Map(Map::Owned(entries)) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}:{}", go_text(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
        other => other.shown(),
    }
}

/// A value whose whole numbers are written without a fraction, which Go's JSON does.
fn portable(json: Json) -> Json {
    match json {
        Json::Number(number) => Json::Number(whole(&number).unwrap_or(number)),
        Json::Array(items) => Json::Array(items.into_iter().map(portable).collect()),
        Json::Object(fields) => Json::Object(fields.into_iter().map(|(name, value)| (name, portable(value))).collect()),
        other => other,
    }
}

fn whole(number: &Number) -> Option<Number> {
    let double = number.as_f64().filter(|double| number.is_f64() && double.fract() == 0.0 && double.abs() < 9e15)?;
    Some(Number::from(double as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::environment::Environment;
    use crate::meter::COST_OF_ONE_EXPRESSION;
    use crate::variables::Variables;

    fn environment() -> Environment {
        Environment::new().with("object", Type::Dyn).with_patch_types()
    }

    fn refused(text: &str) -> String {
        Expression::compile_in(text, &environment()).err().map_or_else(String::new, |error| error.to_string())
    }

    fn configuration(text: &str, object: &Json) -> Result<Json, String> {
        let expression = Expression::compile_in(text, &environment()).map_err(|error| error.to_string())?;
        assert_eq!(*expression.output_type(), Type::apply_configuration(), "{text}");
        let mut variables = Variables::default();
        variables.set("object", object);
        let run = Session::new(&variables).apply_configuration(&expression, COST_OF_ONE_EXPRESSION);
        run.result.map_err(|error| error.to_string())
    }

    fn patch(text: &str, object: &Json) -> Result<Json, String> {
        let expression = Expression::compile_in(text, &environment()).map_err(|error| error.to_string())?;
        assert_eq!(*expression.output_type(), Type::json_patch(), "{text}");
        let mut variables = Variables::default();
        variables.set("object", object);
        let run = Session::new(&variables).json_patch(&expression, COST_OF_ONE_EXPRESSION);
        run.result.map(|operations| json!(operations)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_apply_configuration_is_an_object_with_objects_lists_and_maps() {
        let object = json!({"spec": {"replicas": 3, "ports": [{"port": 1}]}});
        let text = "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{
            replicas: object.spec.replicas + 1, half: 1.5, whole: 2.0, ?none: object.?missing, ports: object.spec.ports,
            containers: [Object.spec.containers{name: 'c'}]}}";
        let expected = json!({
            "metadata": {"labels": {"a": "b"}},
            "spec": {"replicas": 4, "half": 1.5, "whole": 2, "ports": [{"port": 1}], "containers": [{"name": "c"}]}
        });
        assert_eq!(configuration(text, &object), Ok(expected.clone()));
        assert_eq!(configuration("true ? Object{} : Object{x: 1}", &object), Ok(json!({})));
        assert_eq!(
            configuration("has(object.nope) ? Object{} : Object{x: type(Object.x{}) == Object.x}", &object),
            Ok(json!({"x": true}))
        );
    }

    #[test]
    fn the_type_of_an_object_is_named_like_its_place() {
        let why = configuration("Object{metadata: Object.spec{}, spec: Object.spec{a: [Object.spec.b{}]}}", &json!({}));
        let behind = "which matches field name path from root Object type";
        let expected = format!(
            "type mismatch: unexpected type name \"Object.spec\", expected \"Object.metadata\", {behind}\n\
             unexpected type name \"Object.spec.b\", expected \"Object.spec.a\", {behind}"
        );
        assert_eq!(why, Err(expected));
    }

    #[test]
    fn maps_and_lists_below_those_of_a_field_cannot_be_applied() {
        let why = |text: &str| configuration(text, &json!({"m": {"a": {"b": "c"}}})).unwrap_err();
        let prefix = "error applying patch: failed to convert patch object to typed object: ";
        assert_eq!(
            why("Object{spec: Object.spec{m: {'a': {'b': 'c'}}}}"),
            format!("{prefix}.spec.m.a: expected map, got &{{map[b:c]}}")
        );
        assert_eq!(why("Object{l: [['a', 'b']]}"), format!("{prefix}.l[0]: expected list, got &{{[a b]}}"));
        assert_eq!(
            why("Object{l: null}"),
            format!("{prefix}.l: expected string, got &value.valueUnstructured{{Value:0}}")
        );
        assert_eq!(
            configuration("Object{m: object.m}", &json!({"m": {"a": {"b": "c"}}})),
            Ok(json!({"m": {"a": {"b": "c"}}}))
        );
    }

    #[test]
    fn a_json_patch_is_a_list_of_operations() {
        let text = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: 5},
            JSONPatch{op: 'move', from: '/a', path: '/b'}, JSONPatch{op: 'add', path: '/c', value: Object.c{d: {'e': 1.0}}},
            JSONPatch{op: 'test', path: '/n', value: null}]";
        let expected = json!([
            {"op": "add", "path": "/metadata/labels/a~1b~0c", "value": 5}, {"op": "move", "from": "/a", "path": "/b"},
            {"op": "add", "path": "/c", "value": {"d": {"e": 1}}}, {"op": "test", "path": "/n", "value": null}
        ]);
        assert_eq!(patch(text, &json!({})), Ok(expected));
        assert_eq!(patch("[JSONPatch{}].filter(p, has(p.value))", &json!({})), Ok(json!([])));
        assert_eq!(
            patch("[JSONPatch{op: object.op, path: ''}]", &json!({"op": 5})),
            Err("unexpected type int64 for JSONPatchType 'op' field".to_owned())
        );
    }

    #[test]
    fn types_of_patches_are_checked_where_the_environment_has_them() {
        for (text, expected) in [
            (
                "[JSONPatch{op: 5, path: '/x'}]",
                "1:14: expected type of field 'op' is 'string' but provided type is 'int'",
            ),
            (
                "[JSONPatch{operation: 'add'}]",
                "1:21: expected type of field 'operation' is '' but provided type is 'string'",
            ),
            ("JSONPatch{}.other", "undefined field 'other'"),
            ("Objects{}", "undeclared reference to 'Objects' (in container '')"),
            ("Object{a: {'x': object.y, 'z': 'z'}}", "expected type 'dyn' but found 'string'"),
        ] {
            assert!(refused(text).contains(expected), "{text}: {}", refused(text));
        }
        for text in ["Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a')"] {
            let error = Expression::compile_in(text, &Environment::new()).err().map(|error| error.to_string());
            assert!(error.as_ref().is_some_and(|error| error.contains("undeclared reference")), "{text}: {error:?}");
        }
    }

    #[test]
    fn an_object_costs_as_much_as_in_kubernetes() {
        let cost = |text: &str| {
            let expression = Expression::compile_in(text, &environment()).unwrap();
            Session::new(&Variables::default()).apply_configuration(&expression, COST_OF_ONE_EXPRESSION).cost
        };
        assert_eq!(cost("Object{}"), 40);
        assert_eq!(cost("Object{spec: Object.spec{a: 1}}"), 80);
    }
}
