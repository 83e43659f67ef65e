//! The declarations of types in Go files, as gofmt writes them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::failure::Failure;

/// The types that a package declares, by name.
pub(crate) type GoPackage = BTreeMap<String, GoType>;

/// A declared type.
#[derive(Clone, Debug)]
pub(crate) enum GoType {
    Struct(Vec<GoField>),
    /// Another type: `type DNSPolicy string`.
    Other(GoExpression),
    /// A list around which protobuf has a message of its own.
    NullableList(GoExpression),
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct GoField {
    /// The name in JSON; empty for an embedded struct whose fields are those of the outer one.
    pub(crate) json: String,
    /// The number in protobuf.
    pub(crate) tag: Option<u32>,
    pub(crate) omits_empty: bool,
    pub(crate) omits_zero: bool,
    pub(crate) ty: GoExpression,
}

/// A type as a field names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GoExpression {
    Pointer(Box<GoExpression>),
    List(Box<GoExpression>),
    Map(Box<GoExpression>),
    /// The import path, empty for one of the language, and the name.
    Named(String, String),
}

/// Reads the files of a package, without those of its tests.
pub(crate) fn read_package(folder: &Path, path: &str) -> Result<GoPackage, Failure> {
    let mut package = GoPackage::new();
    for entry in std::fs::read_dir(folder)? {
        let file = entry?.path();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".go") && !name.ends_with("_test.go") && !name.contains("generated") {
            read_file(&std::fs::read_to_string(&file)?, path, &mut package);
        }
    }
    Ok(package)
}

fn read_file(text: &str, path: &str, package: &mut GoPackage) {
    let imports = imports(text);
    let mut lines = text.lines();
    let mut is_nullable = false;
    while let Some(line) = lines.next() {
        let Some((name, rest)) = line.strip_prefix("type ").and_then(|rest| rest.split_once(' ')) else {
            is_nullable = line.starts_with("//") && (is_nullable || line == "// +protobuf.nullable=true");
            continue;
        };
        if rest == "struct {" {
            let body = lines.by_ref().take_while(|line| *line != "}");
            let fields = body.filter_map(|line| field(line, path, &imports)).collect();
            package.insert(name.to_owned(), GoType::Struct(fields));
        } else if rest == "struct{}" {
            package.insert(name.to_owned(), GoType::Struct(Vec::new()));
        } else if let Some(ty) = expression(rest.split(" //").next().unwrap_or(rest), path, &imports) {
            let declared = if is_nullable { GoType::NullableList(ty) } else { GoType::Other(ty) };
            package.insert(name.to_owned(), declared);
        }
    }
}

/// The import paths by the names that a file gives them.
fn imports(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("import "));
    let quoted = lines.filter_map(|line| line.strip_suffix('"')?.split_once('"'));
    quoted
        .map(|(alias, path)| {
            let last = path.rsplit('/').next().unwrap_or(path);
            let alias = if alias.trim().is_empty() { last } else { alias.trim() };
            (alias.to_owned(), path.to_owned())
        })
        .collect()
}

fn field(line: &str, path: &str, imports: &BTreeMap<String, String>) -> Option<GoField> {
    let line = line.strip_prefix('\t').filter(|line| !line.starts_with("//"))?;
    let (declared, tags) = line.split_once('`')?;
    let tag = |name: &str| tags.split_once(&format!("{name}:\""))?.1.split('"').next();
    let ty = declared.split_whitespace().last()?;
    let ty = expression(ty, path, imports)?;
    let mut json = tag("json")?.split(',');
    let name = json.next()?;
    let options: Vec<&str> = json.collect();
    if name == "-" {
        return None;
    }
    Some(GoField {
        json: name.to_owned(),
        tag: tag("protobuf").and_then(|tag| tag.split(',').nth(1)?.parse().ok()),
        omits_empty: options.contains(&"omitempty"),
        omits_zero: options.contains(&"omitzero"),
        ty,
    })
}

fn expression(text: &str, path: &str, imports: &BTreeMap<String, String>) -> Option<GoExpression> {
    let inner = |text: &str| expression(text, path, imports).map(Box::new);
    if let Some(rest) = text.strip_prefix('*') {
        return Some(GoExpression::Pointer(inner(rest)?));
    }
    if let Some(rest) = text.strip_prefix("[]") {
        return Some(GoExpression::List(inner(rest)?));
    }
    if let Some(rest) = text.strip_prefix("map[") {
        return Some(GoExpression::Map(inner(rest.split_once(']')?.1)?));
    }
    if !text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_')) {
        return None;
    }
    Some(match text.split_once('.') {
        Some((alias, name)) => GoExpression::Named(imports.get(alias)?.clone(), name.to_owned()),
        None if text.starts_with(|letter: char| letter.is_ascii_uppercase()) => {
            GoExpression::Named(path.to_owned(), text.to_owned())
        }
        None => GoExpression::Named(String::new(), text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "package v1\n\nimport (\n\tmetav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"\n)\n\n\
        type Policy string\n\ntype Spec struct {\n\t// Words.\n\tmetav1.TypeMeta `json:\",inline\"`\n\
        \tPolicy *Policy `json:\"policy,omitempty\" protobuf:\"bytes,3,opt,name=policy\"`\n\
        \tAll map[string][]metav1.Time `json:\"all\" protobuf:\"bytes,4,rep,name=all\"`\n\
        \thidden int\n}\n";

    #[test]
    fn the_fields_of_a_struct_are_read_with_their_tags_and_types() {
        let mut package = GoPackage::new();
        read_file(FILE, "k8s.io/api/x/v1", &mut package);
        let Some(GoType::Struct(fields)) = package.get("Spec") else { panic!("{package:?}") };
        let names: Vec<_> = fields.iter().map(|field| (field.json.as_str(), field.tag, field.omits_empty)).collect();
        assert_eq!(names, [("", None, false), ("policy", Some(3), true), ("all", Some(4), false)]);
        let policy = GoExpression::Named("k8s.io/api/x/v1".to_owned(), "Policy".to_owned());
        assert_eq!(fields[1].ty, GoExpression::Pointer(Box::new(policy)));
        assert!(matches!(&fields[2].ty, GoExpression::Map(list) if matches!(**list, GoExpression::List(_))));
        assert!(matches!(package.get("Policy"), Some(GoType::Other(_))));
    }
}
