use std::collections::BTreeSet;

use coracle_meta::{FieldError, JsonKey};
use serde_json::{Map, Number, Value};

use super::format;
use super::node::{Additional, Constraints, Structural, ValueType};
use super::path::{MOST_TEXT, path_below};

impl Structural {
    /// The errors of a value, in the words of kube-openapi's validator; `path` is the path of the value, empty for the
    /// whole resource.
    pub fn validate(&self, value: &Value, path: &str) -> Vec<FieldError> {
        let mut result = Outcome::default();
        check(self, value, None, path, &mut result);
        result.errors
    }

    /// The errors of a changed value: errors of unchanged parts are ignored.
    /// In Kubernetes: `RatchetingSchemaValidator.ValidateUpdate`.
    pub fn validate_change(&self, value: &Value, old: &Value, path: &str) -> Vec<FieldError> {
        let mut result = Outcome::default();
        check(self, value, Some(old), path, &mut result);
        result.errors
    }
}

/// The errors, and the number of passed checks: of several schemas, the best match reports its errors.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    matches: usize,
    /// The total length of the texts of the errors, including those of previous outcomes, in bytes.
    text: usize,
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.matches += other.matches;
        self.text = self.text.max(other.text);
    }

    /// Adds an error, whose text has `length` bytes in addition to the path and the quoted value.
    fn add(&mut self, length: usize, path: &str, error: impl FnOnce(&str) -> FieldError) {
        if self.text > MOST_TEXT {
            self.errors.push(FieldError::invalid_unprinted("", ""));
        } else {
            self.text += length + 2 * path.len();
            self.errors.push(error(path.trim_start_matches('.')));
        }
    }

    fn invalid(&mut self, path: &str, value: impl Into<Value>, what: &str) {
        self.add(what.len(), path, |field| FieldError::invalid(field, value, format!("{path} in body {what}")));
    }

    fn wrong_type(&mut self, path: &str, expected: &str, found: &str) {
        let detail = || format!("{path} in body must be of type {expected}: {found:?}");
        self.add(0, path, |field| FieldError::type_invalid(field, found, detail()));
    }

    /// Adds an error of several schemas together, without a field.
    fn composite(&mut self, message: String) {
        self.add(message.len(), "<nil>", |field| FieldError::invalid(field, "", message));
    }
}

/// The errors of a value, whose previous version is `old` if that is known.
fn check(schema: &Structural, value: &Value, old: Option<&Value>, path: &str, result: &mut Outcome) {
    let before = result.errors.len();
    check_node(schema, value, old, path, result);
    if result.errors.len() > before && old.is_some_and(|old| schema.is_same(value, old)) {
        result.errors.truncate(before);
    }
}

fn check_node(schema: &Structural, value: &Value, old: Option<&Value>, path: &str, result: &mut Outcome) {
    let constraints = &schema.constraints;
    let before = result.errors.len();
    check_type(schema, value, path, result);
    if value.is_null() {
        check_values(constraints, value, path, result);
        return;
    }
    check_schemas(constraints, value, path, result);
    match value {
        Value::String(text) => check_text(constraints, text, path, result),
        Value::Number(number) => check_number(constraints, number, path, result),
        Value::Array(items) => check_list(schema, items, old, path, result),
        Value::Object(_) | Value::Bool(_) | Value::Null => {}
    }
    check_values(constraints, value, path, result);
    if let Value::Object(fields) = value {
        check_object(schema, fields, old, path, result);
    }
    if result.errors.len() == before {
        result.matches += 1;
    }
}

/// The JSON type of a value, and Go's format of it.
fn kind_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(number) if number.is_f64() => ("number", "double"),
        Value::Number(_) => ("integer", "int64"),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check_type(schema: &Structural, value: &Value, path: &str, result: &mut Outcome) {
    let types: Vec<&str> = match (schema.int_or_string, schema.value_type) {
        (true, _) => vec!["integer", "string"],
        (false, Some(value_type)) => vec![value_type.as_str()],
        (false, None) => Vec::new(),
    };
    let format = Some(schema.constraints.format.as_str()).filter(|format| format::is_known(format)).unwrap_or("");
    if types.is_empty() && format.is_empty() {
        return;
    }
    let (kind, go_format) = kind_of(value);
    if value.is_null() {
        if !types.is_empty() && !schema.nullable {
            result.wrong_type(path, &types.join(","), kind);
        }
        return;
    }
    let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0);
    let fits = types.contains(&kind)
        || (kind == "number" && is_whole && types.contains(&"integer"))
        || (kind == "integer" && types.contains(&"number"));
    let is_text_or_list = matches!(value, Value::String(_) | Value::Array(_));
    if !is_text_or_list && !format.is_empty() && !fits {
        return result.wrong_type(path, format, go_format);
    }
    let takes_numbers = types.contains(&"number") || types.contains(&"integer");
    if !takes_numbers && !format.is_empty() && is_text_or_list {
        return;
    }
    if !fits {
        result.wrong_type(path, &types.join(","), kind);
    }
}

fn check_values(constraints: &Constraints, value: &Value, path: &str, result: &mut Outcome) {
    let Some(values) = &constraints.values else { return };
    if values.holds(value) {
        return;
    }
    result.add(values.length(), path, |field| {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let texts: Vec<_> = values.listed().iter().map(text).collect();
        FieldError::not_supported(field, value.clone(), &texts)
    });
}

/// Only the first violation of length and pattern is reported.
fn check_text(constraints: &Constraints, text: &str, path: &str, result: &mut Outcome) {
    let length = text.chars().count() as u64;
    if let Some(most) = constraints.max_length.filter(|most| length > *most) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let what = || format!("may not be more than {most} {bytes}");
        result.add(0, path, |field| FieldError::too_long(field, most as usize).saying(what()));
    } else if let Some(least) = constraints.min_length.filter(|least| length < *least) {
        result.invalid(path, text, &format!("should be at least {least} chars long"));
    } else if let Some(pattern) = &constraints.pattern {
        let what = match pattern.is_match(text) {
            Ok(true) => None,
            Ok(false) => Some(format!("should match '{}'", pattern.text)),
            Err(why) => Some(format!("should match '{}, but pattern is invalid: {why}'", pattern.text)),
        };
        if let Some(what) = what {
            let error = |field: &str| FieldError::invalid(field, text, format!("{path} in body {what}"));
            result.add(pattern.text.len(), path, error);
        }
    }
    let format = &constraints.format;
    if format::is_known(format) && !format::fits(format, text) {
        result.wrong_type(path, format, text);
    }
}

fn check_number(constraints: &Constraints, number: &Number, path: &str, result: &mut Outcome) {
    let value = number.as_f64().unwrap_or(0.0);
    let mut complain = |what: String| result.invalid(path, Value::Number(number.clone()), &what);
    if let Some(factor) = constraints.multiple_of {
        if factor <= 0.0 {
            complain(format!("factor MultipleOf declared for {path} must be positive: {factor}"));
        } else if (value / factor).fract().abs() > 1e-9 {
            complain(format!("should be a multiple of {factor}"));
        }
    }
    if let Some(least) = constraints.minimum {
        if constraints.exclusive_minimum && value <= least {
            complain(format!("should be greater than {least}"));
        } else if !constraints.exclusive_minimum && value < least {
            complain(format!("should be greater than or equal to {least}"));
        }
    }
    if let Some(most) = constraints.maximum {
        if constraints.exclusive_maximum && value >= most {
            complain(format!("should be less than {most}"));
        } else if !constraints.exclusive_maximum && value > most {
            complain(format!("should be less than or equal to {most}"));
        }
    }
}

fn check_list(schema: &Structural, items: &[Value], old: Option<&Value>, path: &str, result: &mut Outcome) {
    if let Some(below) = &schema.items {
        let items_before = schema.items_before(old);
        for (index, item) in items.iter().enumerate() {
            let old = items_before.of(item);
            check(below, item, old, &format!("{path}[{index}]"), result);
        }
    }
    let (constraints, count) = (&schema.constraints, items.len() as u64);
    if let Some(least) = constraints.min_items.filter(|least| count < *least) {
        result.invalid(path, count, &format!("should have at least {least} items"));
    }
    if let Some(most) = constraints.max_items.filter(|most| count > *most) {
        result.add(0, path, |field| FieldError::too_many(field, items.len(), most as usize));
    }
    let mut seen = BTreeSet::new();
    if constraints.unique_items && !items.iter().all(|item| seen.insert(JsonKey(item))) {
        result.invalid(path, "", "shouldn't contain duplicates");
    }
}

fn check_object(
    schema: &Structural,
    fields: &Map<String, Value>,
    old: Option<&Value>,
    path: &str,
    result: &mut Outcome,
) {
    // A change of version or kind is not visible: both objects were converted to one version.
    let is_told = |name: &str| !(path.is_empty() && matches!(name, "apiVersion" | "kind"));
    let old = old.and_then(Value::as_object);
    let before = |name: &str| old.filter(|_| is_told(name)).and_then(|old| schema.field_before(name, old));
    let (constraints, count) = (&schema.constraints, fields.len() as u64);
    if let Some(least) = constraints.min_properties.filter(|least| count < *least) {
        result.invalid(path, count, &format!("should have at least {least} properties"));
    }
    if let Some(most) = constraints.max_properties.filter(|most| count > *most) {
        result.add(0, path, |field| FieldError::too_many(field, fields.len(), most as usize));
    }
    // First undeclared fields, then declared ones, then missing ones.
    for (name, value) in fields.iter().filter(|(name, _)| !schema.properties.contains_key(*name)) {
        match &schema.additional {
            Additional::Schema(below) => check(below, value, before(name), &path_below(path, ".", name, ""), result),
            Additional::Allowed(false) => {
                result.invalid(&path_below(path, ".", name, ""), "", "is a forbidden property");
            }
            Additional::Allowed(true) | Additional::Unsaid => {}
        }
    }
    let dot = if path.is_empty() { "" } else { "." };
    for (name, below) in &schema.properties {
        if let Some(value) = fields.get(name) {
            check(below, value, before(name), &path_below(path, dot, name, ""), result);
        }
    }
    for name in constraints.required.iter().filter(|name| !fields.contains_key(*name)) {
        result.add(0, &path_below(path, ".", name, ""), |field| FieldError::required(field, ""));
    }
}

fn check_schemas(constraints: &Constraints, value: &Value, path: &str, result: &mut Outcome) {
    let try_all = |schemas: &[Structural], mut text: usize| -> Vec<Outcome> {
        let outcome = |schema| {
            let mut outcome = Outcome { text, ..Outcome::default() };
            check(schema, value, None, path, &mut outcome);
            text = outcome.text;
            outcome
        };
        schemas.iter().map(outcome).collect()
    };
    if !constraints.any_of.is_empty() {
        let outcomes = try_all(&constraints.any_of, result.text);
        if !outcomes.iter().any(|outcome| outcome.errors.is_empty()) {
            result.composite(format!("\"{path}\" must validate at least one schema (anyOf)"));
        }
        merge_best(outcomes, result);
    }
    if !constraints.one_of.is_empty() {
        let outcomes = try_all(&constraints.one_of, result.text);
        match outcomes.iter().filter(|outcome| outcome.errors.is_empty()).count() {
            1 => merge_best(outcomes, result),
            0 => {
                result.composite(one_of_message(path, "Found none valid"));
                merge_best(outcomes, result);
            }
            several => result.composite(one_of_message(path, &format!("Found {several} valid alternatives"))),
        }
    }
    if !constraints.all_of.is_empty() {
        let outcomes = try_all(&constraints.all_of, result.text);
        let valid = outcomes.iter().filter(|outcome| outcome.errors.is_empty()).count();
        let all = outcomes.len();
        outcomes.into_iter().for_each(|outcome| result.merge(outcome));
        if valid != all {
            let none = if valid == 0 { ". None validated" } else { "" };
            result.composite(format!("\"{path}\" must validate all the schemas (allOf){none}"));
        }
    }
    if let Some(not) = &constraints.not {
        let mut outcome = Outcome::default();
        check(not, value, None, path, &mut outcome);
        if outcome.errors.is_empty() {
            result.composite(format!("\"{path}\" must not validate the schema (not)"));
        }
    }
}

fn one_of_message(path: &str, found: &str) -> String {
    format!("\"{path}\" must validate one and only one schema (oneOf). {found}")
}

/// Merges the outcome of the matching schema, or of the best match if no schema matches.
fn merge_best(outcomes: Vec<Outcome>, result: &mut Outcome) {
    let mut best: Option<Outcome> = None;
    for outcome in outcomes {
        let is_better = match &best {
            None => true,
            Some(best) if best.errors.is_empty() => false,
            Some(best) => outcome.errors.is_empty() || outcome.matches > best.matches,
        };
        if is_better {
            best = Some(outcome);
        }
    }
    if let Some(best) = best {
        result.merge(best);
    }
}

/// The required type of a value, for messages.
impl std::fmt::Display for ValueType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
