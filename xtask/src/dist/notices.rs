//! The licences of the crates that are in the program: the dependencies of `coracle-cli` for a target, without those of build
//! scripts, tests and macros, which are not in the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::failure::Failure;

const HEAD: &str = "\
The program `coracle` contains these crates of others, under the licences that they name. The texts follow as the crates
contain them; a text that several crates contain stands here once.
";

/// The text of `THIRD-PARTY-LICENSES`.
pub(crate) fn of(target: &str) -> Result<String, Failure> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(super::root());
    command.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target]);
    let metadata: Value = serde_json::from_str(&super::output(&mut command)?)?;
    text(&metadata)
}

fn text(metadata: &Value) -> Result<String, Failure> {
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"]).map(|package| (id(package), package)).collect();
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    let linked: BTreeMap<_, _> = linked(metadata, &packages)?
        .into_iter()
        .map(|id| packages[id])
        .filter(|package| !package["source"].is_null())
        .map(|package| ((string(&package["name"]), string(&package["version"])), package))
        .collect();
    for ((name, version), package) in linked {
        let crate_version = format!("{name} {version}");
        let licence = package["license"].as_str().unwrap_or("in a file");
        let repository = package["repository"].as_str().unwrap_or_default();
        writeln!(text, "\n{crate_version}: {licence}\n  {repository}")?;
        let folder = Path::new(string(&package["manifest_path"])).parent().ok_or("a manifest without a folder")?;
        let found = licence_files(folder)?;
        if found.is_empty() {
            without.push(crate_version.clone());
        }
        for found in found {
            texts.entry(found).or_default().push(crate_version.clone());
        }
    }
    if !without.is_empty() {
        writeln!(text, "\nThese crates contain no text of their licence: {}.", without.join(", "))?;
    }
    let mut texts: Vec<_> = texts.into_iter().map(|(text, crates)| (crates, text)).collect();
    texts.sort();
    for (crates, licence) in texts {
        writeln!(text, "\n{}\n{}:\n\n{}", "-".repeat(80), crates.join(", "), licence.trim_end())?;
    }
    Ok(text)
}

/// The ids of the packages that are linked into the program.
fn linked<'a>(metadata: &'a Value, packages: &BTreeMap<&str, &Value>) -> Result<BTreeSet<&'a str>, Failure> {
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"]).map(|node| (id(node), node)).collect();
    let is_program = |id: &&&str| packages[**id]["name"] == "coracle-cli";
    let program = nodes.keys().find(is_program).ok_or("the workspace has no coracle-cli")?;
    let mut linked = BTreeSet::new();
    let mut rest = vec![nodes[program]];
    while let Some(node) = rest.pop() {
        let is_macro = list(&packages[id(node)]["targets"]).any(|target| target["kind"][0] == "proc-macro");
        if is_macro || !linked.insert(id(node)) {
            continue;
        }
        for dependency in list(&node["deps"]) {
            // A kind without a name is a dependency of the program itself.
            if list(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()) {
                rest.push(nodes[string(&dependency["pkg"])]);
            }
        }
    }
    Ok(linked)
}

/// The licences and notices in a crate's folder.
fn licence_files(folder: &Path) -> Result<BTreeSet<String>, Failure> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
        if path.is_file() && is_licence.iter().any(|start| name.starts_with(start)) {
            texts.insert(fs::read_to_string(&path)?.replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn id(value: &Value) -> &str {
    string(&value["id"])
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_build_scripts_and_macros_are_not_in_the_program() {
        let target = |kind: &str| serde_json::json!([{ "kind": [kind] }]);
        let package = |name: &str, kind: &str| serde_json::json!({"id": name, "name": name, "targets": target(kind)});
        let dependency =
            |name: &str, kind: Option<&str>| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = serde_json::json!({
            "packages": [package("coracle-cli", "bin"), package("a", "lib"), package("b", "lib"), package("c", "proc-macro"),
                package("d", "lib"), package("e", "lib")],
            "resolve": {"nodes": [
                {"id": "coracle-cli", "deps": [dependency("a", None), dependency("c", None), dependency("e", Some("dev"))]},
                {"id": "a", "deps": [dependency("b", Some("build")), dependency("d", None)]},
                {"id": "b", "deps": []}, {"id": "c", "deps": [dependency("e", None)]}, {"id": "d", "deps": []},
                {"id": "e", "deps": []},
            ]},
        });
        let packages = list(&metadata["packages"]).map(|package| (id(package), package)).collect();
        assert_eq!(linked(&metadata, &packages).unwrap().into_iter().collect::<Vec<_>>(), ["a", "coracle-cli", "d"]);
    }
}
