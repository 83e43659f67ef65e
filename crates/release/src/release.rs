use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::data::{DEFAULT, Data, RELEASES};
use crate::state::{State, state_of};
use crate::types_text::{self, TypeText};
use crate::{Gate, GateError, UnknownRelease, resources_text};

/// The gates about which code asks, one per line.
const EFFECTIVE_GATES: &str = include_str!("../data/effective-gates.txt");

/// A release of Kubernetes, with the feature gates that a user has switched. Cheap to clone.
#[derive(Clone)]
pub struct Release {
    at: usize,
    state: &'static State,
    switched: Option<Arc<BTreeMap<String, bool>>>,
}

impl Default for Release {
    /// The release of a program that chooses none.
    fn default() -> Self {
        Self::named(DEFAULT).expect("the default release is in the list")
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Release").field("version", &self.version()).field("switched", &self.switched).finish()
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && self.switched == other.switched
    }
}

impl Eq for Release {}

impl Release {
    /// All releases, the oldest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (0..RELEASES.len()).map(Self::at)
    }

    /// The newest release.
    pub fn newest() -> Self {
        Self::at(RELEASES.len() - 1)
    }

    /// The release with a version: `1.36`, `v1.36` or, with any patch, `1.36.0`.
    ///
    /// # Errors
    /// If there is no such release.
    pub fn named(version: &str) -> Result<Self, UnknownRelease> {
        let asked = version.strip_prefix('v').unwrap_or(version);
        let is_it = |data: &Data| {
            let rest = asked.strip_prefix(data.version);
            rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number))
        };
        let at = RELEASES.iter().position(is_it);
        at.map(Self::at).ok_or_else(|| UnknownRelease { asked: version.to_owned(), nearest: nearest_version(asked) })
    }

    fn at(at: usize) -> Self {
        Self { at, state: state_of(at), switched: None }
    }

    fn data(&self) -> &'static Data {
        &RELEASES[self.at]
    }

    /// The minor version, such as `1.36`.
    pub fn version(&self) -> &'static str {
        self.data().version
    }

    /// The version as `/version`, nodes and user agents show it, such as `v1.36.3`.
    pub fn git_version(&self) -> &'static str {
        self.data().git_version
    }

    /// The major and the minor number.
    pub fn major_minor(&self) -> (&'static str, &'static str) {
        self.version().split_once('.').unwrap_or((self.version(), ""))
    }

    /// The oldest minor number, as text, whose stored objects and behaviour the release can have: the one before.
    /// In Kubernetes: `minCompatibilityMinor`.
    pub fn oldest_compatible_minor(&self) -> String {
        let (_, minor) = self.major_minor();
        minor.parse::<u32>().map_or_else(|_| minor.to_owned(), |minor| minor.saturating_sub(1).to_string())
    }

    /// The day on which upstream's support ends, such as `2027-02-28`.
    pub fn end_of_life(&self) -> &'static str {
        self.data().end_of_life
    }

    /// The place in the list of releases, the oldest first: how many releases are older.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The release before this one.
    pub fn previous(&self) -> Option<Self> {
        self.at.checked_sub(1).map(Self::at)
    }

    /// Whether a feature gate is on. A gate that the release does not know yet is off. One that it knows no more has
    /// its last value.
    ///
    /// # Panics
    /// If no release knows the gate: then the name is misspelt.
    pub fn enabled(&self, gate: &str) -> bool {
        let switched = self.switched.as_ref().and_then(|switched| switched.get(gate).copied());
        switched.or_else(|| Some(self.state.gates.get(gate)?.default)).unwrap_or_else(|| {
            let is_known = Self::all().any(|release| release.state.gates.contains_key(gate));
            assert!(is_known, "no release has the feature gate {gate:?}");
            false
        })
    }

    /// The gates that the release knows, by name.
    pub fn gates(&self) -> impl Iterator<Item = (&'static str, Gate)> {
        self.state.gates.iter().filter(|(_, gate)| !gate.is_removed).map(|(name, gate)| (*name, *gate))
    }

    /// The same release with switched gates: `A=true,B=false`, as in `--feature-gates`.
    ///
    /// # Errors
    /// If an item has another form, if the release does not know a gate, or if a gate is locked to the other value.
    pub fn with_gates(&self, list: &str) -> Result<Self, GateError> {
        let mut switched = self.switched.as_deref().cloned().unwrap_or_default();
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let form = || GateError::Form { item: item.to_owned() };
            let (name, value) = item.split_once('=').ok_or_else(form)?;
            let wanted = match value {
                "true" => true,
                "false" => false,
                _ => return Err(form()),
            };
            let known = self.gates().find(|(own, _)| *own == name).map(|(_, gate)| gate);
            let gate = known.ok_or_else(|| self.unknown_gate(name))?;
            if gate.is_locked && gate.default != wanted {
                return Err(GateError::Locked { name: name.to_owned(), wanted });
            }
            switched.insert(name.to_owned(), wanted);
        }
        Ok(Self { switched: Some(Arc::new(switched)).filter(|switched| !switched.is_empty()), ..self.clone() })
    }

    fn unknown_gate(&self, name: &str) -> GateError {
        let lower = name.to_lowercase();
        let distance = |gate: &str| strsim::osa_distance(&gate.to_lowercase(), &lower);
        let nearest = self.gates().map(|(gate, _)| gate).min_by_key(|gate| distance(gate));
        let nearest = nearest.filter(|gate| distance(gate) <= 1 + name.len() / 4).map(str::to_owned);
        GateError::Unknown { name: name.to_owned(), release: self.version(), nearest }
    }

    /// The gates that a user has switched.
    pub fn switched(&self) -> impl Iterator<Item = &str> {
        self.switched.iter().flat_map(|switched| switched.keys().map(String::as_str))
    }

    /// Whether a gate decides anything in Coracle: a line of `data/effective-gates.txt`.
    pub fn has_effect(gate: &str) -> bool {
        EFFECTIVE_GATES.lines().any(|line| line == gate)
    }

    /// Whether the release has a behaviour that changed without a feature gate of its own. The names are those of
    /// `data/*/behaviours.txt`.
    ///
    /// # Panics
    /// If no release has the behaviour: then the name is misspelt.
    pub fn has(&self, behaviour: &str) -> bool {
        let is_known = || Self::all().any(|release| release.state.behaviours.contains(behaviour));
        let has = self.state.behaviours.contains(behaviour);
        assert!(has || is_known(), "no release has the behaviour {behaviour:?}");
        has
    }

    /// A list of the release, in its order.
    ///
    /// # Panics
    /// If there is no list with this name.
    pub fn list(&self, name: &str) -> &'static [&'static str] {
        self.state.lists.get(name).unwrap_or_else(|| panic!("no release has the list {name:?}"))
    }

    /// The types of all kinds, package by package: those of the first release, changed by each later one up to this.
    pub fn type_texts(&self) -> Vec<TypeText> {
        types_text::of(&RELEASES[..=self.at]).unwrap_or_else(|line| unreadable(line))
    }

    /// The same as one text.
    pub fn types(&self) -> String {
        let (mut text, mut package) = (String::new(), "");
        for ty in self.type_texts() {
            if ty.package != package {
                package = ty.package;
                text.extend(["package ", package, "\n"]);
            }
            text.extend(["type ", ty.text]);
        }
        text
    }

    /// The resources in the order of discovery, as the text that `schema::Table` reads: those of the first release,
    /// changed by each later one up to this.
    pub fn resources(&self) -> String {
        resources_text::of(&RELEASES[..=self.at]).unwrap_or_else(|line| unreadable(line))
    }

    /// The descriptions of kinds and fields, each text packed with gzip: those of the first release, and what each later
    /// one up to this changes.
    #[cfg(feature = "descriptions")]
    pub fn packed_descriptions(&self) -> impl Iterator<Item = &'static [u8]> + use<> {
        RELEASES[..=self.at].iter().map(|data| data.descriptions)
    }
}

fn unreadable(line: &str) -> ! {
    panic!("a test reads the tables of all releases: {line:?}")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The release whose minor number is closest to the one that was asked for.
fn nearest_version(asked: &str) -> Option<String> {
    let minor = |version: &str| version.split('.').nth(1)?.parse::<i64>().ok();
    let wanted = minor(asked)?;
    let nearest = RELEASES.iter().min_by_key(|data| minor(data.version).map_or(i64::MAX, |own| (own - wanted).abs()));
    nearest.map(|data| data.version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_found_by_its_minor_version_with_or_without_a_patch() {
        for name in ["1.36", "v1.36", "1.36.0", "v1.36.12"] {
            assert_eq!(Release::named(name).unwrap().version(), "1.36", "{name}");
        }
        for name in ["1.3", "1.361", "1.36.", "1.36.x", "36", "", "1.36.0.0"] {
            assert!(Release::named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_unknown_release_is_refused_with_the_list_and_the_nearest() {
        let refused = |name: &str| Release::named(name).unwrap_err().to_string();
        let list = "the releases are 1.35, 1.36 and 1.37";
        assert_eq!(
            refused("1.40"),
            format!("there is no Kubernetes release \"1.40\" here; {list}; did you mean 1.37?")
        );
        assert_eq!(refused("latest"), format!("there is no Kubernetes release \"latest\" here; {list}"));
    }

    #[test]
    fn gates_have_the_values_of_their_release() {
        let enabled = |version: &str| Release::named(version).unwrap().enabled("MutatingAdmissionPolicy");
        assert_eq!([enabled("1.35"), enabled("1.36"), enabled("1.37")], [false, true, true]);
        let enabled = |version: &str| Release::named(version).unwrap().enabled("HPAScaleToZero");
        assert_eq!([enabled("1.35"), enabled("1.36"), enabled("1.37")], [false, false, true]);
    }

    #[test]
    fn a_gate_that_is_removed_keeps_its_value_and_cannot_be_switched() {
        let (old, new) = (Release::named("1.36").unwrap(), Release::named("1.37").unwrap());
        assert!(old.enabled("SidecarContainers") && new.enabled("SidecarContainers"));
        assert!(old.with_gates("SidecarContainers=true").is_ok());
        assert!(new.with_gates("SidecarContainers=true").is_err());
    }

    #[test]
    fn switched_gates_are_checked_against_the_release() {
        let release = Release::named("1.36").unwrap();
        let switched = release.with_gates("HPAScaleToZero=true, MutatingAdmissionPolicy=true").unwrap();
        assert!(switched.enabled("HPAScaleToZero") && !release.enabled("HPAScaleToZero"));
        let refused = |list: &str| release.with_gates(list).unwrap_err().to_string();
        assert_eq!(refused("HPAScaleToZero"), "\"HPAScaleToZero\" is not of the form Name=true or Name=false");
        let unknown = "unrecognized feature gate: HPAScaleToZeros (Kubernetes 1.36; did you mean HPAScaleToZero?)";
        assert_eq!(refused("HPAScaleToZeros=true"), unknown);
        let locked = "cannot set feature gate DeclarativeValidation to false, feature is locked to true";
        assert_eq!(refused("DeclarativeValidation=false"), locked);
    }
}
