use coracle_meta::{FieldError, Object, names};
use serde_json::Value;

use super::definition::{Definition, Version, list};
use super::json_path::JsonPath;
use super::rule_check::check_rules;

/// How many fields of a version selectors may name.
const MOST_SELECTABLE: usize = 8;
const COLUMN_TYPES: &str = "boolean,date,integer,number,string";

/// What is wrong with a definition. In Kubernetes: `ValidateCustomResourceDefinition`.
pub(super) fn check(object: &Object) -> Vec<FieldError> {
    check_against(object, None)
}

/// What is wrong with a definition, which may have been another before.
fn check_against(object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let definition = Definition::read(object);
    let value = object.as_value();
    let mut errors = Vec::new();
    if definition.name != format!("{}.{}", definition.names.plural, definition.group) {
        let what = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", definition.name.as_str(), what));
    }
    check_group_and_scope(&definition, object, &mut errors);
    check_versions(&definition, value, old.map(Object::as_value), &mut errors);
    check_names(&definition, &mut errors);
    check_conversion(object, &mut errors);
    check_stored_versions(&definition, object, &mut errors);
    check_approval(&definition, object, &mut errors);
    errors
}

/// What is wrong with a change of a definition. In Kubernetes: `ValidateCustomResourceDefinitionUpdate`.
pub(super) fn check_update(new: &Object, old: &Object) -> Vec<FieldError> {
    let mut errors = check_against(new, Some(old));
    let mut immutable = |path: &[&str]| {
        if new.field(path) != old.field(path) {
            let value = new.field(path).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(path.join("."), value, "field is immutable"));
        }
    };
    immutable(&["spec", "scope"]);
    immutable(&["spec", "names", "kind"]);
    immutable(&["spec", "group"]);
    immutable(&["spec", "names", "plural"]);
    errors
}

fn check_group_and_scope(definition: &Definition, object: &Object, errors: &mut Vec<FieldError>) {
    let group = definition.group.as_str();
    let wrong = names::dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
    match object.text("spec.scope") {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => errors.push(FieldError::not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
}

fn check_versions(definition: &Definition, value: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let versions = &definition.versions;
    // What one version alone says is, inside Kubernetes, said of the whole definition, and so are its errors.
    let is_single = versions.len() == 1;
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        let wrong = names::dns1035_label(&version.name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.name"), version.name.as_str(), wrong.join(",")));
        }
        let raw = &list(value, "/spec/versions")[index];
        let has_schema = raw.pointer("/schema/openAPIV3Schema").is_some_and(|schema| !schema.is_null());
        if !has_schema {
            errors.push(FieldError::required(format!("{path}.schema.openAPIV3Schema"), ""));
        }
        let below = if is_single { "spec".to_owned() } else { path };
        if has_schema {
            let schema = if is_single { "spec.validation".to_owned() } else { format!("{below}.schema") };
            check_schema(version, &format!("{schema}.openAPIV3Schema"), is_unchanged(version, old), errors);
        }
        check_subresources(version, raw, &below, errors);
        check_columns(version, &below, errors);
        check_selectable(version, &below, errors);
    }
    check_version_list(definition, value, errors);
}

/// Whether a version has the schema that it had. In Kubernetes: `findVersionsWithUnchangedSchemas`.
fn is_unchanged(version: &Version, old: Option<&Value>) -> bool {
    let before = old.map_or(&[][..], |old| list(old, "/spec/versions"));
    let before = before.iter().find(|before| before.get("name").and_then(Value::as_str) == Some(&version.name));
    before.and_then(|before| before.pointer("/schema/openAPIV3Schema")) == Some(&version.published)
}

fn check_schema(version: &Version, path: &str, is_unchanged: bool, errors: &mut Vec<FieldError>) {
    let of_schema = version.schema.check(path);
    let is_structural = of_schema.is_empty();
    errors.extend(of_schema);
    if is_structural {
        check_rules(&version.schema, path, is_unchanged, errors);
    }
}

fn check_version_list(definition: &Definition, value: &Value, errors: &mut Vec<FieldError>) {
    let versions = &definition.versions;
    if versions.is_empty() {
        errors.push(FieldError::required("spec.versions", "must have at least one version"));
    }
    let is_twice =
        |(index, version): (usize, &Version)| versions[..index].iter().any(|other| other.name == version.name);
    let printed = || go_versions(value);
    if versions.iter().enumerate().any(is_twice) {
        let what = format!("{}: must contain unique version names", printed());
        errors.push(FieldError::invalid_unprinted("spec.versions", what));
    }
    if versions.iter().filter(|version| version.storage).count() != 1 {
        let what = format!("{}: must have exactly one version marked as storage version", printed());
        errors.push(FieldError::invalid_unprinted("spec.versions", what));
    }
    if let Some(first) = versions.first() {
        let wrong = names::dns1035_label(&first.name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid("spec.version", first.name.as_str(), wrong.join(",")));
        }
    }
}

/// The versions as Kubernetes prints its internal form of them; what they share stands elsewhere there.
fn go_versions(value: &Value) -> String {
    let print = |version: &Value| {
        let flag = |name: &str| version.get(name).and_then(Value::as_bool).unwrap_or(false);
        let warning = version.get("deprecationWarning").cloned().unwrap_or_default();
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{warning},\"Schema\":null,\
             \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
            version.get("name").cloned().unwrap_or_default(),
            flag("served"),
            flag("storage"),
            flag("deprecated"),
        )
    };
    let versions: Vec<_> = list(value, "/spec/versions").iter().map(print).collect();
    format!("[{}]", versions.join(","))
}

fn check_subresources(version: &Version, raw: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(scale) = raw.pointer("/subresources/scale").filter(|scale| scale.is_object()) else { return };
    let text = |name: &str| scale.get(name).and_then(Value::as_str).unwrap_or("");
    let mut check = |name: &str, roots: &[&str], is_required: bool| {
        let (found, field) = (text(name), format!("{path}.subresources.scale.{name}"));
        if found.is_empty() {
            if is_required {
                errors.push(FieldError::required(field, ""));
            }
        } else if !roots.iter().any(|root| found.starts_with(root)) {
            let roots: Vec<_> = roots.iter().map(|root| root.trim_end_matches('.')).collect();
            let what = format!("should be a json path under {}", roots.join(" or "));
            errors.push(FieldError::invalid(field, found, what));
        } else if let Err(why) = JsonPath::parse(found) {
            errors.push(FieldError::invalid(field, found, why));
        }
    };
    check("specReplicasPath", &[".spec."], true);
    check("statusReplicasPath", &[".status."], true);
    check("labelSelectorPath", &[".spec.", ".status."], false);
    let _ = version;
}

fn check_columns(version: &Version, path: &str, errors: &mut Vec<FieldError>) {
    for (index, column) in version.columns.iter().enumerate() {
        let path = format!("{path}.additionalPrinterColumns[{index}]");
        if column.name.is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let what = format!("must be one of {COLUMN_TYPES}");
        if column.kind.is_empty() {
            errors.push(FieldError::required(format!("{path}.type"), what));
        } else if !COLUMN_TYPES.split(',').any(|kind| kind == column.kind) {
            errors.push(FieldError::invalid(format!("{path}.type"), column.kind.as_str(), what));
        }
        let formats = "byte,date,date-time,double,float,int32,int64,password";
        if !column.format.is_empty() && !formats.split(',').any(|format| format == column.format) {
            let what = format!("must be one of {formats}");
            errors.push(FieldError::invalid(format!("{path}.format"), column.format.as_str(), what));
        }
        let field = format!("{path}.JSONPath");
        if column.json_path.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if let Err(why) = JsonPath::parse(&column.json_path) {
            errors.push(FieldError::invalid(field, column.json_path.as_str(), format!("is an invalid path: {why}")));
        }
    }
}

fn check_selectable(version: &Version, path: &str, errors: &mut Vec<FieldError>) {
    use coracle_schema::structural::ValueType::{Boolean, Integer, String};
    let selectable = &version.selectable;
    for (index, field) in selectable.iter().enumerate() {
        let (place, text) = (format!("{path}.selectableFields[{index}].jsonPath"), format!(".{field}"));
        if field.is_empty() {
            errors.push(FieldError::required(place, ""));
            continue;
        }
        let mut steps = field.split('.');
        let found = steps.try_fold(version.schema.as_ref(), |schema, step| schema.properties.get(step));
        if field.starts_with("metadata") {
            errors.push(FieldError::invalid(place, text, "must not point to fields in metadata"));
        } else if let Some(schema) = found {
            if !matches!(schema.value_type, Some(String | Boolean | Integer)) {
                let what = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                    with formats are allowed.";
                errors.push(FieldError::invalid(place, text, what));
            } else if selectable[..index].contains(field) {
                errors.push(FieldError::duplicate(place, text));
            }
        } else {
            errors.push(FieldError::invalid(place, text, "is an invalid path: does not refer to a valid field"));
        }
    }
    if selectable.len() > MOST_SELECTABLE {
        errors.push(FieldError::too_many(format!("{path}.selectableFields"), selectable.len(), MOST_SELECTABLE));
    }
}

fn check_names(definition: &Definition, errors: &mut Vec<FieldError>) {
    let names = &definition.names;
    for (field, name) in [("plural", &names.plural), ("singular", &names.singular)] {
        let wrong = names::dns1035_label(name);
        if name.is_empty() {
            errors.push(FieldError::required(format!("spec.names.{field}"), ""));
        } else if !wrong.is_empty() {
            errors.push(FieldError::invalid(format!("spec.names.{field}"), name.as_str(), wrong.join(",")));
        }
    }
    for (field, name) in [("kind", &names.kind), ("listKind", &names.list_kind)] {
        let wrong = names::dns1035_label(&name.to_lowercase());
        if name.is_empty() {
            errors.push(FieldError::required(format!("spec.names.{field}"), ""));
        } else if !wrong.is_empty() {
            let what = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(FieldError::invalid(format!("spec.names.{field}"), name.as_str(), what));
        }
    }
    for (field, words) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        for (index, word) in words.iter().enumerate() {
            let wrong = names::dns1035_label(word);
            if !wrong.is_empty() {
                let field = format!("spec.names.{field}[{index}]");
                errors.push(FieldError::invalid(field, word.as_str(), wrong.join(",")));
            }
        }
    }
    if !names.kind.is_empty() && names.kind == names.list_kind {
        let what = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", names.list_kind.as_str(), what));
    }
}

fn check_conversion(object: &Object, errors: &mut Vec<FieldError>) {
    let webhook = object.field("spec.conversion.webhook").filter(|webhook| webhook.is_object());
    match object.text("spec.conversion.strategy") {
        "None" => {
            if webhook.is_some_and(|webhook| webhook.get("clientConfig").is_some()) {
                let what = "should not be set when strategy is not set to Webhook";
                errors.push(FieldError::forbidden("spec.conversion.webhookClientConfig", what));
            }
        }
        "Webhook" => {
            let client = webhook.and_then(|webhook| webhook.get("clientConfig"));
            let field = "spec.conversion.webhookClientConfig";
            match client {
                None => errors.push(FieldError::required(field, "required when strategy is set to Webhook")),
                Some(client) if client.get("url").is_some() == client.get("service").is_some() => {
                    errors.push(FieldError::required(field, "exactly one of url or service is required"));
                }
                Some(_) => {}
            }
            let versions = webhook.map_or(&[][..], |webhook| list(webhook, "/conversionReviewVersions"));
            let field = "spec.conversion.conversionReviewVersions";
            if versions.is_empty() {
                errors.push(FieldError::required(field, ""));
            } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
                let what = "must include at least one of v1, v1beta1";
                errors.push(FieldError::invalid(field, versions.to_vec(), what));
            }
        }
        other => errors.push(FieldError::not_supported("spec.conversion.strategy", other, &["None", "Webhook"])),
    }
}

fn check_stored_versions(definition: &Definition, object: &Object, errors: &mut Vec<FieldError>) {
    let stored = object.texts("status.storedVersions");
    let field = "status.storedVersions";
    if stored.is_empty() {
        errors.push(FieldError::invalid(field, Value::Null, "must have at least one stored version"));
        return;
    }
    for (index, version) in stored.iter().enumerate() {
        if !definition.versions.iter().any(|known| known.name == *version) {
            let what = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
                 {version} from status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("{field}[{index}]"), version.as_str(), what));
        }
    }
}

/// Groups of the community need somebody's approval.
fn check_approval(definition: &Definition, object: &Object, errors: &mut Vec<FieldError>) {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    let group = definition.group.as_str();
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    if is_protected && object.annotation(ANNOTATION).is_none_or(str::is_empty) {
        let what = format!(
            "protected groups must have approval annotation {ANNOTATION:?}, see \
             https://github.com/kubernetes/enhancements/pull/1111"
        );
        errors.push(FieldError::required(format!("metadata.annotations[{ANNOTATION}]"), what));
    }
}
