//! Checks that many kinds share, each with the sentence of Kubernetes. They return what is wrong.
//! In Kubernetes: apimachinery `pkg/api/validation`, `pkg/apis/meta/v1/validation`, and the top of core's validation.

use std::sync::Arc;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, LabelSelector, Object, Quantity, Status, names};
use coracle_release::Release;
use serde_json::Value;

use crate::addresses::{parse_cidr, parse_ip, why_outdated_cidr, why_outdated_ip};

/// What is wrong.
pub(crate) type Wrong = Vec<FieldError>;

const NOT_NEGATIVE: &str = "must be greater than or equal to 0";
pub(crate) const IMMUTABLE: &str = "field is immutable";
/// What is wrong with a text that is no CIDR.
pub(crate) const NOT_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
/// The gate that refuses older forms of addresses.
const STRICT_ADDRESSES: &str = "StrictIPCIDRValidation";

/// Errors about elements of a list that each quote the list as a whole, as far as they can be listed in an answer: no more
/// text is quoted than [`Status::invalid`](coracle_meta::Status::invalid) lists, and one error behind that.
pub(crate) struct Quoting<'v> {
    quoted: &'v Value,
    print: Option<&'v dyn Fn() -> String>,
    /// The text of the value and how many errors may quote it, known from the first error on.
    printed: Option<(Arc<str>, usize)>,
}

impl<'v> Quoting<'v> {
    /// Errors that quote a value.
    pub(crate) fn new(quoted: &'v Value) -> Self {
        Self { quoted, print: None, printed: None }
    }

    /// The same, where `print` gives the text of the value.
    pub(crate) fn printed_as(self, print: &'v dyn Fn() -> String) -> Self {
        Self { print: Some(print), ..self }
    }

    /// An error, if answers list it.
    pub(crate) fn invalid(&mut self, path: &str, what: &str) -> Option<FieldError> {
        let (text, left) = self.printed.get_or_insert_with(|| {
            let text = self.print.map_or_else(|| self.quoted.to_string(), |print| print());
            let most = Status::LISTED_BYTES / text.len().max(32) + 1;
            (text.into(), most)
        });
        *left = left.checked_sub(1)?;
        Some(match self.print {
            Some(_) => FieldError::invalid(path, Value::Null, what).printed_as(Arc::clone(text)),
            None => FieldError::invalid(path, self.quoted.clone(), what),
        })
    }
}

/// One `Invalid value` for every sentence about a value.
pub(crate) fn each_invalid(path: &str, value: &str, sentences: Vec<String>) -> Wrong {
    sentences.into_iter().map(|what| FieldError::invalid(path, value, what)).collect()
}

/// A number that is not negative.
pub(crate) fn not_negative(holder: &(impl Fields + ?Sized), field: &str, path: &str) -> Wrong {
    let value = holder.int(field);
    if value >= 0 { Wrong::new() } else { vec![FieldError::invalid(join(path, field), value, NOT_NEGATIVE)] }
}

/// A number above zero.
pub(crate) fn positive(holder: &(impl Fields + ?Sized), field: &str, path: &str) -> Wrong {
    let value = holder.int(field);
    if value > 0 {
        return Wrong::new();
    }
    vec![FieldError::invalid(join(path, field), value, "must be greater than 0")]
}

/// A text that has to be there.
pub(crate) fn required(holder: &(impl Fields + ?Sized), field: &str, path: &str) -> Wrong {
    if !holder.text(field).is_empty() {
        return Wrong::new();
    }
    vec![FieldError::required(join(path, field), "")]
}

/// A text that is one of some words; empty is required to be something where `empty` says so.
pub(crate) fn one_of(holder: &(impl Fields + ?Sized), field: &str, path: &str, words: &[&str]) -> Wrong {
    let value = holder.text(field);
    if words.contains(&value) {
        return Wrong::new();
    }
    vec![FieldError::not_supported(join(path, field), value, words)]
}

/// A required text that must be one of some values.
pub(crate) fn required_one_of(holder: &(impl Fields + ?Sized), field: &str, path: &str, words: &[&str]) -> Wrong {
    let missing = required(holder, field, path);
    if missing.is_empty() { one_of(holder, field, path, words) } else { missing }
}

/// A path below another.
pub(crate) fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// An immutable field.
pub(crate) fn immutable(new: &Object, old: &Object, path: &str) -> Wrong {
    if same(new.at(path), old.at(path)) {
        return Wrong::new();
    }
    vec![FieldError::invalid(path, new.at(path).clone(), IMMUTABLE)]
}

/// An immutable field with a foreign object, whose original text must not change either.
pub(crate) fn immutable_bytes(new: &Object, old: &Object, field: &str) -> Wrong {
    let text = |object: &Object| object.verbatim().get(&format!("/{field}")).map(str::to_owned);
    if same(new.at(field), old.at(field)) && text(new) == text(old) {
        return Wrong::new();
    }
    vec![FieldError::invalid(field, new.at(field).clone(), IMMUTABLE)]
}

/// The value without fields that are [the same](same) as missing ones.
pub(crate) fn without_nothing(value: &Value) -> Value {
    match value {
        Value::Object(tree) => {
            let fields = tree.iter().map(|(name, value)| (name.clone(), without_nothing(value)));
            let fields: serde_json::Map<_, _> = fields.filter(|(_, value)| !value.is_null()).collect();
            if fields.is_empty() { Value::Null } else { Value::Object(fields) }
        }
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => Value::Array(items.iter().map(without_nothing).collect()),
        other => other.clone(),
    }
}

/// Whether two values are semantically equal: quantities by value, and a missing value equals an empty one.
/// In Kubernetes: `apiequality.Semantic.DeepEqual`.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    let is_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Object(tree) => tree.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match (left, right) {
        (left, right) if is_nothing(left) && is_nothing(right) => true,
        (Value::Object(left), Value::Object(right)) => {
            let only_right = || right.iter().filter(|(name, _)| !left.contains_key(*name));
            left.iter().all(|(name, value)| same(value, right.field_named(name)))
                && only_right().all(|(_, value)| is_nothing(value))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (left, right) => left == right,
    }
}

/// A label selector.
pub(crate) fn label_selector(selector: &Value, path: &str) -> Wrong {
    let mut wrong = labels(selector.at("matchLabels"), &format!("{path}.matchLabels"));
    for (at, requirement) in selector.list("matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        let has_values = !requirement.list("values").is_empty();
        match (requirement.text("operator"), has_values) {
            ("In" | "NotIn", false) => wrong.push(FieldError::required(
                format!("{path}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            ("Exists" | "DoesNotExist", true) => wrong.push(FieldError::forbidden(
                format!("{path}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
            (other, _) => {
                wrong.push(FieldError::invalid(format!("{path}.operator"), other, "not a valid selector operator"));
            }
        }
        let key = requirement.text("key");
        wrong.extend(each_invalid(&format!("{path}.key"), key, names::qualified_name(key)));
        for (at, value) in requirement.list("values").iter().filter_map(Value::as_str).enumerate() {
            wrong.extend(each_invalid(&format!("{path}.values[{at}]"), value, names::label_value(value)));
        }
    }
    wrong
}

/// A map of labels.
pub(crate) fn labels(labels: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    for (name, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        wrong.extend(each_invalid(path, name, names::qualified_name(name)));
        wrong.extend(each_invalid(path, value, names::label_value(value)));
    }
    wrong
}

/// A map of annotations.
pub(crate) fn annotations(annotations: &Value, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    let mut total = 0;
    for (name, value) in annotations.as_object().into_iter().flatten() {
        wrong.extend(each_invalid(path, name, names::qualified_name(&name.to_lowercase())));
        total += name.len() + value.as_str().unwrap_or_default().len();
    }
    if total > 256 << 10 {
        wrong.push(FieldError::too_long(path, 256 << 10));
    }
    wrong
}

/// The selector and the template labels of a kind that creates pods.
pub(crate) fn selector_and_template(spec: &Value, path: &str, kind: &str) -> Wrong {
    let selector_path = format!("{path}.selector");
    let selector = spec.at("selector");
    let mut wrong = Wrong::new();
    if selector.is_null() {
        wrong.push(FieldError::required(&selector_path, ""));
    } else {
        wrong.extend(label_selector(selector, &selector_path));
        if is_empty_selector(selector) {
            let what = format!("empty selector is invalid for {kind}");
            wrong.push(FieldError::invalid(&selector_path, selector.clone(), what));
        }
    }
    let is_readable = label_selector(selector, "").is_empty();
    match LabelSelector::from_json((!selector.is_null()).then_some(selector)) {
        // For a StatefulSet, Kubernetes' error has no details.
        _ if !is_readable => {
            let what = if kind == "statefulset" { "" } else { "invalid label selector" };
            wrong.push(FieldError::invalid(&selector_path, selector.clone(), what));
        }
        Err(_) => wrong.push(FieldError::invalid(&selector_path, selector.clone(), "invalid label selector")),
        Ok(parsed) => wrong.extend(matches_template(&parsed, spec.at("template"), &format!("{path}.template"))),
    }
    wrong
}

/// Whether a label selector selects everything.
pub(crate) fn is_empty_selector(selector: &Value) -> bool {
    selector.entries("matchLabels").count() + selector.list("matchExpressions").len() == 0
}

/// A selector must match the labels of the template.
pub(crate) fn matches_template(selector: &LabelSelector, template: &Value, path: &str) -> Wrong {
    let labels = template.at("metadata.labels");
    if selector.is_everything() || selector.matches_by(|name| labels.field_named(name).as_str()) {
        return Wrong::new();
    }
    let what = "`selector` does not match template `labels`";
    vec![FieldError::invalid(format!("{path}.metadata.labels"), labels.clone(), what)]
}

/// A non-negative number, or a percentage such as `25%`.
pub(crate) fn count_or_share(value: &Value, path: &str) -> Wrong {
    match value {
        Value::String(text) => each_invalid(path, text, names::percent(text)),
        Value::Number(number) if number.as_i64().unwrap_or(0) < 0 => {
            vec![FieldError::invalid(path, value.clone(), NOT_NEGATIVE)]
        }
        _ => Wrong::new(),
    }
}

/// A percentage must not exceed 100%.
pub(crate) fn not_more_than_all(value: &Value, path: &str) -> Wrong {
    match share(value) {
        Some(share) if share > 100 => vec![FieldError::invalid(path, value.clone(), "must not be greater than 100%")],
        _ => Wrong::new(),
    }
}

/// The number of a percentage; `None` for a count.
pub(crate) fn share(value: &Value) -> Option<i64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}

/// A count, or the number of a percentage.
pub(crate) fn amount_of(value: &Value) -> i64 {
    share(value).or(value.as_i64()).unwrap_or(0)
}

/// A port number or name.
pub(crate) fn port_or_name(port: &Value, path: &str) -> Wrong {
    match port {
        Value::String(name) => each_invalid(path, name, names::port_name(name)),
        _ => {
            let number = port.as_i64().unwrap_or(0);
            names::port_number(number).into_iter().map(|what| FieldError::invalid(path, number, what)).collect()
        }
    }
}

/// A domain-prefixed path, such as `acme.io/foo`. In Kubernetes: `IsDomainPrefixedPath`.
pub(crate) fn domain_prefixed_path(value: &str, path: &str) -> Wrong {
    if value.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let Some((domain, rest)) = value.split_once('/').filter(|(domain, rest)| !domain.is_empty() && !rest.is_empty())
    else {
        let what = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(path, value, what)];
    };
    let mut wrong = each_invalid(path, domain, names::dns1123_subdomain(domain));
    const SIGNS: &[u8] = b"/-._~%!$&'()*+,;=:";
    if rest.bytes().any(|sign| !sign.is_ascii_alphanumeric() && !SIGNS.contains(&sign)) {
        let what = names::pattern_sentence("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
        wrong.push(FieldError::invalid(path, rest, what));
    }
    wrong
}

/// An address in a legacy field, which also accepts older forms in older releases.
/// In Kubernetes: `IsValidIPForLegacyField`.
pub(crate) fn ip(value: &str, path: &str, release: &Release) -> Wrong {
    let what = match parse_ip(value) {
        None => Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        Some(_) if release.enabled(STRICT_ADDRESSES) => why_outdated_ip(value),
        Some(_) => None,
    };
    what.map(|what| FieldError::invalid(path, value, what)).into_iter().collect()
}

/// A CIDR in a legacy field, which also accepts older forms in older releases.
/// In Kubernetes: `IsValidCIDRForLegacyField`.
pub(crate) fn cidr(value: &str, path: &str, release: &Release) -> Wrong {
    let what = match parse_cidr(value) {
        None => Some(NOT_CIDR),
        Some(_) if release.enabled(STRICT_ADDRESSES) => why_outdated_cidr(value),
        Some(_) => None,
    };
    what.map(|what| FieldError::invalid(path, value, what)).into_iter().collect()
}

/// A non-negative quantity.
pub(crate) fn quantity_not_negative(amount: &Value, path: &str) -> Wrong {
    match amount.as_str().and_then(|text| Quantity::parse(text).ok()) {
        Some(quantity) if quantity.is_negative() => {
            vec![FieldError::invalid(path, quantity.to_string(), NOT_NEGATIVE)]
        }
        _ => Wrong::new(),
    }
}

/// Whether a quantity is not an integer.
pub(crate) fn is_fraction(amount: Quantity) -> bool {
    Quantity::of(amount.value()) != amount
}

/// The warning about a fraction of a byte, which Kubernetes accepts. `path` is that of the quantities.
pub(crate) fn fraction_warning(amounts: &Value, resource: &str, path: &str) -> Option<String> {
    let amount = Quantity::parse(amounts.field_named(resource).as_str()?).ok()?;
    is_fraction(amount).then(|| {
        format!("{path}[{resource}]: fractional byte value {:?} is invalid, must be an integer", amount.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_value_equals_an_empty_one() {
        assert!(same(&json!({"a": 1, "b": {}, "c": []}), &json!({"a": 1, "d": null})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 2})));
        assert!(!same(&json!([1, 2]), &json!([2, 1])));
    }

    /// Visiting a field twice at each depth would not end.
    #[test]
    fn nested_values_are_compared_once() {
        let nested = |leaf: Value| (0..60).fold(leaf, |below, _| json!({"a": below}));
        assert!(same(&nested(json!({"b": null})), &nested(json!({}))));
        assert!(same(&nested(json!({})), &nested(json!({"b": [], "d": null}))));
        assert!(!same(&nested(json!({"b": 1})), &nested(json!({}))));
        assert!(!same(&nested(json!({})), &nested(json!({"b": {"c": 1}}))));
    }

    #[test]
    fn a_selector_has_to_match_its_template() {
        let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "c"}}}});
        let wrong = selector_and_template(&spec, "spec", "deployment");
        assert_eq!(
            wrong[0].message(),
            "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`"
        );
        assert_eq!(selector_and_template(&json!({}), "spec", "x")[0].message(), "spec.selector: Required value");
    }

    #[test]
    fn cidrs_are_validated() {
        assert!(cidr("10.0.0.0/8", "p", &Release::default()).is_empty());
        assert!(!cidr("nonsense", "p", &Release::default()).is_empty());
        assert!(!cidr("10.0.0.0/33", "p", &Release::default()).is_empty());
    }
}
