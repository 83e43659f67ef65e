//! What Cargo publishes: each package has the metadata that crates.io and docs.rs show, contains the files that its code
//! includes, and names the version of the other packages that it needs.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use coracle_tests::{files_below, root};
use toml::{Table, Value};

fn read(manifest: &Path) -> Table {
    std::fs::read_to_string(manifest).unwrap().parse().unwrap()
}

/// The manifests of all crates, by folder.
fn crates() -> BTreeMap<PathBuf, Table> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    folders.map(|folder| (folder.clone(), read(&folder.join("Cargo.toml")))).collect()
}

/// The manifests of the crates that are published, by folder.
fn published() -> BTreeMap<PathBuf, Table> {
    let published = crates().into_iter().filter(|(_, manifest)| is_published(manifest));
    let published: BTreeMap<_, _> = published.collect();
    assert!(published.len() >= 50, "{} published crates", published.len());
    published
}

fn is_published(manifest: &Table) -> bool {
    manifest["package"].get("publish").and_then(Value::as_bool) != Some(false)
}

/// A value of `[package]`, inherited from the workspace if the manifest says so.
fn value(manifest: &Table, key: &str) -> Option<Value> {
    let own = manifest["package"].get(key)?;
    if own.get("workspace").is_none() {
        return Some(own.clone());
    }
    read(&root().join("Cargo.toml"))["workspace"]["package"].get(key).cloned()
}

/// The path without its `..`, without a look at the disk: links are not followed.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normal.pop(), "{} leaves the disk", path.display()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// The text up to the bracket that closes what stands before it.
fn arguments(rest: &str) -> &str {
    let mut depth = 1;
    let end = rest.find(|sign| {
        depth += match sign {
            '(' | '[' => 1,
            ')' | ']' => -1,
            _ => 0,
        };
        depth == 0
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// The paths that a source file includes: of text, of bytes, of code, and of modules with a path of their own.
/// A variable of a macro within a path is left out.
fn included(text: &str, file: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for start in ["include_str!(", "include_bytes!(", "include!(", "#[path ="] {
        for rest in text.split(start).skip(1) {
            let mut base = file.parent().unwrap();
            let mut path = String::new();
            for literal in arguments(rest).split('"').skip(1).step_by(2) {
                if literal == "CARGO_MANIFEST_DIR" {
                    base = folder;
                } else {
                    path.push_str(literal);
                }
            }
            if !path.is_empty() {
                paths.push(normal(&base.join(path.trim_start_matches('/'))));
            }
        }
    }
    paths
}

#[test]
fn no_include_leaves_its_crate() {
    let mut found = 0;
    for folder in crates().keys() {
        for file in files_below(folder, ".rs") {
            let text = std::fs::read_to_string(&file).unwrap();
            for path in included(&text, &file, folder) {
                assert!(path.starts_with(folder), "{} includes {}", file.display(), path.display());
                found += 1;
            }
        }
    }
    assert!(found >= 80, "{found} includes");
}

#[test]
fn an_include_that_leaves_its_crate_is_found_however_it_is_written() {
    let (folder, file) = (Path::new("/w/crates/a"), Path::new("/w/crates/a/src/lib.rs"));
    for (text, path) in [
        ("const A: &str = include_str!(\"../../b/c.txt\");", "/w/crates/b/c.txt"),
        ("const A: &[u8] = include_bytes!(\"../c.txt\");", "/w/crates/a/c.txt"),
        ("f(include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../d.txt\")));", "/w/d.txt"),
        ("a: include_str!(concat!(\"../../data/\", $version, \"/b.txt\")),", "/w/crates/data/b.txt"),
        ("include_str!(\n    \"../../c/d.txt\"\n)", "/w/crates/c/d.txt"),
        ("#[path = \"../../b/mod.rs\"]\nmod b;", "/w/crates/b/mod.rs"),
    ] {
        assert_eq!(included(text, file, folder), [Path::new(path)], "{text}");
    }
}

#[test]
fn every_link_in_a_crate_leads_to_a_file_of_the_repository() {
    let mut links = 0;
    let mut folders: Vec<PathBuf> = crates().into_keys().collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_symlink() {
                let target = entry.path().canonicalize().unwrap_or_else(|_| panic!("{}", entry.path().display()));
                assert!(target.starts_with(root().canonicalize().unwrap()), "{}", target.display());
                let text = std::fs::read_link(entry.path()).unwrap();
                assert!(text.is_relative(), "{} is absolute", text.display());
                links += 1;
            }
        }
    }
    assert!(links >= 3, "{links} links");
}

#[test]
fn every_published_crate_has_the_metadata_of_a_package() {
    for (folder, manifest) in published() {
        let name = folder.display();
        for key in ["description", "license", "repository", "homepage", "readme", "rust-version"] {
            let text = value(&manifest, key).and_then(|value| value.as_str().map(str::to_owned));
            assert!(text.is_some_and(|text| !text.is_empty()), "{name} has no {key}");
        }
        // The limits are those of crates.io.
        for (key, longest) in [("keywords", 20), ("categories", 60)] {
            let words = value(&manifest, key).unwrap_or_else(|| panic!("{name} has no {key}"));
            let words: Vec<_> =
                words.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
            assert!((1..=5).contains(&words.len()), "{name}: {key} {words:?}");
            assert!(words.iter().all(|word| word.len() <= longest), "{name}: {key} {words:?}");
        }
        let documented = manifest["package"].get("metadata").and_then(|metadata| metadata.get("docs")?.get("rs"));
        let has_all = documented.is_some_and(|documented| documented["all-features"].as_bool() == Some(true));
        assert_eq!(has_all, manifest.contains_key("features"), "{name}: docs.rs shows all features");
    }
}

#[test]
fn the_crates_of_the_workspace_need_exactly_the_version_that_is_published_with_them() {
    let workspace = read(&root().join("Cargo.toml"));
    let workspace = &workspace["workspace"];
    let version = format!("={}", workspace["package"]["version"].as_str().unwrap());
    for (folder, manifest) in crates() {
        let name = manifest["package"]["name"].as_str().unwrap();
        let declared = workspace["dependencies"].get(name).and_then(|declared| declared.get("version"));
        let expected = is_published(&manifest).then_some(version.as_str());
        // The program is the one crate that no crate uses.
        if name != "coracle-cli" {
            assert_eq!(declared.and_then(Value::as_str), expected, "{}", folder.display());
        }
    }
}

/// A package whose tests need a package with a version cannot be published before that one, which would need the first.
/// Cargo leaves dependencies with a path alone out of what it publishes.
#[test]
fn tests_of_published_crates_need_other_crates_by_path_alone() {
    let mut found = 0;
    for (folder, manifest) in published() {
        let needed = |section| manifest.get(section).and_then(Value::as_table).into_iter().flatten();
        let is_own = |name: &&String| *name == "coracle" || name.starts_with("coracle-");
        for (name, source) in needed("dev-dependencies").filter(|(name, _)| is_own(name)) {
            let by_path = source.get("path").is_some() && source.get("version").is_none();
            assert!(by_path, "the tests of {} need {name}", folder.display());
            found += 1;
        }
        for (name, source) in needed("dependencies").filter(|(name, _)| is_own(name)) {
            let inherited = source.get("workspace").and_then(Value::as_bool) == Some(true);
            assert!(inherited, "{} needs {name} with a version of its own", folder.display());
        }
    }
    assert!(found >= 30, "{found} dependencies of tests");
}
