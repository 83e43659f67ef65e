use serde_json::Value;

/// A JSON path in columns of custom kinds: `.spec.a`, `.list[0]`, `.list[*].name`, `.x['a.b']`,
/// `.conditions[?(@.type=="Ready")].status`. In Kubernetes: `client-go/util/jsonpath`, without its templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Index(i64),
    All,
    /// The items whose value at a path equals, or does not equal, a value.
    Filter {
        path: Vec<String>,
        equals: bool,
        value: Value,
    },
    /// The items that have a value at a path.
    Has(Vec<String>),
}

impl JsonPath {
    /// Parses a path; the error names the unsupported part.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            rest = if let Some(after) = rest.strip_prefix('[') {
                let end = bracket_end(after).ok_or_else(|| format!("unterminated array: {rest}"))?;
                steps.push(bracket(&after[..end])?);
                &after[end + 1..]
            } else if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                match &after[..end] {
                    "" if after.is_empty() && steps.is_empty() => {}
                    "" if after.starts_with('[') => {}
                    "" => return Err(format!("empty step in {text}")),
                    "*" => steps.push(Step::All),
                    name => steps.push(Step::Field(name.to_owned())),
                }
                &after[end..]
            } else {
                return Err(format!("must start with a dot: {rest}"));
            };
        }
        Ok(Self { steps })
    }

    /// The values at the path.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.steps
            .iter()
            .fold(vec![value], |found, step| found.into_iter().flat_map(|value| step.take(value)).collect())
    }
}

/// The end of a bracket, with respect to quotes.
fn bracket_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            (Some(open), sign) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(sign),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn bracket(text: &str) -> Result<Step, String> {
    let text = text.trim();
    if text == "*" {
        return Ok(Step::All);
    }
    if let Some(condition) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return filter(condition.trim());
    }
    if let Some(name) = unquoted(text) {
        return Ok(Step::Field(name));
    }
    text.parse().map(Step::Index).map_err(|_| format!("invalid array index {text}"))
}

fn unquoted(text: &str) -> Option<String> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner.to_owned())
    })
}

fn filter(condition: &str) -> Result<Step, String> {
    let path = |text: &str| -> Result<Vec<String>, String> {
        let text = text.trim();
        let steps = text.strip_prefix("@.").ok_or_else(|| format!("a filter compares a field of @, not {text}"))?;
        Ok(steps.split('.').map(str::to_owned).collect())
    };
    for (operator, equals) in [("==", true), ("!=", false)] {
        if let Some((left, right)) = condition.split_once(operator) {
            let right = right.trim();
            let value = match unquoted(right) {
                Some(text) => Value::String(text),
                None => serde_json::from_str(right).map_err(|_| format!("{right} is no value"))?,
            };
            return Ok(Step::Filter { path: path(left)?, equals, value });
        }
    }
    path(condition).map(Step::Has)
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| value.get(step))
}

impl Step {
    fn take<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let items = || value.as_array().into_iter().flatten();
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => {
                let list = value.as_array().map_or(&[][..], Vec::as_slice);
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let place = if *index < 0 { index.saturating_add(length) } else { *index };
                usize::try_from(place).ok().and_then(|place| list.get(place)).into_iter().collect()
            }
            Self::All => match value {
                Value::Object(fields) => fields.values().collect(),
                _ => items().collect(),
            },
            Self::Filter { path, equals, value } => {
                items().filter(|item| at(item, path).is_some_and(|found| (found == value) == *equals)).collect()
            }
            Self::Has(path) => items().filter(|item| at(item, path).is_some()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn found(path: &str, value: &Value) -> Value {
        JsonPath::parse(path).unwrap().find(value).into_iter().cloned().collect()
    }

    #[test]
    fn paths_lead_to_their_values() {
        let value = json!({"a": {"b.c": 1, "d": [1, 2, 3]}, "conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]});
        assert_eq!(found(".a['b.c']", &value), json!([1]));
        assert_eq!(found(".a.d[-1]", &value), json!([3]));
        assert_eq!(found(".a.d[*]", &value), json!([1, 2, 3]));
        assert_eq!(found(".conditions[?(@.type==\"Ready\")].status", &value), json!(["True"]));
        assert_eq!(found(".conditions[?(@.type != 'Ready')].status", &value), json!(["False"]));
        assert_eq!(found(".none.at.all", &value), json!([]));
    }

    #[test]
    fn invalid_json_paths_are_refused() {
        for path in ["spec", ".a[", ".a[x]", ".a..b", ".a[?(b)]", ".a[?(@.x==y)]"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_panics(path in r#"[.\[\]a1*?(@='")-]{0,12}"#) {
            if let Ok(path) = JsonPath::parse(&path) {
                path.find(&json!({"a": [1, {"a": 1}]}));
            }
        }
    }
}
