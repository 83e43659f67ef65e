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
    let tree =
        ["tree", "--locked", "-p", "coracle-cli", "-e", "normal,no-proc-macro", "--prefix", "none", "--target", target];
    let metadata = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
    let metadata: Value = serde_json::from_str(&cargo(&metadata)?)?;
    text(&linked(&cargo(&tree)?), &metadata)
}

fn cargo(arguments: &[&str]) -> Result<String, Failure> {
    super::output(Command::new(env!("CARGO")).current_dir(super::root()).args(arguments))
}

/// The crates in lines such as `adler2 v2.0.1` and `tokio v1.54.1 (*)`: name and version.
fn linked(tree: &str) -> BTreeSet<(&str, &str)> {
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, words.next()?.strip_prefix('v')?))
    });
    crates.collect()
}

fn text(linked: &BTreeSet<(&str, &str)>, metadata: &Value) -> Result<String, Failure> {
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages: BTreeMap<_, _> = packages
        // Those of the workspace have no source, and the licence of the archive.
        .filter(|package| !package["source"].is_null())
        .map(|package| ((string(&package["name"]), string(&package["version"])), package))
        .filter(|(name, _)| linked.contains(name))
        .collect();
    for ((name, version), package) in packages {
        let named = format!("{name} {version}");
        let licence = package["license"].as_str().unwrap_or("in a file");
        writeln!(text, "\n{named}: {licence}\n  {}", string(&package["repository"]))?;
        let folder = Path::new(string(&package["manifest_path"])).parent().ok_or("a manifest without a folder")?;
        let found = licence_files(folder)?;
        if found.is_empty() {
            without.push(named.clone());
        }
        for found in found {
            texts.entry(found).or_default().push(named.clone());
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

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_that_two_crates_contain_stands_once_and_a_crate_that_is_not_linked_is_left_out() {
        let tree = "coracle-cli v0.1.0 (/w/crates/cli)\na v1.0.0\nb v2.0.0\na v1.0.0 (*)\n";
        assert_eq!(
            linked(tree).into_iter().collect::<Vec<_>>(),
            [("a", "1.0.0"), ("b", "2.0.0"), ("coracle-cli", "0.1.0")]
        );
        let folder = std::env::temp_dir().join(format!("coracle-notices-{}", std::process::id()));
        let mut packages = Vec::new();
        for (name, version, licence) in [("a", "1.0.0", "text"), ("b", "2.0.0", "text"), ("c", "3.0.0", "another")] {
            let manifest = folder.join(name).join("Cargo.toml");
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("LICENSE-MIT"), licence).unwrap();
            packages.push(json!({"name": name, "version": version, "license": "MIT", "source": "registry",
                "repository": format!("https://{name}"), "manifest_path": manifest}));
        }
        packages.push(json!({"name": "coracle-cli", "version": "0.1.0", "source": null}));
        let text = text(&linked(tree), &json!({"packages": packages})).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let expected = format!(
            "{HEAD}\na 1.0.0: MIT\n  https://a\n\nb 2.0.0: MIT\n  https://b\n\n{}\na 1.0.0, b 2.0.0:\n\ntext\n",
            "-".repeat(80)
        );
        assert_eq!(text, expected);
    }
}
