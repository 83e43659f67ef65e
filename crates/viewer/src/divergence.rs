use std::collections::BTreeMap;

use coracle_journal::{Entry, EntryId, Events, Header, Stage};
use serde::Serialize;
use serde_json::Value;

use crate::requester::Requesters;

/// Where two runs diverge, and what differs from there on. The runs are compared as the bytes of their events files: an
/// equal entry at a later moment is different.
///
/// ```
/// use coracle_journal::{Detail, EntryId, Events, Header, Recorder, Stage};
/// use coracle_viewer::Divergence;
///
/// let run = |key: &str| {
///     let recorder = Recorder::ring(10);
///     recorder.record("cm/replicaset", Stage::ComponentStart, Detail::default);
///     recorder.record("cm/replicaset", Stage::SyncStart, || Detail::about(key));
///     let mut entries = recorder.entries(EntryId(0));
///     entries.iter_mut().for_each(|entry| entry.at = std::time::Duration::ZERO);
///     Events { header: Header::new("2026-01-01T00:00:00Z"), entries }
/// };
/// let divergence = Divergence::of(&run("default/a"), &run("default/b"));
/// assert_eq!(divergence.same, 1);
/// assert_eq!(divergence.first.unwrap().differences[0].field, "about");
/// assert!(Divergence::of(&run("default/a"), &run("default/a")).is_same());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// How many leading entries are equal.
    pub same: usize,
    /// The fields of the first lines that differ, such as seed, version and mode. They belong to no entry.
    pub headers: Vec<Difference>,
    /// The first different entries; absent if all are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<DivergentEntries>,
    /// What was done a different number of times after the divergence.
    pub counts: Vec<Count>,
}

/// Two runs to compare.
///
/// The page draws the second run, and the first one beneath it from the divergence on.
#[derive(Clone, Debug)]
pub struct RunPair<'e> {
    /// The first run.
    pub one: &'e Events,
    /// The second run.
    pub other: &'e Events,
    /// Their names, in the same order: `first` and `second`, or `as it was` and `as it is`.
    pub called: [&'e str; 2],
    /// Where they diverge.
    pub divergence: Divergence,
}

impl<'e> RunPair<'e> {
    /// Compares two runs.
    pub fn of(one: &'e Events, other: &'e Events, called: [&'e str; 2]) -> Self {
        Self { one, other, called, divergence: Divergence::of(one, other) }
    }
}

/// The entries of both runs at the divergence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DivergentEntries {
    /// The first run's entry; absent if it ends there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one: Option<EntryId>,
    /// The second run's entry; absent if it ends there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<EntryId>,
    /// The fields that differ between the two; empty if one is absent.
    pub differences: Vec<Difference>,
}

/// A field of two entries, or of two first lines, that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The field: `when`, `who`, `about`, or a path in the data, `patch.spec.replicas`.
    pub field: String,
    /// Its value in the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one: Option<String>,
    /// Its value in the second run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

/// How often one actor did something in each of two runs, after the divergence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What was done.
    pub what: Act,
    /// The actor: the part of a component whose sync it was, or the user.
    pub actor: String,
    /// How often in the first run.
    pub one: usize,
    /// How often in the second run.
    pub other: usize,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Requests that reached the API server.
    Requests,
    /// Objects that the store committed for them.
    Writes,
    /// Completed syncs.
    Syncs,
}

impl Act {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Writes => "writes",
            Self::Syncs => "syncs",
        }
    }
}

impl Divergence {
    /// Finds where two runs diverge.
    pub fn of(one: &Events, other: &Events) -> Self {
        let same = same(&one.entries, &other.entries);
        let (first, second) = (one.entries.get(same), other.entries.get(same));
        let parted = (first.is_some() || second.is_some()).then(|| DivergentEntries {
            one: first.map(|entry| entry.id),
            other: second.map(|entry| entry.id),
            differences: first.zip(second).map(|(one, other)| of_entries(one, other)).unwrap_or_default(),
        });
        Self { same, headers: of_headers(&one.header, &other.header), first: parted, counts: counts(one, other, same) }
    }

    /// Whether all entries are equal. Differences in the first lines do not count.
    pub fn is_same(&self) -> bool {
        self.first.is_none()
    }
}

/// How many leading entries have the same bytes.
fn same(one: &[Entry], other: &[Entry]) -> usize {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut is_same = |one: &Entry, other: &Entry| {
        first.clear();
        second.clear();
        serde_json::to_writer(&mut first, one).expect("an entry is JSON");
        serde_json::to_writer(&mut second, other).expect("an entry is JSON");
        first == second
    };
    one.iter().zip(other).take_while(|(one, other)| is_same(one, other)).count()
}

fn of_headers(one: &Header, other: &Header) -> Vec<Difference> {
    let tree = |header: &Header| serde_json::to_value(header).expect("a header is JSON");
    let mut found = Vec::new();
    compare("", Some(&tree(one)), Some(&tree(other)), &mut found);
    found
}

fn of_entries(one: &Entry, other: &Entry) -> Vec<Difference> {
    let words = |entry: &Entry| -> [(&str, Option<String>); 7] {
        let causes: Vec<String> = entry.causes.iter().map(|cause| format!("#{}", cause.0)).collect();
        let said = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        [
            ("event", Some(format!("#{}", entry.id.0))),
            ("when", Some(format!("{} ns", entry.at.as_nanos()))),
            ("who", said(&entry.actor)),
            ("stage", said(entry.stage.word())),
            ("about", said(&entry.subject)),
            ("causes", said(&causes.join(" "))),
            ("revision", entry.revision.map(|revision| revision.to_string())),
        ]
    };
    let pairs = words(one).into_iter().zip(words(other));
    let differing = pairs.filter(|((_, one), (_, other))| one != other);
    let mut found: Vec<Difference> =
        differing.map(|((field, one), (_, other))| Difference { field: field.to_owned(), one, other }).collect();
    let tree = |entry: &Entry| Value::Object(entry.data.clone());
    compare("", Some(&tree(one)), Some(&tree(other)), &mut found);
    found
}

/// Compares two trees and collects the leaves that differ, by their paths.
fn compare(path: &str, one: Option<&Value>, other: Option<&Value>, found: &mut Vec<Difference>) {
    if one == other {
        return;
    }
    if let (Some(Value::Object(one)), Some(Value::Object(other))) = (one, other) {
        let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            compare(&path, one.get(name), other.get(name), found);
        }
        return;
    }
    let said = |value: Option<&Value>| {
        value.map(|value| value.as_str().map_or_else(|| value.to_string(), std::borrow::ToOwned::to_owned))
    };
    found.push(Difference { field: path.to_owned(), one: said(one), other: said(other) });
}

fn counts(one: &Events, other: &Events, from: usize) -> Vec<Count> {
    let (mut one, other) = (acts(one, from), acts(other, from));
    for key in other.keys() {
        one.entry(key.clone()).or_default();
    }
    let both = one.into_iter().map(|((what, actor), one)| {
        let second = other.get(&(what, actor.clone())).copied().unwrap_or_default();
        Count { what, actor, one, other: second }
    });
    both.filter(|count| count.one != count.other).collect()
}

fn acts(events: &Events, from: usize) -> BTreeMap<(Act, String), usize> {
    let requesters = Requesters::of(&events.entries);
    let mut acts = BTreeMap::new();
    for entry in events.entries.iter().skip(from) {
        let act = match entry.stage {
            Stage::ApiRequest => (Act::Requests, requesters.requester(entry)),
            Stage::StoreCommit => (Act::Writes, requesters.writer(entry).unwrap_or_else(|| entry.actor.clone())),
            Stage::SyncEnd => (Act::Syncs, entry.actor.clone()),
            _ => continue,
        };
        *acts.entry(act).or_default() += 1;
    }
    acts
}
