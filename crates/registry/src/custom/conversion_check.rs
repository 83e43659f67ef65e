use std::collections::BTreeSet;

use coracle_meta::{FieldError, JsonKey, Object, names};
use serde_json::Value;

use super::definition::list;
use crate::client_config::{wrong_ca_bundle, wrong_service, wrong_url};

const WEBHOOK: &str = "spec.conversion.webhookClientConfig";
const VERSIONS: &str = "spec.conversion.conversionReviewVersions";

/// The errors of the conversion of a definition; with `may_trust_anything` the certificates of the webhook are not
/// validated. In Kubernetes: `validateCustomResourceConversion`.
pub(super) fn check_conversion(object: &Object, may_trust_anything: bool, errors: &mut Vec<FieldError>) {
    let Some(conversion) = object.field("spec.conversion").filter(|conversion| conversion.is_object()) else { return };
    let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
    let client = webhook.get("clientConfig").filter(|client| !client.is_null());
    let versions = list(webhook, "/conversionReviewVersions");
    match conversion.get("strategy").and_then(Value::as_str).unwrap_or("") {
        "Webhook" => {
            check_client(client, may_trust_anything, errors);
            check_versions(versions, errors);
            return;
        }
        "None" => {}
        "" => errors.push(FieldError::required("spec.conversion.strategy", "")),
        other => errors.push(FieldError::not_supported("spec.conversion.strategy", other, &["None", "Webhook"])),
    }
    let what = "should not be set when strategy is not set to Webhook";
    if client.is_some() {
        errors.push(FieldError::forbidden(WEBHOOK, what));
    }
    if !versions.is_empty() {
        errors.push(FieldError::forbidden(VERSIONS, what));
    }
}

fn check_client(client: Option<&Value>, may_trust_anything: bool, errors: &mut Vec<FieldError>) {
    let Some(client) = client else {
        errors.push(FieldError::required(WEBHOOK, "required when strategy is set to Webhook"));
        return;
    };
    let (url, service) = (client.get("url"), client.get("service").filter(|service| !service.is_null()));
    match (url.and_then(Value::as_str), service) {
        (Some(url), None) => errors.extend(wrong_url(url, &format!("{WEBHOOK}.url"))),
        (None, Some(service)) => errors.extend(wrong_service(service, &format!("{WEBHOOK}.service"))),
        _ => errors.push(FieldError::required(WEBHOOK, "exactly one of url or service is required")),
    }
    let bundle = client.get("caBundle").and_then(Value::as_str).unwrap_or("");
    if !may_trust_anything {
        errors.extend(wrong_ca_bundle(bundle, &format!("{WEBHOOK}.caBundle")));
    }
}

fn check_versions(versions: &[Value], errors: &mut Vec<FieldError>) {
    if versions.is_empty() {
        errors.push(FieldError::required(VERSIONS, ""));
        return;
    }
    let mut seen = BTreeSet::new();
    for (at, version) in versions.iter().enumerate() {
        let (field, name) = (format!("{VERSIONS}[{at}]"), version.as_str().unwrap_or(""));
        if !seen.insert(JsonKey(version)) {
            errors.push(FieldError::invalid(field, name, "duplicate version"));
            continue;
        }
        errors
            .extend(names::dns1035_label(name).into_iter().map(|what| FieldError::invalid(field.as_str(), name, what)));
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        errors.push(FieldError::invalid(VERSIONS, versions.to_vec(), "must include at least one of v1, v1beta1"));
    }
}
