//! `cargo xtask release VERSION [FOLDER]`: makes the data of a release from the published modules of Kubernetes.
//!
//! ```text
//! Modules::of(v1.36.3) --> types, resources, gates, lists --changes since the release before--> data/1.36/*.txt
//! ```
//! It prints what it cannot derive. How a release is added: `docs/adding-a-release.md`.

mod changes;
mod definitions;
mod enums;
mod gates;
mod go_fields;
mod go_types;
mod lists;
mod modules;
mod packages;
mod resources;
mod types;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use coracle_release::Release;

use crate::failure::Failure;
use modules::Modules;
use types::TypeSources;

/// The words that stand before the resources of the first release.
const RESOURCES_HEAD: &str = "\
# Resources, in the order of discovery: groups by priority, versions with the preferred first, resources by name.
#   group-version plural Kind scope attributes…
#    subresource verbs [group-version/Kind of another group]
# Verbs are all eight unless said. What the attributes mean: `Trait` and `ResourceRow`.
";

/// Writes the data of a release into its folder, or into another one.
pub(crate) fn write() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(2);
    let usage = "which version? cargo xtask release 1.36, or v1.36.3 for a release that is not in the list yet";
    let asked = arguments.next().ok_or(usage)?;
    let version = Version::of(&asked)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = || root.join("crates/release/data").join(version.minor_version());
    let folder = arguments.next().map_or_else(own, PathBuf::from);
    let modules = Modules::of(&version.full)?;
    let before = Release::all().find(|release| release.version() == version.before());
    let made = Made::of(&modules, version.minor, &root.join("xtask/facts/resources.txt"))?;
    std::fs::create_dir_all(&folder)?;
    for (name, text) in made.changes(before.as_ref()) {
        std::fs::write(folder.join(name), text)?;
    }
    for resource in &made.unknown {
        println!("xtask/facts/resources.txt says nothing about {resource}");
    }
    if Release::all().all(|release| release.version() != version.minor_version()) {
        println!("crates/release/src/data.rs does not list {} yet", version.minor_version());
    }
    println!("not derived: behaviours.txt, and whatever docs/adding-a-release.md names");
    Ok(())
}

/// A version of Kubernetes.
struct Version {
    /// `v1.36.3`.
    full: String,
    minor: u32,
}

impl Version {
    /// A release by its minor version, or any by its full one.
    fn of(asked: &str) -> Result<Self, Failure> {
        let full = match Release::named(asked) {
            Ok(release) if asked.matches('.').count() == 1 => release.git_version().to_owned(),
            _ => format!("v{}", asked.trim_start_matches('v')),
        };
        let minor = full.split('.').nth(1).and_then(|minor| minor.parse().ok());
        Ok(Self { minor: minor.ok_or_else(|| format!("{asked} is not of the form v1.36.3"))?, full })
    }

    fn minor_version(&self) -> String {
        format!("1.{}", self.minor)
    }

    fn before(&self) -> String {
        format!("1.{}", self.minor.saturating_sub(1))
    }
}

/// What the modules of a version say, whole.
struct Made {
    types: String,
    resources: String,
    /// Resources about which the facts say nothing.
    unknown: Vec<String>,
    gates: BTreeMap<String, String>,
    lists: Vec<(&'static str, Vec<String>)>,
}

impl Made {
    fn of(modules: &Modules, minor: u32, facts: &Path) -> Result<Self, Failure> {
        let packages = packages::packages(modules)?;
        let sources = TypeSources {
            go: packages::sources(&packages)?,
            definitions: definitions::read(&modules.kubernetes)?,
            enums: enums::read(&modules.kubernetes, &packages)?,
            packages,
        };
        let gates = gates::read(&modules.kubernetes, minor)?;
        let (resources, unknown) = resources::write(&modules.kubernetes, &resources::traits(facts, minor)?)?;
        let is_on = |gate: &str| gates.get(gate).is_some_and(|words| words.starts_with("on"));
        let lists = lists::read(&modules.kubernetes, &is_on)?;
        Ok(Self { types: types::write(&sources)?, resources, unknown, lists, gates })
    }

    /// The files of a release, by name.
    fn changes(&self, before: Option<&Release>) -> [(&'static str, String); 4] {
        let gates: BTreeMap<String, String> = before.into_iter().flat_map(known_gates).collect();
        let mut lists = String::new();
        for (name, list) in &self.lists {
            let changes = match before {
                Some(before) => changes::of_list(before.list(name), list),
                None => list.iter().map(|item| format!("{item}\n")).collect(),
            };
            if !changes.is_empty() {
                let gap = if lists.is_empty() { "" } else { "\n" };
                let _ = write!(lists, "{gap}[{name}]\n{changes}");
            }
        }
        let [types, resources] = match before {
            Some(before) => [
                changes::of_types(&before.types(), &self.types),
                changes::of_resources(&before.resources(), &self.resources),
            ],
            None => [self.types.clone(), format!("{RESOURCES_HEAD}{}", self.resources)],
        };
        let gates = changes::of_gates(&gates, &self.gates);
        [("types.txt", types), ("resources.txt", resources), ("gates.txt", gates), ("lists.txt", lists)]
    }
}

/// The gates of a release, in the words of its data.
fn known_gates(release: &Release) -> impl Iterator<Item = (String, String)> {
    release.gates().map(|(name, gate)| (name.to_owned(), gate.to_string()))
}
