use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use coracle_journal::EntryId;
use coracle_meta::parse_time;
use serde_json::Value;

use super::run_log::{RunLog, is_record, text};
use crate::wire::CONFLICT;

/// Replaces a part of a text that differs between runs: a time, an IP address, the suffix of a generated name.
const MASK: &str = "…";
/// The digits of a time in minutes, at least.
const TIME_DIGITS: usize = 8;
/// Replaces the uid of an object that exists.
const UID: &str = "the uid of an object";
/// Replaces the uid of an object that is gone: an object that refers to it may be out of date.
const UID_THAT_IS_GONE: &str = "the uid of an object that is gone";
/// The fields of the metadata that differ between runs.
const OWN_METADATA: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "deletionTimestamp"];

/// The leaves of an object: their paths, and their values as JSON.
pub(super) type Leaves = BTreeMap<String, String>;

/// The objects at rest, without what differs between two runs of the same work: by resource, namespace and masked name,
/// the leaves of each object, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EndState {
    pub(super) objects: BTreeMap<String, Vec<Leaves>>,
}

/// What is made up in a run, and what replaces it.
struct Masks(BTreeMap<String, String>);

impl EndState {
    /// The objects that users and the component wrote in a run, after its entry `rest`.
    pub(super) fn of(log: &RunLog, rest: EntryId) -> Self {
        let objects = log.objects_at(rest);
        let masks = Masks::of(log, &objects.values().map(|write| write.uid()).collect());
        let written: BTreeSet<&str> =
            log.writes.iter().filter(|write| write.request.is_some()).map(|write| &*write.subject).collect();
        let mut found: BTreeMap<String, Vec<Leaves>> = BTreeMap::new();
        for (subject, write) in objects.into_iter().filter(|(subject, _)| written.contains(subject)) {
            let Some(object) = write.after.as_deref().filter(|object| !is_record(object)) else { continue };
            let mut leaves = Leaves::new();
            masks.flatten("", object, &mut leaves);
            found.entry(masks.text(subject)).or_default().push(leaves);
        }
        found.values_mut().for_each(|all| all.sort());
        Self { objects: found }
    }

    /// The paths of leaves that differ between runs without a fault, by object.
    pub(super) fn unstable(faultless: &[&Self]) -> BTreeSet<(String, String)> {
        let mut unstable = BTreeSet::new();
        let Some((first, rest)) = faultless.split_first() else { return unstable };
        for other in rest {
            for (name, objects) in &first.objects {
                let others = other.objects.get(name).map_or(&[][..], Vec::as_slice);
                for (one, other) in objects.iter().zip(others) {
                    unstable.extend(differing(one, other).map(|path| (name.clone(), path.to_owned())));
                }
            }
        }
        unstable
    }

    /// How it differs from another state, in paths that are not unstable.
    pub(super) fn differences(&self, expected: &Self, unstable: &BTreeSet<(String, String)>) -> Vec<String> {
        let names: BTreeSet<&String> = self.objects.keys().chain(expected.objects.keys()).collect();
        let mut found = Vec::new();
        for name in names {
            let of = |state: &Self| stable(name, state.objects.get(name), unstable);
            let (now, then) = (of(self), of(expected));
            match (now.len(), then.len()) {
                (0, _) => found.push(format!("{name} is missing")),
                (_, 0) => found.push(format!("{name} exists")),
                (now, then) if now != then => found.push(format!("{name}: {now} instead of {then}")),
                _ => found.extend(now.iter().zip(&then).find_map(|(now, then)| {
                    let path = differing(now, then).next()?;
                    let value = |leaves: &Leaves| leaves.get(path).cloned().unwrap_or_else(|| "absent".to_owned());
                    Some(format!("{name}: {path} is {} instead of {}", value(now), value(then)))
                })),
            }
        }
        found
    }
}

fn stable(name: &str, objects: Option<&Vec<Leaves>>, unstable: &BTreeSet<(String, String)>) -> Vec<Leaves> {
    let of = |leaves: &Leaves| {
        let kept = leaves.iter().filter(|(path, _)| !unstable.contains(&(name.to_owned(), (*path).clone())));
        kept.map(|(path, value)| (path.clone(), value.clone())).collect()
    };
    let mut all: Vec<Leaves> = objects.into_iter().flatten().map(of).collect();
    all.sort();
    all
}

fn differing<'l>(one: &'l Leaves, other: &'l Leaves) -> impl Iterator<Item = &'l str> {
    let paths: BTreeSet<&str> = one.keys().chain(other.keys()).map(String::as_str).collect();
    paths.into_iter().filter(|path| one.get(*path) != other.get(*path))
}

/// A name with the numbers replaced that can be a time, in seconds or in minutes, as names of Jobs have them; `None` if
/// it has no such number.
fn without_times(name: &str) -> Option<String> {
    let parts = name.split('-');
    let is_time = |part: &&str| part.len() >= TIME_DIGITS && part.bytes().all(|byte| byte.is_ascii_digit());
    let masked: Vec<&str> = parts.clone().map(|part| if is_time(&part) { MASK } else { part }).collect();
    parts.clone().any(|part| is_time(&part)).then(|| masked.join("-"))
}

impl Masks {
    fn of(log: &RunLog, there: &BTreeSet<&str>) -> Self {
        let mut masks = BTreeMap::new();
        for object in log.writes.iter().filter_map(|write| write.after.as_deref()) {
            let (uid, name) = (text(object, "/metadata/uid"), text(object, "/metadata/name"));
            let prefix = text(object, "/metadata/generateName");
            if !uid.is_empty() {
                let mask = if there.contains(uid) { UID } else { UID_THAT_IS_GONE };
                masks.insert(uid.to_owned(), mask.to_owned());
            }
            if !prefix.is_empty() && name.starts_with(prefix) {
                masks.insert(name.to_owned(), format!("{prefix}{MASK}"));
            } else if let Some(masked) = without_times(name) {
                masks.insert(name.to_owned(), masked);
            }
        }
        Self(masks)
    }

    fn text(&self, text: &str) -> String {
        if parse_time(text).is_some() || text.parse::<IpAddr>().is_ok() {
            return MASK.to_owned();
        }
        let parts = text.split('/').map(|part| self.0.get(part).map_or(part, String::as_str));
        parts.collect::<Vec<_>>().join("/")
    }

    fn flatten(&self, path: &str, value: &Value, leaves: &mut Leaves) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let is_own = path == "metadata" && OWN_METADATA.contains(&name.as_str());
                    // A reference names the version that its writer has read.
                    let is_version = name == "resourceVersion" && path.ends_with("Ref");
                    let is_observed = path == "status" && name == "observedGeneration";
                    // A fault writes it.
                    let is_conflict = name == CONFLICT;
                    if !is_own && !is_version && !is_observed && !is_conflict {
                        let below = if path.is_empty() { name.clone() } else { format!("{path}.{}", self.text(name)) };
                        self.flatten(&below, field, leaves);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.flatten(&format!("{path}[{index}]"), item, leaves);
                }
            }
            Value::String(text) => {
                leaves.insert(path.to_owned(), Value::from(self.text(text)).to_string());
            }
            other => {
                leaves.insert(path.to_owned(), other.to_string());
            }
        }
    }
}
