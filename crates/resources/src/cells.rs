//! Common formats of table cells. In Kubernetes: the small functions of `pkg/printers/internalversion`.

use coracle_ambient::Timestamp;
use coracle_meta::fields::Fields;
use coracle_meta::{LabelSelector, Object};
use coracle_registry::{TableColumn, table};
use serde_json::Value;

/// The duration since a time; `<unknown>` without a time.
pub(crate) fn since(time: &Value, now: Timestamp) -> String {
    table::since(time.as_str().unwrap_or_default(), now)
}

/// The name of a class, and whether it is the default one.
pub(crate) fn name_of_class(object: &Object, is_default: bool) -> Value {
    if is_default { format!("{} (default)", object.name()).into() } else { object.name().into() }
}

/// A text, or a placeholder if it is missing or empty.
pub(crate) fn text_or(value: &str, stand_in: &str) -> Value {
    if value.is_empty() { stand_in.into() } else { value.into() }
}

/// A text field that may be unset.
pub(crate) fn set_or(value: &Value, stand_in: &str) -> Value {
    value.as_str().unwrap_or(stand_in).into()
}

/// The names of the containers at a path.
pub(crate) fn containers(path: &'static str) -> TableColumn {
    TableColumn::text("Containers", "Names of each container in the template.", move |object| {
        join(object, path, "name")
    })
}

/// The images of the containers at a path.
pub(crate) fn images(path: &'static str) -> TableColumn {
    TableColumn::text("Images", "Images referenced by each container in the template.", move |object| {
        join(object, path, "image")
    })
}

fn join(object: &Object, path: &str, field: &str) -> Value {
    object.list(path).iter().map(|container| container.text(field)).collect::<Vec<_>>().join(",").into()
}

/// A map of labels: `a=b,c=d`, or `<none>`.
pub(crate) fn labels(map: &Value) -> Value {
    let pairs: Vec<_> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
        .collect();
    text_or(&pairs.join(","), "<none>")
}

/// A label selector as text, or `<none>`.
pub(crate) fn selector(selector: &Value) -> Value {
    match selector_text(selector) {
        Some(text) => text_or(&text, "<none>"),
        None => "<error>".into(),
    }
}

/// A label selector as text; `None` if it is invalid.
pub(crate) fn selector_text(selector: &Value) -> Option<String> {
    let selector = LabelSelector::from_json((!selector.is_null()).then_some(selector)).ok()?;
    Some(selector.to_string())
}

/// The first `limit` items of a list, and the number of others.
pub(crate) fn some_of(list: &[String], limit: usize, separator: &str, if_empty: &str) -> Value {
    some_of_so_many(list, list.len(), limit, separator, if_empty)
}

/// The same for a list of `count` texts, given its first texts.
pub(crate) fn some_of_so_many(list: &[String], count: usize, limit: usize, separator: &str, if_empty: &str) -> Value {
    let shown = list.get(..limit).unwrap_or(list).join(separator);
    match count {
        0 => if_empty.into(),
        count if count > limit => format!("{shown} + {} more...", count - limit).into(),
        _ => shown.into(),
    }
}

/// `True`, `False` or `<unset>`.
pub(crate) fn flag_word(value: &Value) -> Value {
    match value.as_bool() {
        Some(true) => "True".into(),
        Some(false) => "False".into(),
        None => "<unset>".into(),
    }
}

/// Whether a condition of this type has this status.
pub(crate) fn has_condition(object: &Object, kind: &str, status: &str) -> bool {
    let conditions = object.list("status.conditions");
    conditions.iter().any(|condition| condition.text("type") == kind && condition.text("status") == status)
}

/// The addresses of a load balancer, sorted, without duplicates.
pub(crate) fn load_balancer_addresses(object: &Object) -> Vec<String> {
    let mut addresses: Vec<String> = object
        .list("status.loadBalancer.ingress")
        .iter()
        .map(|ingress| if ingress.text("ip").is_empty() { ingress.text("hostname") } else { ingress.text("ip") })
        .filter(|address| !address.is_empty())
        .map(str::to_owned)
        .collect();
    addresses.sort();
    addresses.dedup();
    addresses
}
