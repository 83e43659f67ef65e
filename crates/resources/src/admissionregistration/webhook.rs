//! Configurations of webhooks. In Kubernetes: `validateValidatingWebhook`, `validateMutatingWebhook`.

use std::collections::BTreeSet;

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, JsonKey, Object, names};
use coracle_registry::client_config::{wrong_service, wrong_url};
use coracle_registry::{Generation, KindSpec, TableColumn};
use coracle_release::Release;
use serde_json::Value;

use super::GROUP;
use super::match_rules::{wrong_conditions, wrong_rule};
use super::{reserved_names, unseen_resources};
use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid, label_selector, one_of};

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];

/// A kind of webhook configurations: the two kinds differ only in their names.
pub(super) fn configuration(release: &Release, plural: &str) -> KindSpec {
    KindSpec {
        generation: Generation::Fields(&["webhooks"]),
        validate: |object, _| wrong_webhooks(object),
        validate_create: reserved_names::wrong_name,
        warnings: |new, old, release| {
            [reserved_names::warnings(new, old, release), unseen_resources::warnings(new, release)].concat()
        },
        columns: columns(),
        takes_any_finalizer: true,
        ..built_in(release, GROUP, "v1", plural)
    }
}

fn columns() -> Vec<TableColumn> {
    vec![
        TableColumn::name(),
        TableColumn::integer(
            "Webhooks",
            "Webhooks indicates the number of webhooks registered in this configuration",
            |object| object.list("webhooks").len().into(),
        ),
        TableColumn::age(),
    ]
}

fn wrong_webhooks(object: &Object) -> Wrong {
    let hooks = object.list("webhooks");
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, hook) in hooks.iter().enumerate() {
        let path = format!("webhooks[{at}]");
        wrong.extend(wrong_webhook(hook, &path));
        wrong.extend(wrong_review_versions(hook.list("admissionReviewVersions"), &path));
        let name = hook.text("name");
        if !seen.insert(name) && !name.is_empty() {
            wrong.push(FieldError::duplicate(format!("{path}.name"), name));
        }
    }
    wrong
}

fn wrong_webhook(hook: &Value, path: &str) -> Wrong {
    let mut wrong = qualified_name(hook.text("name"), &format!("{path}.name"));
    for (at, rule) in hook.list("rules").iter().enumerate() {
        wrong.extend(wrong_rule(rule, &format!("{path}.rules[{at}]")));
    }
    for (field, words) in [
        ("failurePolicy", ["Fail", "Ignore"]),
        ("matchPolicy", ["Equivalent", "Exact"]),
        ("reinvocationPolicy", ["IfNeeded", "Never"]),
        ("sideEffects", SIDE_EFFECTS),
    ] {
        if hook.has(field) {
            wrong.extend(one_of(hook, field, path, &words));
        }
    }
    if !hook.has("sideEffects") {
        let what = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
        wrong.push(FieldError::required(format!("{path}.sideEffects"), what));
    }
    if let Some(seconds) = hook.int_if_set("timeoutSeconds")
        && !(1..=30).contains(&seconds)
    {
        let what = "the timeout value must be between 1 and 30 seconds";
        wrong.push(FieldError::invalid(format!("{path}.timeoutSeconds"), seconds, what));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        wrong.extend(label_selector(hook.at(selector), &format!("{path}.{selector}")));
    }
    let (config, path_of_config) = (hook.at("clientConfig"), format!("{path}.clientConfig"));
    match (config.at("url").as_str(), config.has("service")) {
        (None, true) => wrong.extend(wrong_service(config.at("service"), &format!("{path_of_config}.service"))),
        (Some(url), false) => wrong.extend(wrong_url(url, &format!("{path_of_config}.url"))),
        _ => wrong.push(FieldError::required(path_of_config, "exactly one of url or service is required")),
    }
    wrong.extend(wrong_conditions(hook.list("matchConditions"), &format!("{path}.matchConditions"), false));
    wrong
}

/// In Kubernetes: `IsFullyQualifiedName`.
fn qualified_name(name: &str, path: &str) -> Wrong {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let sentences = names::dns1123_subdomain(name);
    if !sentences.is_empty() {
        return vec![FieldError::invalid(path, name, sentences.join(","))];
    }
    if name.split('.').count() < 3 {
        let what = "should be a domain with at least three segments separated by dots";
        return vec![FieldError::invalid(path, name, what)];
    }
    Wrong::new()
}

fn wrong_review_versions(versions: &[Value], path: &str) -> Wrong {
    let path = format!("{path}.admissionReviewVersions");
    if versions.is_empty() {
        return vec![FieldError::required(path, format!("must specify one of {}", REVIEW_VERSIONS.join(", ")))];
    }
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, version) in versions.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        let path = format!("{path}[{at}]");
        if !seen.insert(JsonKey(version)) {
            wrong.push(FieldError::invalid(path, text, "duplicate version"));
        } else {
            wrong.extend(each_invalid(&path, text, names::dns1035_label(text)));
        }
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.iter().any(|known| known == version)) {
        let what = format!("must include at least one of {}", REVIEW_VERSIONS.join(", "));
        wrong.push(FieldError::invalid(path, versions, what));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(wrong: Wrong) -> Vec<String> {
        wrong.iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_webhook_has_an_address_and_versions() {
        let object = Object::from_value(json!({"webhooks": [{}]})).unwrap();
        let said = messages(wrong_webhooks(&object));
        assert_eq!(
            said,
            [
                "webhooks[0].name: Required value",
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
                "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
                "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ]
        );
    }
}
