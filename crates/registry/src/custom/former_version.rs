use coracle_meta::Object;
use serde_json::{Map, Value, json};

/// The fields that all versions can share in `v1beta1`, and that each version has in `v1`: the name in the spec, and in
/// a version.
const SHARED: [(&str, &str); 3] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
];

/// Converts a definition from `apiextensions.k8s.io/v1beta1`, in which kube-apiserver stores definitions, to `v1`.
///
/// In Kubernetes: the defaults of `v1beta1` and the conversions through the internal version.
pub(super) fn to_v1(object: &mut Object) {
    object.edit(|tree| {
        if let Some(Value::Object(spec)) = tree.get_mut("spec") {
            convert(spec);
        }
    });
}

fn convert(spec: &mut Map<String, Value>) {
    let only_version = spec.remove("version").filter(|version| version.as_str().is_some_and(|name| !name.is_empty()));
    let shared: Vec<_> = SHARED.iter().map(|(name, of_version)| (*of_version, spec.remove(*name))).collect();
    let versions = spec.entry("versions").or_insert(Value::Null);
    if let (true, Some(name)) = (versions.as_array().is_none_or(Vec::is_empty), only_version) {
        *versions = json!([{"name": name, "served": true, "storage": true}]);
    }
    for version in versions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for (name, value) in &shared {
            if let Some(value) = value.as_ref().filter(|value| !value.is_null()) {
                version.entry(*name).or_insert_with(|| value.clone());
            }
        }
        let columns = version.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut);
        for column in columns.into_iter().flatten().filter_map(Value::as_object_mut) {
            if let Some(path) = column.remove("JSONPath") {
                column.insert("jsonPath".to_owned(), path);
            }
        }
    }
    spec.entry("scope").or_insert_with(|| "Namespaced".into());
    spec.entry("preserveUnknownFields").or_insert(Value::Bool(true));
    if let Some(Value::Object(conversion)) = spec.get_mut("conversion") {
        let (config, versions) =
            (conversion.remove("webhookClientConfig"), conversion.remove("conversionReviewVersions"));
        if conversion.get("strategy").is_some_and(|strategy| strategy == "Webhook") {
            let versions = versions.unwrap_or_else(|| json!(["v1beta1"]));
            conversion
                .insert("webhook".to_owned(), json!({"clientConfig": config, "conversionReviewVersions": versions}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1(spec: Value) -> Value {
        let mut object = Object::from_value(json!({"metadata": {"name": "x"}, "spec": spec})).unwrap();
        to_v1(&mut object);
        object.field("spec").cloned().unwrap()
    }

    #[test]
    fn common_settings_of_all_versions_move_to_each_version() {
        let (validation, columns) = (json!({"openAPIV3Schema": {"type": "object"}}), json!([{"JSONPath": ".a"}]));
        let found = v1(json!({
            "version": "v1", "validation": validation, "additionalPrinterColumns": columns, "scope": "Cluster",
            "versions": [{"name": "v1", "subresources": {"status": {}}}, {"name": "v2"}], "preserveUnknownFields": false,
        }));
        assert_eq!(
            found["versions"][0],
            json!({
                "name": "v1", "subresources": {"status": {}}, "schema": validation,
                "additionalPrinterColumns": [{"jsonPath": ".a"}],
            })
        );
        assert_eq!(found["versions"][1]["schema"], validation);
        let rest: Vec<_> = found.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(rest, ["preserveUnknownFields", "scope", "versions"]);
    }

    #[test]
    fn a_definition_of_one_version_and_a_webhook_are_those_of_v1() {
        let conversion = json!({"strategy": "Webhook", "webhookClientConfig": {"url": "https://a"}});
        let found = v1(json!({"version": "v1alpha1", "conversion": conversion}));
        assert_eq!(found["versions"], json!([{"name": "v1alpha1", "served": true, "storage": true}]));
        assert_eq!(found["preserveUnknownFields"], true);
        let webhook = json!({"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1beta1"]});
        assert_eq!(found["conversion"], json!({"strategy": "Webhook", "webhook": webhook}));
    }
}
