//! `cargo xtask schema`: writes `crates/schema/table/types.txt` from three sources.
//!
//! ```text
//! definitions (OpenAPI: names, shapes, merge keys) -+
//! protos (tags, embedded structs) ------------------+--> types.txt
//! facts (what Go prints, defaults, values) ---------+
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::definitions::{self, Definitions};
use crate::facts::{Facts, short};
use crate::protos::{self, Messages};

/// Why a task could not be done.
pub(crate) type Failure = Box<dyn std::error::Error>;

struct Sources {
    definitions: Definitions,
    messages: Messages,
    facts: Facts,
}

/// Writes the table.
pub(crate) fn write() -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let facts = Path::new(env!("CARGO_MANIFEST_DIR")).join("facts");
    let sources = Sources {
        definitions: definitions::read(&target.join("xtask"))?,
        messages: protos::read()?,
        facts: Facts::read(&facts)?,
    };
    let mut unused: BTreeSet<String> = sources.facts.keys().cloned().collect();
    let mut out = String::new();
    let mut package = "";
    for (name, definition) in sources.definitions.iter().filter(|(name, _)| is_served(name)) {
        let (of, ty) = name.rsplit_once('.').ok_or("a type without a package")?;
        if of != package {
            package = of;
            writeln!(out, "package {package}")?;
        }
        write_type(&mut out, &sources, name, ty, definition)?;
        for field in fields(definition).keys() {
            unused.remove(&format!("{}.{field}", short(name)));
        }
    }
    if let Some(field) = unused.first() {
        return Err(format!("fields.txt speaks of {field}, which is no field").into());
    }
    out.push_str(&std::fs::read_to_string(facts.join("types.txt"))?);
    std::fs::write(root.join("crates/schema/table/types.txt"), out)?;
    Ok(())
}

/// Whether a type belongs to a group version that is served by default.
fn is_served(name: &str) -> bool {
    !name.contains("alpha") && !name.contains("beta")
}

fn write_type(
    out: &mut String,
    sources: &Sources,
    name: &str,
    ty: &str,
    definition: &Map<String, Value>,
) -> Result<(), Failure> {
    write!(out, "type {ty}")?;
    if let Some(special) = special(name) {
        writeln!(out, " is={special}")?;
        return Ok(());
    }
    if definition.get("x-kubernetes-map-type").is_some_and(|kind| kind == "atomic") {
        out.push_str(" atomic");
    }
    let kinds = definition.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
    let kinds: Vec<String> = kinds.into_iter().flatten().map(kind).collect();
    if !kinds.is_empty() {
        write!(out, " kinds={}", kinds.join(","))?;
    }
    let required: Vec<_> = list(definition, "required").collect();
    if !required.is_sorted() {
        write!(out, " required={}", required.join(","))?;
    }
    if let Some(unions) = definition.get("x-kubernetes-unions") {
        write!(out, " unions={unions}")?;
    }
    out.push('\n');
    let mut properties: Vec<_> = fields(definition).iter().collect();
    properties.sort_by_key(|(field, _)| place(sources, name, field));
    for (field, property) in properties {
        let required = list(definition, "required").any(|name| name == field);
        write_field(out, sources, name, field, property, required)?;
    }
    Ok(())
}

fn special(name: &str) -> Option<&'static str> {
    Some(match short(name) {
        "api.resource.Quantity" => "quantity",
        "util.intstr.IntOrString" => "int-or-string",
        "meta.v1.Time" => "time",
        "meta.v1.MicroTime" => "micro-time",
        "meta.v1.FieldsV1" => "fields",
        "meta.v1.Patch" => "patch",
        "runtime.RawExtension" => "raw-extension",
        "apiextensions.v1.JSON" => "json",
        "apiextensions.v1.JSONSchemaPropsOrArray" => "schema-or-array",
        "apiextensions.v1.JSONSchemaPropsOrBool" => "schema-or-bool",
        "apiextensions.v1.JSONSchemaPropsOrStringArray" => "schema-or-strings",
        _ => return None,
    })
}

fn kind(value: &Value) -> String {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match text("group").as_str() {
        "" => format!("{}/{}", text("version"), text("kind")),
        group => format!("{group}/{}/{}", text("version"), text("kind")),
    }
}

fn fields(definition: &Map<String, Value>) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    definition.get("properties").and_then(Value::as_object).unwrap_or(&NONE)
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a str> {
    object.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn write_field(
    out: &mut String,
    sources: &Sources,
    ty: &str,
    name: &str,
    property: &Value,
    required: bool,
) -> Result<(), Failure> {
    let property = property.as_object().ok_or("a property that is no object")?;
    let facts = sources.facts.of(ty, name);
    let said = |word: &str| facts.iter().any(|fact| fact == word);
    let shape = shape(property, ty)?;
    write!(out, " {name} {shape} {}", tags(sources, ty, name))?;
    if required {
        out.push_str(" required");
    }
    let plain = !shape.contains(|c: char| c.is_ascii_uppercase()) || shape.starts_with("[]") || shape.starts_with("{}");
    if said("or-null") {
        out.push_str(" or-null");
    } else if said("given") {
        out.push_str(" given");
    } else if said("always") || required && plain && !said("omitted") {
        out.push_str(" always");
    }
    let is_copied = |fact: &&String| ["default=", "values=", "go="].iter().any(|begin| fact.starts_with(begin));
    for fact in facts.iter().filter(is_copied) {
        write!(out, " {fact}")?;
    }
    let text = |name: &str| property.get(name).and_then(Value::as_str);
    match text("x-kubernetes-list-type") {
        Some("map") => {
            let keys: Vec<_> = list(property, "x-kubernetes-list-map-keys").collect();
            write!(out, " list=map:{}", keys.join(","))?;
        }
        Some(kind) => write!(out, " list={kind}")?,
        None => {}
    }
    if let Some(kind) = text("x-kubernetes-map-type") {
        write!(out, " map={kind}")?;
    }
    if let Some(strategy) = text("x-kubernetes-patch-strategy") {
        write!(out, " patch={strategy}")?;
    }
    if let Some(key) = text("x-kubernetes-patch-merge-key") {
        write!(out, " key={key}")?;
    }
    if !property.contains_key("description") {
        out.push_str(" undescribed");
    }
    out.push('\n');
    Ok(())
}

/// The shape in the table's words. The package writes `["string", "null"]` for what may be absent.
fn shape(property: &Map<String, Value>, ty: &str) -> Result<String, Failure> {
    if let Some(reference) = reference(property) {
        let package = ty.rsplit_once('.').map_or("", |(package, _)| package);
        let local = reference.strip_prefix(package).and_then(|rest| rest.strip_prefix('.'));
        return Ok(local.filter(|name| !name.contains('.')).unwrap_or(&reference).to_owned());
    }
    let kind = match property.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        Some(kind) => kind.as_str(),
        None => None,
    };
    let inner = |name: &str| -> Result<String, Failure> {
        shape(property.get(name).and_then(Value::as_object).ok_or("a list or map of nothing")?, ty)
    };
    Ok(match (kind, property.get("format").and_then(Value::as_str)) {
        (Some("string"), Some("byte")) => "bytes".to_owned(),
        (Some("string"), _) => "string".to_owned(),
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("integer"), Some(format @ ("int32" | "int64"))) => format.to_owned(),
        (Some("number"), _) => "double".to_owned(),
        (Some("array"), _) => format!("[]{}", inner("items")?),
        (Some("object"), _) => format!("{{}}{}", inner("additionalProperties")?),
        other => return Err(format!("{ty}: a property of {other:?}").into()),
    })
}

/// The type that `$ref` names, alone or among the branches of a union with `null`.
fn reference(property: &Map<String, Value>) -> Option<String> {
    let direct = property.get("$ref").and_then(Value::as_str);
    let branches = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|name| property.get(name)?.as_array()).flatten();
    let branch = branches.filter_map(|branch| branch.get("$ref")?.as_str()).next();
    direct.or(branch)?.rsplit('/').next().map(str::to_owned)
}

/// The protobuf tags from the message to the field, or `-`.
fn tags(sources: &Sources, ty: &str, field: &str) -> String {
    let Some(mut steps) = steps(sources, ty, field) else { return "-".to_owned() };
    steps.extend(items_of_a_named_list(sources, ty, field));
    steps.iter().map(|step| step.tag.to_string()).collect::<Vec<_>>().join(".")
}

/// The step to the elements of a list that is a Go type of its own (`metav1.Verbs`): protobuf has a message around them.
fn items_of_a_named_list(sources: &Sources, ty: &str, field: &str) -> Option<Step> {
    let is_list = *fields(sources.definitions.get(ty)?).get(field)?.get("type")? == "array";
    let own = sources.messages.get(&ty.to_lowercase())?.iter().find(|own| own.name == field.to_lowercase())?;
    let message = own.message.as_ref().filter(|_| is_list)?;
    let inner = format!("{}.{message}", ty.to_lowercase().rsplit_once('.')?.0);
    find_steps(&sources.messages, &inner, "items", BTreeSet::new())?.pop()
}

/// Where a field stands in Go's struct: messages list their fields in its order, and the kind comes before all of them.
fn place(sources: &Sources, ty: &str, field: &str) -> (u8, Vec<usize>) {
    match (steps(sources, ty, field), field) {
        (Some(steps), _) => (2, steps.iter().map(|step| step.at).collect()),
        (None, "kind") => (0, Vec::new()),
        (None, "apiVersion") => (1, Vec::new()),
        (None, _) => (3, Vec::new()),
    }
}

/// A step from a message to a field.
#[derive(Clone, Copy)]
struct Step {
    tag: u32,
    at: usize,
}

fn steps(sources: &Sources, ty: &str, field: &str) -> Option<Vec<Step>> {
    let name = sources.facts.protobuf_name(ty, field).unwrap_or(field);
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    find_steps(&sources.messages, &ty.to_lowercase(), &name, json_names(sources, ty))
}

fn json_names(sources: &Sources, ty: &str) -> BTreeSet<String> {
    let definition = sources.definitions.get(ty).map(|definition| fields(definition).keys());
    let plain = |name: &String| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    definition.into_iter().flatten().map(plain).collect()
}

/// A field that the message lacks is looked for in the messages that it embeds: those whose own field JSON lacks.
fn find_steps(messages: &Messages, message: &str, field: &str, json: BTreeSet<String>) -> Option<Vec<Step>> {
    let fields = messages.get(message)?;
    if let Some(at) = fields.iter().position(|candidate| candidate.name == field) {
        return Some(vec![Step { tag: fields[at].tag, at }]);
    }
    let package = message.rsplit_once('.')?.0;
    fields.iter().enumerate().filter(|(_, embedded)| !json.contains(&embedded.name)).find_map(|(at, embedded)| {
        let inner = format!("{package}.{}", embedded.message.as_ref()?);
        let mut steps = find_steps(messages, &inner, field, json.clone())?;
        steps.insert(0, Step { tag: embedded.tag, at });
        Some(steps)
    })
}
