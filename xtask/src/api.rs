//! `cargo xtask api`: writes `crates/api/src/generated/*.rs`, a module per group version, from the schema table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use coracle_meta::Scope;
use coracle_schema::{Field, Presence, ResourceRow, Shape, Special, Struct, Table, Type, TypeBody, TypeNode};

use crate::failure::Failure;

/// Types that the crate `meta` has by hand.
const OF_META: [&str; 3] = ["meta.v1.ObjectMeta", "meta.v1.OwnerReference", "meta.v1.ManagedFieldsEntry"];

/// Writes the modules.
pub(crate) fn write() -> Result<(), Failure> {
    let table = Table::newest();
    let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in reachable(table) {
        let ty = table.by_name(&name).ok_or("a reachable type is known")?;
        if let TypeBody::Struct(body) = &ty.body {
            let (module, source) = (module(&name), write_struct(table, ty, body)?);
            modules.entry(module).or_default().push(source);
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/api/src/generated");
    std::fs::create_dir_all(&folder)?;
    let mut index = "// Written by `cargo xtask api`.\n\n".to_owned();
    for (module, structs) in &modules {
        let body = structs.join("\n");
        let maps = if body.contains("BTreeMap") { "use std::collections::BTreeMap;\n\n" } else { "" };
        let resource = if body.contains("resource!(") { "\nuse crate::resource::resource;\n" } else { "" };
        let imports = format!("{maps}use coracle_meta::lean_struct;\n{resource}");
        let source = format!("// Written by `cargo xtask api`.\n\n{imports}\n{body}");
        std::fs::write(folder.join(format!("{module}.rs")), source)?;
        writeln!(index, "/// The kinds of `{}`.\npub mod {module};", module.replacen('_', "/", 1))?;
    }
    std::fs::write(folder.join("mod.rs"), index)?;
    let status = Command::new("cargo").args(["fmt", "-p", "coracle-api"]).status()?;
    if status.success() { Ok(()) } else { Err("cargo fmt failed".into()) }
}

/// The names of the types that objects of served resources, and the bodies of their subresources, are made of.
fn reachable(table: &Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let kinds = table
        .resources()
        .iter()
        .flat_map(|row| std::iter::once(&row.kind).chain(row.subresources.iter().map(|subresource| &subresource.kind)));
    let wanted: BTreeSet<_> = kinds.collect();
    let mut open: Vec<&Type> = table.types().filter(|ty| ty.kinds.iter().any(|kind| wanted.contains(kind))).collect();
    open.extend(table.by_name("io.k8s.apimachinery.pkg.apis.meta.v1.Condition"));
    while let Some(ty) = open.pop() {
        if by_hand(ty).is_some() || !found.insert(ty.name.clone()) {
            continue;
        }
        if let TypeBody::Struct(body) = &ty.body {
            open.extend(body.fields.iter().filter_map(|field| named(table, &field.shape)));
        }
    }
    found
}

fn named<'t>(table: &'t Table, shape: &Shape) -> Option<&'t Type> {
    match shape {
        Shape::Named(id) => Some(table.type_of(*id)),
        Shape::List(list) => named(table, &list.element),
        Shape::Map(map) => named(table, &map.value),
        _ => None,
    }
}

/// The Rust type of a type that is not generated.
fn by_hand(ty: &Type) -> Option<&'static str> {
    let name = short(&ty.name);
    if OF_META.contains(&name) {
        return Some(match name {
            "meta.v1.ObjectMeta" => "coracle_meta::ObjectMeta",
            "meta.v1.OwnerReference" => "coracle_meta::OwnerReference",
            _ => "coracle_meta::ManagedFieldsEntry",
        });
    }
    // A schema is data for whoever has one, not a thing to program against.
    if name == "apiextensions.v1.JSONSchemaProps" {
        return Some("serde_json::Value");
    }
    match &ty.body {
        TypeBody::Struct(_) => None,
        TypeBody::Special(special) => Some(match special {
            Special::Quantity => "coracle_meta::Quantity",
            Special::IntOrString => "coracle_meta::IntOrString",
            Special::Time | Special::MicroTime => "String",
            _ => "serde_json::Value",
        }),
    }
}

fn write_struct(table: &Table, ty: &Type, body: &Struct) -> Result<String, Failure> {
    let (_, name) = ty.name.rsplit_once('.').ok_or("a type has a package")?;
    let row = table.resources().iter().find(|row| ty.kinds.contains(&row.kind));
    let kind = row.map(|row| &row.kind).or_else(|| {
        let is_root = body.field("metadata").is_some() && body.field("kind").is_some();
        ty.kinds.first().filter(|_| is_root)
    });
    let mut out = "lean_struct! {\n".to_owned();
    writeln!(out, "    /// In Kubernetes: `{}`.", short(&ty.name))?;
    match kind {
        Some(kind) => writeln!(out, "    pub struct {name}({:?}, {:?}) {{", kind.api_version(), kind.kind)?,
        None => writeln!(out, "    pub struct {name} {{")?,
    }
    for field in &body.fields {
        let type_meta = kind.is_some() && (field.name == "apiVersion" || field.name == "kind");
        if !type_meta {
            out.push_str(&write_field(table, ty, field)?);
        }
    }
    out.push_str("    }\n}\n");
    if let Some(row) = row {
        out.push_str(&write_resource(name, row)?);
    }
    Ok(out)
}

fn write_field(table: &Table, ty: &Type, field: &Field) -> Result<String, Failure> {
    let mut out = String::new();
    let plain = rust_type(table, ty, &field.shape)?;
    let node = coracle_schema::TypeRef::new(table, &field.shape).node();
    let scalar = matches!(
        node,
        TypeNode::String | TypeNode::Bool | TypeNode::Int32 | TypeNode::Int64 | TypeNode::Double | TypeNode::Bytes
    );
    let is_value = matches!(node, TypeNode::Struct(_)) && plain != "serde_json::Value";
    let (rust, nonzero) = match (node, field.presence) {
        (TypeNode::List | TypeNode::Map, _) => (plain, false),
        (_, Presence::Always) if scalar || is_value => (plain, false),
        (_, Presence::NonZero) if scalar => (plain, true),
        _ if is_value => (format!("Option<Box<{plain}>>"), false),
        _ => (format!("Option<{plain}>"), false),
    };
    let rule = if nonzero { " if nonzero" } else { "" };
    writeln!(out, "        {}: {rust} = {:?}{rule},", snake(&field.name), field.name)?;
    Ok(out)
}

fn rust_type(table: &Table, within: &Type, shape: &Shape) -> Result<String, Failure> {
    Ok(match shape {
        Shape::String | Shape::Bytes => "String".to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Int32 => "i32".to_owned(),
        Shape::Int64 => "i64".to_owned(),
        Shape::Double => "f64".to_owned(),
        Shape::Any => "serde_json::Value".to_owned(),
        Shape::List(list) => format!("Vec<{}>", rust_type(table, within, &list.element)?),
        Shape::Map(map) => format!("BTreeMap<String, {}>", rust_type(table, within, &map.value)?),
        Shape::Named(id) => {
            let ty = table.type_of(*id);
            if let Some(by_hand) = by_hand(ty) {
                return Ok(by_hand.to_owned());
            }
            let (_, name) = ty.name.rsplit_once('.').ok_or("a type has a package")?;
            let (here, there) = (module(&within.name), module(&ty.name));
            if here == there { name.to_owned() } else { format!("super::{there}::{name}") }
        }
    })
}

fn write_resource(name: &str, row: &ResourceRow) -> Result<String, Failure> {
    let scope = match row.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    let mut out = String::new();
    let (group, version, kind) = (&row.kind.group, &row.kind.version, &row.kind.kind);
    writeln!(out, "resource!({name}, {group:?}, {version:?}, {kind:?}, {:?}, {scope});", row.plural)?;
    Ok(out)
}

/// `core_v1` of `io.k8s.api.core.v1.Pod`.
fn module(name: &str) -> String {
    let parts: Vec<_> = name.split('.').collect();
    let at = parts.len().saturating_sub(3);
    format!("{}_{}", parts[at], parts[at + 1])
}

/// `host_ip` of `hostIP`, `cluster_ips` of `clusterIPs`; a keyword gets an underscore.
fn snake(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        // The `s` of `IPs` is the plural of the word, not a new one.
        let plural = after == Some(&'s') && letters.get(at + 2).is_none_or(|next| next.is_ascii_uppercase());
        let begins_word = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || after.is_some_and(|after| after.is_ascii_lowercase()) && !plural
            });
        if begins_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    if matches!(out.as_str(), "type" | "ref" | "continue" | "enum" | "match" | "in" | "static" | "unknown") {
        out.push('_');
    }
    out.replace(['$', '-'], "")
}

/// `core.v1.Pod` of `io.k8s.api.core.v1.Pod`.
fn short(ty: &str) -> &str {
    const PREFIXES: [&str; 5] = [
        "io.k8s.api.",
        "io.k8s.apimachinery.pkg.apis.",
        "io.k8s.apimachinery.pkg.",
        "io.k8s.apiextensions-apiserver.pkg.apis.",
        "io.k8s.kube-aggregator.pkg.apis.",
    ];
    PREFIXES.iter().find_map(|prefix| ty.strip_prefix(prefix)).unwrap_or(ty)
}
