//! The crates use each other as the table of `docs/architecture.md` says, and in no other way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use coracle_tests::{files_below, root};
use toml::Table;

/// A crate, its layer, and the crates of lower layers that it may use.
const MAY_USE: &[(&str, u8, &[&str])] = &[
    ("ambient", 0, &[]),
    ("meta", 0, &[]),
    ("journal", 0, &[]),
    ("certificates", 0, &[]),
    ("exposition", 0, &[]),
    ("dynamic-certificates", 0, &[]),
    ("release", 0, &[]),
    (FOR_TESTS, 0, &[]),
    ("store", 1, &["ambient", "journal"]),
    ("schema", 1, &["release", "meta"]),
    ("expression", 1, &["meta"]),
    ("template", 1, &["meta"]),
    ("viewer", 1, &["journal"]),
    ("workqueue", 1, &["ambient", "journal"]),
    ("api", 1, &["meta"]),
    ("yaml", 1, &["meta"]),
    ("handover", 1, &["meta"]),
    ("private-keys", 1, &["ambient"]),
    ("tls", 1, &["meta", "ambient"]),
    ("etcd", 2, &["store", "exposition"]),
    ("storage", 2, &["store", "handover", "meta", "journal"]),
    ("client", 2, &["handover", "tls", "meta", "ambient", "journal"]),
    ("container-programs", 2, &["api", "ambient"]),
    ("kubelet-api", 2, &["api", "meta", "ambient"]),
    ("supervisor", 2, &["ambient", "handover"]),
    ("node-usage", 3, &["kubelet-api", "api", "meta", "ambient", "exposition"]),
    ("registry", 3, &["release", "storage", "schema", "expression", "meta", "ambient", "journal"]),
    ("informer", 3, &["client", "meta", "ambient", "journal"]),
    ("controller-runtime", 4, &["informer", "workqueue", "client", "api", "meta", "ambient", "journal", "exposition"]),
    ("storage-backend", 3, &["supervisor", "etcd", "storage", "store", "journal", "ambient"]),
    ("import", 3, &["client", "schema", "yaml", "meta"]),
    ("console", 3, &["client", "schema", "yaml", "template", "api", "release", "meta", "ambient"]),
    ("resources", 4, &["release", "registry", "storage", "schema", "expression", "api", "meta", "ambient"]),
    ("egress", 4, &["registry", "dynamic-certificates", "handover", "tls"]),
    ("admission", 4, &["release", "registry", "schema", "expression", "api", "meta", "ambient", "certificates"]),
    ("auth", 4, &["release", "registry", "api", "meta", "ambient", "certificates"]),
    (
        "apiserver",
        4,
        &["release", "registry", "schema", "yaml", "handover", "meta", "ambient", "journal", "exposition"],
    ),
    (
        "controllers",
        5,
        &[
            "release",
            "controller-runtime",
            "informer",
            "workqueue",
            "client",
            "api",
            "expression",
            "meta",
            "ambient",
            "journal",
        ],
    ),
    (
        "scheduler",
        5,
        &[
            "release",
            "controller-runtime",
            "informer",
            "workqueue",
            "client",
            "api",
            "expression",
            "meta",
            "ambient",
            "journal",
            "exposition",
            "yaml",
        ],
    ),
    (
        "stages",
        5,
        &[
            "kubelet-api",
            "controller-runtime",
            "informer",
            "client",
            "expression",
            "template",
            "yaml",
            "api",
            "meta",
            "ambient",
            "journal",
        ],
    ),
    (
        "csi-driver",
        5,
        &["kubelet-api", "controller-runtime", "informer", "workqueue", "client", "api", "meta", "ambient", "journal"],
    ),
    (
        "volume-manager",
        5,
        &["kubelet-api", "controller-runtime", "informer", "client", "api", "meta", "ambient", "journal"],
    ),
    (
        "kubelet",
        6,
        &[
            "release",
            "volume-manager",
            "node-usage",
            "private-keys",
            "container-programs",
            "kubelet-api",
            "controller-runtime",
            "informer",
            "workqueue",
            "client",
            "api",
            "meta",
            "ambient",
            "journal",
        ],
    ),
    ("secure-serving", 5, &["apiserver", "auth", "dynamic-certificates", "etcd", "handover", "store", "tls"]),
    ("pki", 6, &["controllers", "apiserver", "auth", "tls", "private-keys", "meta", "ambient"]),
    ("kubelet-server", 7, &["kubelet", "apiserver", "auth", "registry", "client", "handover", "api", "meta"]),
    ("metrics-server", 7, &["kubelet", "resources", "apiserver", "registry", "handover", "meta", "ambient"]),
    ("cluster", 8, ANYTHING_BELOW),
    ("sim", 9, &["cluster", "handover", "storage", "store", "journal", "schema", "expression", "meta", "ambient"]),
    (
        "scenario",
        10,
        &[
            "sim",
            "cluster",
            "controller-runtime",
            "informer",
            "client",
            "viewer",
            "journal",
            "schema",
            "yaml",
            "expression",
            "api",
            "release",
            "meta",
            "ambient",
        ],
    ),
    ("check", 11, &["release", "scenario", "sim", "cluster", "client", "viewer", "journal", "yaml", "meta", "ambient"]),
    (
        "control",
        12,
        &[
            "handover", "meta", "ambient", "journal", "viewer", "store", "schema", "registry", "client", "cluster",
            "sim", "scenario",
        ],
    ),
    ("coracle", 12, ANYTHING_BELOW),
    ("lesson", 11, &["scenario", "cluster", "sim", "viewer", "journal", "yaml", "expression"]),
    (
        "lab",
        12,
        &["console", "lesson", "scenario", "sim", "cluster", "viewer", "journal", "yaml", "release", "meta", "ambient"],
    ),
    (MODULE, 13, &["lab"]),
    ("cli", 13, ANYTHING_BELOW),
];

const ANYTHING_BELOW: &[&str] = &["*"];

/// The crate that replaces functions of libc: the only one with unsafe blocks, and no product crate may use it.
const FOR_TESTS: &str = "fixed-entropy";

/// The crate whose functions JavaScript calls: their names are attributes that count as unsafe code.
const MODULE: &str = "lab-wasm";

/// Foreign crates that have one home each.
const ONE_HOME: &[(&str, &[&str])] = &[
    ("axum", &["apiserver", "viewer"]),
    ("tonic", &["etcd"]),
    ("sled", &["store"]),
    ("cel", &["expression"]),
    ("clap", &["cli"]),
    ("kube", &["coracle"]),
    ("k8s-openapi", &[]),
];

struct Manifest {
    dependencies: BTreeSet<String>,
    lints: Table,
}

fn manifests() -> BTreeMap<String, Manifest> {
    let folders = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    folders
        .filter(|folder| folder.join("Cargo.toml").exists())
        .map(|folder| (folder.file_name().unwrap().to_str().unwrap().to_owned(), manifest(&folder)))
        .collect()
}

fn read(manifest: &Path) -> Table {
    std::fs::read_to_string(manifest).unwrap().parse().unwrap()
}

fn manifest(folder: &Path) -> Manifest {
    let table = read(&folder.join("Cargo.toml"));
    let mut dependencies = BTreeSet::new();
    collect(&table, &mut dependencies);
    for target in table.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
        collect(target.1.as_table().unwrap(), &mut dependencies);
    }
    Manifest { dependencies, lints: table["lints"].as_table().unwrap().clone() }
}

/// Adds the packages that a manifest needs for more than its tests, whatever it calls them.
fn collect(table: &Table, into: &mut BTreeSet<String>) {
    for section in ["dependencies", "build-dependencies"] {
        for (name, source) in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
            let package = source.get("package").and_then(toml::Value::as_str);
            into.insert(package.unwrap_or(name).to_owned());
        }
    }
}

#[test]
fn crates_use_only_what_the_table_lists_for_them() {
    let manifests = manifests();
    let layers: BTreeMap<&str, u8> = MAY_USE.iter().map(|(name, layer, _)| (*name, *layer)).collect();
    for (name, manifest) in &manifests {
        let Some((_, layer, may_use)) = MAY_USE.iter().find(|(known, ..)| known == name) else {
            panic!("the crate {name} is not in the table");
        };
        for dependency in &manifest.dependencies {
            let Some(used) = dependency.strip_prefix("coracle-") else { continue };
            let allowed = may_use.contains(&used) || *may_use == ANYTHING_BELOW;
            assert!(allowed, "{name} must not use {used}");
            assert!(layers[used] < *layer, "{name} (layer {layer}) uses {used}, which is not below it");
        }
    }
}

#[test]
fn foreign_crates_stay_in_their_homes() {
    for (name, manifest) in &manifests() {
        for (foreign, homes) in ONE_HOME {
            let at_home = homes.contains(&name.as_str());
            assert!(at_home || !manifest.dependencies.contains(*foreign), "{foreign} does not belong in {name}");
        }
    }
}

#[test]
fn every_crate_is_held_to_the_lints_of_the_workspace_and_only_two_may_allow_unsafe_code() {
    let workspace = read(&root().join("Cargo.toml"));
    let mut relaxed = workspace["workspace"]["lints"].as_table().unwrap().clone();
    let code = relaxed["rust"].as_table_mut().unwrap().insert("unsafe_code".into(), "deny".into());
    assert_eq!(code, Some("forbid".into()), "the workspace forbids unsafe code");
    let inherited = Table::from_iter([("workspace".into(), true.into())]);
    for (name, manifest) in &manifests() {
        let expected = if [FOR_TESTS, MODULE].contains(&name.as_str()) { &relaxed } else { &inherited };
        assert_eq!(manifest.lints, *expected, "the lints of {name}");
    }
}

#[test]
fn the_module_for_javascript_has_unsafe_attributes_only() {
    let mut attributes = 0;
    for file in files_below(&root().join("crates").join(MODULE), ".rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//") && line.contains("unsafe"));
        for line in code.filter(|line| !line.contains("unsafe_code")) {
            assert_eq!(line, "#[unsafe(no_mangle)]", "{}", file.display());
            attributes += 1;
        }
    }
    assert_eq!(attributes, 3, "one for each function of the module");
}

#[test]
fn only_tests_use_the_crate_for_tests() {
    let package = format!("coracle-{FOR_TESTS}");
    let others = ["xtask", "tests", "examples"].map(|name| (name.to_owned(), manifest(&root().join(name))));
    for (name, manifest) in manifests().into_iter().chain(others) {
        assert!(!manifest.dependencies.contains(&package), "{name} may use {package} as a dev-dependency only");
    }
    let tests = read(&root().join("tests/Cargo.toml"));
    assert!(tests["dev-dependencies"].get(&package).is_some(), "the tests with kube-rs use {package}");
}

#[test]
fn no_crate_is_empty() {
    for name in manifests().keys() {
        let folder = root().join("crates").join(name).join("src");
        let entry = ["lib.rs", "main.rs"].iter().map(|file| folder.join(file)).find(|file| file.exists()).unwrap();
        let text = std::fs::read_to_string(entry).unwrap();
        let code = text.lines().filter(|line| !line.starts_with("//") && !line.trim().is_empty()).count();
        assert!(code > 1, "{name} has nothing to say yet and should not exist");
    }
}
