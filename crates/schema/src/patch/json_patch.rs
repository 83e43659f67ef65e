use coracle_meta::go_quote;
use serde_json::{Map, Value};

use super::{Error, Touched};

/// The maximum number of operations in a patch.
const MAX_OPERATIONS: usize = 10_000;
/// The maximum number of bytes of JSON that all `copy` operations of a patch may add: the limit of a request.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// The maximum depth of intermediate documents: that of reads. A result beyond the maximum depth of writes is refused
/// by the write, with the limit.
const MAX_DEPTH: usize = coracle_meta::json::DEEPEST_READ;

/// A JSON patch (RFC 6902) with the semantics of Go's `evanphx/json-patch` v4, which Kubernetes uses.
///
/// Unlike the RFC: indices below zero count from the end, `test` takes a missing field for null, and `replace` adds a
/// missing field to an existing object.
#[derive(Clone, Debug)]
pub struct JsonPatch {
    operations: Vec<Map<String, Value>>,
}

impl JsonPatch {
    /// Parses a patch, and lists the strict errors: fields that no operation has.
    ///
    /// # Errors
    /// [`Error::Malformed`] and [`Error::TooManyOperations`].
    pub fn parse(patch: Value) -> Result<(Self, Vec<String>), Error> {
        let (operations, objections) = read(patch)?;
        if operations.len() > MAX_OPERATIONS {
            return Err(Error::TooManyOperations { limit: MAX_OPERATIONS, actual: operations.len() });
        }
        Ok((Self { operations }, objections))
    }

    /// Parses a patch of a webhook. Operations are validated only when they are performed.
    ///
    /// # Errors
    /// Go's error for an invalid patch. In Kubernetes: `jsonpatch.DecodePatch`.
    pub fn decode(text: &[u8]) -> Result<Self, String> {
        let (patch, _) = crate::decode::parse(text, crate::decode::Format::Json)?;
        let wrong = |value: &Value, expected: &str| {
            format!("json: cannot unmarshal {} into Go value of type jsonpatch.{expected}", kind_name(value))
        };
        let items = match patch {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            other => return Err(wrong(&other, "Patch")),
        };
        let operations = items.into_iter().map(|item| match item {
            Value::Object(fields) => Ok(fields),
            Value::Null => Ok(Map::new()),
            other => Err(wrong(&other, "Operation")),
        });
        Ok(Self { operations: operations.collect::<Result<_, _>>()? })
    }

    /// A patch of these operations, which are validated only when they are performed.
    pub fn of(operations: Vec<Map<String, Value>>) -> Self {
        Self { operations }
    }

    /// Whether the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The parts on the paths of the operations, from the root; see [`document_text`](super::document_text).
    pub fn touched(&self) -> Touched {
        let mut touched = Touched::default();
        let paths = self.operations.iter().flat_map(|operation| [operation.get("path"), operation.get("from")]);
        for path in paths.flatten().filter_map(Value::as_str) {
            let steps: Vec<String> =
                path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
            let containers = steps.split_last().map_or(&[][..], |(_, containers)| containers);
            containers.iter().fold(&mut touched, |touched, step| touched.below(step));
        }
        touched
    }

    /// Performs the operations in order, all or none.
    ///
    /// # Errors
    /// [`Error::DoesNotApply`] if one of them fails.
    pub fn apply(&self, document: Value) -> Result<Value, Error> {
        let depth = depth_of(&document);
        let mut run = Run { document, copied_bytes: 0, depth };
        for operation in &self.operations {
            run.perform(operation).map_err(Error::DoesNotApply)?;
        }
        Ok(run.document)
    }
}

impl Error {
    /// Whether a `test` has found another value. In Go: `jsonpatch.ErrTestFailed`.
    pub fn is_failed_test(&self) -> bool {
        matches!(self, Self::DoesNotApply(why) if why.starts_with(TESTED) && why.ends_with(TEST_FAILED))
    }
}

/// The operations of a patch, and its duplicate and unknown fields.
type Operations = (Vec<Map<String, Value>>, Vec<String>);

/// The operations of a patch, and the strict errors.
fn read(patch: Value) -> Result<Operations, Error> {
    let items = match patch {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => return Err(wrong_type(&other, "Go value", "[]handlers.jsonPatchOp")),
    };
    let mut objections = Vec::new();
    let mut operations = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        operations.push(match item {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => return Err(wrong_type(&other, "Go value", "handlers.jsonPatchOp")),
        });
        for (name, value) in operations.last().into_iter().flatten() {
            match (name.as_str(), value) {
                ("op" | "path" | "from", Value::String(_) | Value::Null) | ("value", _) => {}
                ("op" | "path" | "from", other) => {
                    return Err(wrong_type(other, &format!("Go struct field jsonPatchOp.{name}"), "string"));
                }
                _ => objections.push(format!("json patch unknown field \"[{index}].{name}\"")),
            }
        }
    }
    Ok((operations, objections))
}

fn wrong_type(value: &Value, place: &str, expected: &str) -> Error {
    let name = kind_name(value);
    Error::Malformed(format!("error decoding patch: json: cannot unmarshal {name} into {place} of type {expected}"))
}

fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    }
}

struct Run {
    document: Value,
    copied_bytes: usize,
    /// An upper bound of the document's depth.
    depth: usize,
}

/// Go's error for a missing field of an operation.
const NO_PATH: &str = "operation missing path field: missing value";
const NO_FROM: &str = "operation, missing from field: missing value";

impl Run {
    fn perform(&mut self, operation: &Map<String, Value>) -> Result<(), String> {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        let kind = text("op").unwrap_or("unknown");
        let path = |what: &str, why: &str| {
            text("path").ok_or_else(|| format!("{what} operation failed to decode path: {why}"))
        };
        let from =
            |what: &str| text("from").ok_or_else(|| format!("{what} operation failed to decode from: {NO_FROM}"));
        let value = operation.get("value").unwrap_or(&Value::Null);
        match kind {
            "add" => {
                let path = path(kind, MISSING)?;
                self.deepen(path, value, depth_of(value))?;
                let (parent, key) = self.parent(path).ok_or_else(|| {
                    format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}")
                })?;
                add(parent, key, value.clone()).map_err(|why| format!("error in add for path: '{path}': {why}"))
            }
            "remove" => {
                let path = path(kind, MISSING)?;
                let (parent, key) = self.parent(path).ok_or_else(|| {
                    format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}")
                })?;
                let removed = remove(parent, &key);
                removed.map(|_| ()).map_err(|why| format!("error in remove for path: '{path}': {why}"))
            }
            "replace" => self.replace(path(kind, NO_PATH)?, value.clone()),
            "test" => self.test(path(kind, NO_PATH)?, value),
            "move" => self.move_value(from(kind)?, path(kind, NO_PATH)),
            "copy" => self.copy_value(from(kind)?, path(kind, MISSING)),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    /// An upper bound of the depth of a value at the path.
    fn depth_below(&self, path: &str) -> usize {
        self.depth.saturating_sub(path.matches('/').count())
    }

    /// Updates the bound of the document's depth; computes the exact depth if the bound exceeds the limit.
    fn deepen(&mut self, path: &str, value: &Value, bound: usize) -> Result<(), String> {
        let steps = path.matches('/').count();
        let mut deepest = steps + bound;
        if deepest > MAX_DEPTH {
            deepest = steps + depth_of(value);
            if deepest > MAX_DEPTH {
                return Err(format!("the document would be nested deeper than {MAX_DEPTH}"));
            }
            self.depth = depth_of(&self.document);
        }
        self.depth = self.depth.max(deepest);
        Ok(())
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), String> {
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            self.depth = depth_of(&value);
            self.document = value;
            return Ok(());
        }
        self.deepen(path, &value, depth_of(&value))?;
        let missing =
            |what: &str| format!("replace operation does not apply: doc is missing {what}: {path}: {MISSING}");
        let (parent, key) = self.parent(path).ok_or_else(|| missing("path"))?;
        match parent {
            Value::Object(fields) => {
                fields.insert(key, value);
            }
            parent => *item(parent, &key).map_err(|_| missing("key"))? = value,
        }
        Ok(())
    }

    fn test(&mut self, path: &str, expected: &Value) -> Result<(), String> {
        let found = match path {
            "" => &self.document,
            path => {
                let (parent, key) = self
                    .parent(path)
                    .ok_or_else(|| format!("test operation does not apply: is missing path: {path}: {MISSING}"))?;
                get(parent, &key).map_err(|why| format!("error in test for path: '{path}': {why}"))?
            }
        };
        if found == expected { Ok(()) } else { Err(format!("{TESTED}{path}{TEST_FAILED}")) }
    }

    fn move_value(&mut self, from: &str, to: Result<&str, String>) -> Result<(), String> {
        let depth = self.depth_below(from);
        let (parent, key) = self
            .parent(from)
            .ok_or_else(|| format!("move operation does not apply: doc is missing from path: {from}: {MISSING}"))?;
        let value = remove(parent, &key).map_err(|why| format!("error in move for path: '{key}': {why}"))?;
        let to = to?;
        self.deepen(to, &value, depth)?;
        let (parent, key) = self.parent(to).ok_or_else(|| {
            format!("move operation does not apply: doc is missing destination path: {to}: {MISSING}")
        })?;
        add(parent, key, value).map_err(|why| format!("error in move for path: '{to}': {why}"))
    }

    fn copy_value(&mut self, from: &str, to: Result<&str, String>) -> Result<(), String> {
        let depth = self.depth_below(from);
        let (parent, key) = self
            .parent(from)
            .ok_or_else(|| format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}"))?;
        let value = get(parent, &key).map_err(|why| format!("error in copy for from: '{from}': {why}"))?.clone();
        let to = to?;
        self.copied_bytes += serde_json::to_string(&value).map_or(0, |text| text.len());
        if self.copied_bytes > MAX_COPIED_BYTES {
            let (limit, size) = (MAX_COPIED_BYTES, self.copied_bytes);
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {size}, exceeding the limit {limit}"
            ));
        }
        self.deepen(to, &value, depth)?;
        let (parent, key) = self.parent(to).ok_or_else(|| {
            format!("copy operation does not apply: doc is missing destination path: {to}: {MISSING}")
        })?;
        add(parent, key, value).map_err(|why| format!("error while adding value during copy: {why}"))
    }

    /// The object or list that contains the target of the path, and the name in it; `None` if it does not exist. The
    /// text before the first slash is ignored.
    fn parent(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let steps: Vec<_> = path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        let (last, parents) = steps.split_last()?;
        let mut value = &mut self.document;
        for step in parents {
            value = match value {
                Value::Object(fields) => fields.get_mut(step)?,
                list => item(list, step).ok()?,
            };
        }
        matches!(value, Value::Object(_) | Value::Array(_)).then(|| (value, last.clone()))
    }
}

/// Go's error for a value that is not the expected one, around the path.
const TESTED: &str = "testing value ";
const TEST_FAILED: &str = " failed: test failed";

/// Go's error for a missing value.
const MISSING: &str = "missing value";

fn add(parent: &mut Value, key: String, value: Value) -> Result<(), String> {
    match parent {
        Value::Object(fields) => drop(fields.insert(key, value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let not_one = |why| format!("value was not a proper array index: '{key}': {why}");
            let at = place(number(&key).map_err(not_one)?, items.len() + 1)?;
            items.insert(at, value);
        }
        _ => return Err("unknown object type".to_owned()),
    }
    Ok(())
}

fn remove(parent: &mut Value, key: &str) -> Result<Value, String> {
    match parent {
        Value::Object(fields) => {
            fields.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}"))
        }
        Value::Array(items) => Ok(items.remove(place(number(key)?, items.len())?)),
        _ => Err("unknown object type".to_owned()),
    }
}

/// The value of a key; null for a field that an object does not have.
fn get<'v>(parent: &'v mut Value, key: &str) -> Result<&'v Value, String> {
    match parent {
        Value::Object(fields) => Ok(fields.get(key).unwrap_or(&Value::Null)),
        list => item(list, key).map(|item| &*item),
    }
}

fn item<'v>(list: &'v mut Value, key: &str) -> Result<&'v mut Value, String> {
    let Value::Array(items) = list else { return Err("unknown object type".to_owned()) };
    let at = place(number(key)?, items.len())?;
    Ok(&mut items[at])
}

/// Parses a number like Go's `strconv.Atoi`.
fn number(key: &str) -> Result<i64, String> {
    key.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", go_quote(key)))
}

/// An index in a list of `length`; a negative number counts from the end.
fn place(number: i64, length: usize) -> Result<usize, String> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = if number < 0 { number + length } else { number };
    match usize::try_from(place) {
        Ok(at) if place < length => Ok(at),
        _ => Err(format!("Unable to access invalid index: {number}: invalid index referenced")),
    }
}

/// The depth of a value; a scalar has depth 0.
fn depth_of(value: &Value) -> usize {
    let deepest = match value {
        Value::Object(fields) => fields.values().map(depth_of).max(),
        Value::Array(items) => items.iter().map(depth_of).max(),
        _ => return 0,
    };
    deepest.unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::Status;
    use proptest::prelude::*;
    use serde_json::json;

    fn patched(document: Value, patch: Value) -> Result<Value, Error> {
        JsonPatch::parse(patch)?.0.apply(document)
    }

    #[test]
    fn every_operation_does_its_work() {
        let document = json!({"a": 1, "b/c": 2, "l": [1, 2, 3], "m": {"x": 1}});
        let patch = json!([
            {"op": "replace", "path": "/a", "value": "x"},
            {"op": "remove", "path": "/b~1c"},
            {"op": "move", "from": "/m/x", "path": "/m/y"},
            {"op": "copy", "from": "/m", "path": "/n"},
            {"op": "add", "path": "/l/1", "value": 9},
            {"op": "add", "path": "/l/-", "value": 4},
            {"op": "remove", "path": "/l/-1"},
            {"op": "test", "path": "/l", "value": [1, 9, 2, 3]}
        ]);
        let expected = json!({"a": "x", "l": [1, 9, 2, 3], "m": {"y": 1}, "n": {"y": 1}});
        assert_eq!(patched(document, patch).unwrap(), expected);
    }

    #[test]
    fn testing_a_missing_field_for_null_succeeds() {
        let document = json!({"metadata": {}});
        let test = |value: Value| json!([{"op": "test", "path": "/metadata/finalizers", "value": value}]);
        assert!(patched(document.clone(), test(Value::Null)).is_ok());
        assert!(patched(document.clone(), json!([{"op": "test", "path": "/metadata/finalizers"}])).is_ok());
        assert!(patched(document, test(json!([]))).is_err());
    }

    #[test]
    fn replacing_a_missing_field_adds_it_but_removing_it_fails() {
        let replace = json!([{"op": "replace", "path": "/a", "value": 1}]);
        assert_eq!(patched(json!({}), replace).unwrap(), json!({"a": 1}));
        assert!(patched(json!({}), json!([{"op": "remove", "path": "/a"}])).is_err());
        assert!(patched(json!({}), json!([{"op": "replace", "path": "/a/b", "value": 1}])).is_err());
    }

    #[test]
    fn inapplicable_patches_have_general_errors_and_invalid_ones_precise_errors() {
        let status: Status = patched(json!({}), json!([{"op": "explode", "path": "/a"}])).unwrap_err().into();
        assert_eq!(status.code, 422);
        assert_eq!(status.message, "the server rejected our request due to an error in our request");
        let status: Status = patched(json!({}), json!({"a": "b"})).unwrap_err().into();
        assert_eq!(status.code, 400);
        let expected =
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
        assert_eq!(status.message, expected);
        let many = Value::Array(vec![json!({"op": "test", "path": "/a"}); MAX_OPERATIONS + 1]);
        let status: Status = patched(json!({}), many).unwrap_err().into();
        assert_eq!(status.code, 413);
    }

    #[test]
    fn a_patch_that_does_not_apply_says_why_in_gos_words() {
        let why = |patch: Value| {
            let patch = JsonPatch::decode(patch.to_string().as_bytes()).unwrap();
            patch.apply(json!({"a": {"b": 1}, "l": [1]})).unwrap_err().to_string()
        };
        for (operation, expected) in [
            (
                json!({"op": "remove", "path": "/nope/x"}),
                "remove operation does not apply: doc is missing path: \"/nope/x\": missing value",
            ),
            (
                json!({"op": "remove", "path": "/a/x"}),
                "error in remove for path: '/a/x': Unable to remove nonexistent key: x: missing value",
            ),
            (
                json!({"op": "add", "path": "/l/7", "value": 1}),
                "error in add for path: '/l/7': Unable to access invalid index: 7: invalid index referenced",
            ),
            (
                json!({"op": "add", "path": "/l/x", "value": 1}),
                "error in add for path: '/l/x': value was not a proper array index: 'x': \
                 strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            (json!({"op": "add", "value": 1}), "add operation failed to decode path: missing value"),
            (json!({"op": "test", "path": "/a/b", "value": 2}), "testing value /a/b failed: test failed"),
            (
                json!({"op": "replace", "path": "/l/3", "value": 2}),
                "replace operation does not apply: doc is missing key: /l/3: missing value",
            ),
            (
                json!({"op": "move", "from": "/x/y", "path": "/a"}),
                "move operation does not apply: doc is missing from path: /x/y: missing value",
            ),
            (
                json!({"op": "copy", "path": "/a"}),
                "copy operation failed to decode from: operation, missing from field: missing value",
            ),
            (json!({"op": "explode", "path": "/a"}), "Unexpected kind: explode"),
        ] {
            assert_eq!(why(json!([operation])), expected);
        }
        let undecodable = |text: &str| JsonPatch::decode(text.as_bytes()).unwrap_err();
        assert_eq!(undecodable(r#"{"a":1}"#), "json: cannot unmarshal object into Go value of type jsonpatch.Patch");
        assert_eq!(undecodable("[1]"), "json: cannot unmarshal number into Go value of type jsonpatch.Operation");
        assert_eq!(undecodable("x"), "invalid character 'x' looking for beginning of value");
    }

    #[test]
    fn a_failed_test_differs_from_a_missing_place() {
        let is_failed_test =
            |operation: Value| patched(json!({"a": 1}), json!([operation])).unwrap_err().is_failed_test();
        assert!(is_failed_test(json!({"op": "test", "path": "/a", "value": 2})));
        assert!(is_failed_test(json!({"op": "test", "path": "/b", "value": 2})));
        assert!(!is_failed_test(json!({"op": "test", "path": "/b/c", "value": 2})));
        assert!(!is_failed_test(json!({"op": "testing value  failed: test failed", "path": "/b/c"})));
    }

    #[test]
    fn fields_that_no_operation_has_are_objected_to() {
        let (_, objections) = JsonPatch::parse(json!([{"op": "test", "path": "/a", "extra": 1}])).unwrap();
        assert_eq!(objections, ["json patch unknown field \"[0].extra\""]);
    }

    #[test]
    fn copies_and_moves_cannot_blow_up_the_document() {
        let mut operations = vec![json!({"op": "add", "path": "/a", "value": ["x".repeat(1000)]})];
        operations.extend((0..20).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/-"})));
        assert!(patched(json!({}), Value::Array(operations)).is_err());

        let mut operations = Vec::new();
        for step in 0..4000 {
            operations.push(json!({"op": "add", "path": format!("/{}", step + 1), "value": {}}));
            operations.push(json!({"op": "move", "from": format!("/{step}"), "path": format!("/{}/x", step + 1)}));
        }
        assert!(patched(json!({"0": {}}), Value::Array(operations)).is_err());

        let back_and_forth: Vec<_> = (0..500)
            .flat_map(|_| {
                [
                    json!({"op": "move", "from": "/a", "path": "/b/c"}),
                    json!({"op": "move", "from": "/b/c", "path": "/a"}),
                ]
            })
            .collect();
        let document = json!({"a": {"x": 1}, "b": {}});
        assert_eq!(patched(document.clone(), Value::Array(back_and_forth)).unwrap(), document);
    }

    proptest! {
        #[test]
        fn no_patch_panics(
            operations in proptest::collection::vec(
                ("(add|remove|replace|move|copy|test|x)", "(/[ab0-]|/|~|/-1){0,4}", "(/[ab0-]){0,3}", 0..4u8), 0..12
            )
        ) {
            let values = [json!(null), json!([1, {"a": []}]), json!({"a": {"b": []}}), json!("x")];
            let operations = operations.into_iter().map(|(op, path, from, value)| {
                json!({"op": op, "path": path, "from": from, "value": values[usize::from(value)]})
            });
            let _ = patched(json!({"a": [1, {"b": 2}], "b": {"a": []}}), Value::Array(operations.collect()));
        }
    }
}
