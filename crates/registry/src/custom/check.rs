use std::collections::{BTreeMap, BTreeSet};

use coracle_meta::{FieldError, JsonKey, Object, names};
use coracle_release::Release;
use serde_json::Value;

use super::conditions::is_established;
use super::conversion_check::check_conversion;
use super::definition::{Definition, list};
use super::names_check::{check_names, check_required_names};
use super::version_check::{check_columns, check_schema, check_selectable, check_subresources, deprecation_problem};

/// The errors of a definition. In Kubernetes: `ValidateCustomResourceDefinition`.
pub(super) fn check(object: &Object) -> Vec<FieldError> {
    let definition = Definition::read(object);
    let mut errors = Vec::new();
    if definition.name != format!("{}.{}", definition.names.plural, definition.group) {
        let what = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", definition.name.as_str(), what));
    }
    errors.extend(check_against(&definition, object, None));
    errors
}

/// The errors of a change of a definition. In Kubernetes: `ValidateCustomResourceDefinitionUpdate`.
pub(super) fn check_update(new: &Object, old: &Object) -> Vec<FieldError> {
    let mut errors = check_against(&Definition::read(new), new, Some(old));
    let is_of_schema = |error: &FieldError| error.field.contains("openAPIV3Schema");
    if errors.iter().any(is_of_schema) {
        // Existing errors of a schema can stay.
        let known = check_against(&Definition::read(old), old, None);
        // Equal errors have the same field, and there are few for each field.
        let mut of_field: BTreeMap<&str, Vec<&FieldError>> = BTreeMap::new();
        known.iter().for_each(|error| of_field.entry(&error.field).or_default().push(error));
        let is_known =
            |error: &FieldError| of_field.get(error.field.as_str()).is_some_and(|known| known.contains(&error));
        errors.retain(|error| !is_of_schema(error) || !is_known(error));
    }
    errors
}

/// The errors of a write of the status. In Kubernetes: `ValidateUpdateCustomResourceDefinitionStatus`.
pub(super) fn check_status(new: &Object, _old: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_names(new.field("status.acceptedNames").unwrap_or(&Value::Null), "status.acceptedNames", &mut errors);
    errors
}

/// The formats that are not validated, for each occurrence in the schema of a string.
/// In Kubernetes: `getUnrecognizedFormatsInCRD`.
pub(super) fn warnings(new: &Object, old: Option<&Object>, release: &Release) -> Vec<String> {
    let of_all_types = release.has("FormatsFitTheirTypes");
    let formats = |object: &Object| {
        let versions = list(object.as_value(), "/spec/versions").to_vec();
        let mut schemas: Vec<Value> = versions.into_iter().map(|version| schema_of(&version).clone()).collect();
        // A common schema of all versions is kept once.
        if schemas.iter().all(|schema| schema == &schemas[0]) {
            schemas.truncate(1);
        }
        schemas
            .iter()
            .flat_map(|schema| coracle_schema::structural::unrecognized_formats(schema, of_all_types))
            .collect::<Vec<String>>()
    };
    let known: BTreeSet<String> = old.map(formats).unwrap_or_default().into_iter().collect();
    let unrecognized = formats(new).into_iter().filter(|format| !known.contains(format));
    unrecognized.map(|format| format!("unrecognized format {format:?}")).collect()
}

/// The errors of a definition, given its previous version, if any.
fn check_against(definition: &Definition, object: &Object, old: Option<&Object>) -> Vec<FieldError> {
    let value = object.as_value();
    let mut errors = Vec::new();
    check_group_and_scope(definition, object, &mut errors);
    let keeps_unknown = object.flag_at("spec.preserveUnknownFields");
    if keeps_unknown && definition.versions.iter().any(|version| has_defaults(&version.published)) {
        let what = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, what));
    }
    let unchanged = &Unchanged::new(old);
    check_versions(value, unchanged, &mut errors);
    check_version_list(value, &mut errors);
    check_required_names(&definition.names, &mut errors);
    check_names(object.field("spec.names").unwrap_or(&Value::Null), "spec.names", &mut errors);
    check_shared(value, unchanged, &mut errors);
    let strategy = object.text("spec.conversion.strategy");
    if keeps_unknown && strategy != "None" {
        let what = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid("spec.conversion.strategy", strategy, what));
    }
    let may_trust_anything = old.is_none_or(|old| !is_established(old));
    check_conversion(object, may_trust_anything, &mut errors);
    if let Some(old) = old {
        check_immutable(object, old, &mut errors);
    }
    check_names(object.field("status.acceptedNames").unwrap_or(&Value::Null), "status.acceptedNames", &mut errors);
    check_stored_versions(definition, object, &mut errors);
    check_approval(definition, object, old, &mut errors);
    if keeps_unknown && !old.is_some_and(|old| old.flag_at("spec.preserveUnknownFields")) {
        let what =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, what));
    }
    errors
}

/// Whether a schema contains a default.
fn has_defaults(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, below)| match name.as_str() {
            "default" => !below.is_null(),
            "properties" => below.as_object().is_some_and(|below| below.values().any(has_defaults)),
            "enum" | "example" => false,
            _ => has_defaults(below),
        }),
        Value::Array(items) => items.iter().any(has_defaults),
        _ => false,
    }
}

trait FlagAt {
    fn flag_at(&self, path: &str) -> bool;
}

impl FlagAt for Object {
    fn flag_at(&self, path: &str) -> bool {
        self.field(path).and_then(Value::as_bool).unwrap_or(false)
    }
}

fn check_immutable(new: &Object, old: &Object, errors: &mut Vec<FieldError>) {
    let mut immutable = |path: &[&str]| {
        if new.field(path) != old.field(path) {
            let value = new.field(path).cloned().unwrap_or_default();
            errors.push(FieldError::invalid(path.join("."), value, "field is immutable"));
        }
    };
    if is_established(old) {
        immutable(&["spec", "scope"]);
        immutable(&["spec", "names", "kind"]);
    }
    immutable(&["spec", "group"]);
    immutable(&["spec", "names", "plural"]);
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

/// The previous versions, by name.
#[derive(Default)]
struct Unchanged<'o> {
    before: BTreeMap<JsonKey<'o>, &'o Value>,
}

impl<'o> Unchanged<'o> {
    fn new(old: Option<&'o Object>) -> Self {
        let mut before = BTreeMap::new();
        for version in old.map_or(&[][..], |old| list(old.as_value(), "/spec/versions")) {
            before.entry(JsonKey(&version["name"])).or_insert(version);
        }
        Self { before }
    }

    /// Whether the schema of a version is unchanged. In Kubernetes: `findVersionsWithUnchangedSchemas`.
    fn schema(&self, version: &Value) -> bool {
        let before = self.before.get(&JsonKey(&version["name"]));
        before.is_some_and(|before| schema_of(before) == schema_of(version))
    }

    /// Whether a version already had too many selectable fields, and they are unchanged.
    fn selectable(&self, version: &Value) -> bool {
        let before = self.before.get(&JsonKey(&version["name"]));
        before.is_some_and(|before| before["selectableFields"] == version["selectableFields"])
    }
}

const NOTHING: &Value = &Value::Null;

fn schema_of(version: &Value) -> &Value {
    version.pointer("/schema/openAPIV3Schema").unwrap_or(NOTHING)
}

/// Whether all versions are equal at a place: Kubernetes moves the value to the whole definition.
fn is_shared(versions: &[Value], pointer: &str) -> bool {
    let at = |version: &Value| version.pointer(pointer).cloned().unwrap_or_default();
    versions.first().map(at).is_some_and(|first| versions.iter().all(|version| at(version) == first))
}

/// The fields that versions can share.
const SHARED: [&str; 4] = ["/schema", "/subresources", "/additionalPrinterColumns", "/selectableFields"];

fn check_versions(value: &Value, unchanged: &Unchanged<'_>, errors: &mut Vec<FieldError>) {
    let versions = list(value, "/spec/versions");
    for (at, version) in versions.iter().enumerate() {
        if schema_of(version).is_null() {
            errors.push(FieldError::required(format!("spec.versions[{at}].schema.openAPIV3Schema"), ""));
        }
    }
    let [shares_schema, shares_subresources, shares_columns, shares_selectable] =
        SHARED.map(|at| is_shared(versions, at));
    for (at, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{at}]");
        let name = version["name"].as_str().unwrap_or("");
        let wrong = names::dns1035_label(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.name"), name, wrong.join(",")));
        }
        for what in deprecation_problem(version) {
            let field = format!("{path}.deprecationWarning");
            errors.push(FieldError::invalid(field, version["deprecationWarning"].clone(), what));
        }
        if !shares_schema {
            let has_status = has_status(version);
            let schema = format!("{path}.schema");
            check_schema(schema_of(version), &schema, has_status, unchanged.schema(version), errors);
        }
        if !shares_subresources {
            check_subresources(version, &path, errors);
        }
        if !shares_columns {
            check_columns(version, &path, errors);
        }
        if !shares_selectable {
            check_selectable(version, schema_of(version), &path, unchanged.selectable(version), errors);
        }
    }
}

/// The errors of shared fields.
fn check_shared(value: &Value, unchanged: &Unchanged<'_>, errors: &mut Vec<FieldError>) {
    let versions = list(value, "/spec/versions");
    let Some(first) = versions.first() else { return };
    if is_shared(versions, "/schema") {
        let has_status = versions.iter().any(has_status);
        check_schema(schema_of(first), "spec.validation", has_status, unchanged.schema(first), errors);
    }
    if is_shared(versions, "/subresources") {
        check_subresources(first, "spec", errors);
    }
    if is_shared(versions, "/additionalPrinterColumns") {
        check_columns(first, "spec", errors);
    }
    if is_shared(versions, "/selectableFields") {
        check_selectable(first, schema_of(first), "spec", unchanged.selectable(first), errors);
    }
}

fn has_status(version: &Value) -> bool {
    version.pointer("/subresources/status").is_some_and(|status| !status.is_null())
}

fn check_version_list(value: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(value, "/spec/versions");
    let names: BTreeSet<_> = versions.iter().map(|version| JsonKey(&version["name"])).collect();
    let mut refuse = |what: &str| {
        let what = format!("{}: {what}", go_versions(value));
        errors.push(FieldError::invalid_unprinted("spec.versions", what));
    };
    if names.len() < versions.len() {
        refuse("must contain unique version names");
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    if let Some(first) = versions.first().and_then(|version| version["name"].as_str()).filter(|name| !name.is_empty()) {
        let wrong = names::dns1035_label(first);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid("spec.version", first, wrong.join(",")));
        }
    }
}

/// The versions as Kubernetes prints its internal form, without shared fields.
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
    match value.pointer("/spec/versions").and_then(Value::as_array) {
        Some(versions) => format!("[{}]", versions.iter().map(print).collect::<Vec<_>>().join(",")),
        None => "null".to_owned(),
    }
}

fn check_stored_versions(definition: &Definition, object: &Object, errors: &mut Vec<FieldError>) {
    let stored = object.texts("status.storedVersions");
    let field = "status.storedVersions";
    if stored.is_empty() {
        errors.push(FieldError::invalid(field, Value::Null, "must have at least one stored version"));
        return;
    }
    let stored_names: BTreeSet<&str> = stored.iter().map(String::as_str).collect();
    let is_missing = |name: &str| !stored_names.contains(name);
    for version in definition.versions.iter().filter(|version| version.storage && is_missing(&version.name)) {
        let what = format!("must have the storage version {}", version.name);
        errors.push(FieldError::invalid(field, stored.clone(), what));
    }
    let known: BTreeSet<&str> = definition.versions.iter().map(|version| version.name.as_str()).collect();
    for (index, version) in stored.iter().enumerate() {
        if !known.contains(version.as_str()) {
            let what = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {version} and removes \
                 {version} from status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("{field}[{index}]"), version.as_str(), what));
        }
    }
}

/// The state of the API approval annotation. In Kubernetes: `APIApprovalState`.
#[derive(PartialEq, Eq)]
enum Approval {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

const APPROVAL: &str = "api-approved.kubernetes.io";

fn approval(object: &Object) -> Approval {
    match object.annotation(APPROVAL).unwrap_or("") {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Bypassed,
        text => {
            let host = text.split_once("://").filter(|(scheme, _)| !scheme.is_empty()).map(|(_, rest)| rest);
            let host = host.and_then(|rest| rest.split(['/', '?']).next()).unwrap_or("");
            if host.is_empty() { Approval::Invalid } else { Approval::Approved }
        }
    }
}

/// Community groups need an approval. In Kubernetes: `validateAPIApproval`.
fn check_approval(definition: &Definition, object: &Object, old: Option<&Object>, errors: &mut Vec<FieldError>) {
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = definition.group.as_str();
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    let found = approval(object);
    if !is_protected || old.is_some_and(|old| approval(old) == found) {
        return;
    }
    let field = format!("metadata.annotations[{APPROVAL}]");
    let needs = format!("protected groups must have approval annotation {APPROVAL:?}");
    match found {
        Approval::Missing => errors.push(FieldError::required(field, format!("{needs}, {SEE}"))),
        Approval::Invalid => {
            let what = format!("{needs} with either a URL or a reason starting with \"unapproved\", {SEE}");
            errors.push(FieldError::invalid(field, object.annotation(APPROVAL).unwrap_or(""), what));
        }
        Approval::Approved | Approval::Bypassed => {}
    }
}
