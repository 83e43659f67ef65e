//! The work that an object takes grows with the length of its lists, and not with the square of it.
//!
//! Each list and each map of each built-in kind is made long: with equal elements, with elements that differ, and with
//! elements that share a key; and all lists of a kind together, since two of them may be compared with each other. Each
//! step of a write is measured for itself, so that a cheap step whose work grows with the square does not hide behind
//! a dear one that is linear.
//!
//! What is measured is the CPU time of the thread. A count of instructions would be better, but the kernel gives none to
//! programs in containers and most virtual machines. CPU time does not count while the thread waits for its turn on a loaded
//! machine, and a step fails only when it took too long in each of several measurements: only the least time of each
//! length counts. Between the two lengths lies a factor of 8: linear work takes 8 times as long then, work that sorts 10 times,
//! and work that compares each with all 64 times. The bound is 20.
//!
//! It takes minutes, so `cargo test` ignores the tests over all kinds, and `make soak` runs them. `CORACLE_LONG_LISTS` says
//! how much is measured: 1 for each field of each type once, 8 for each field in each kind, with lists that are 8 times as
//! long.

mod lists;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coracle_registry::{Strategy, custom};
use coracle_release::Release;
use coracle_resources::{Config, kinds};
use serde_json::{Value, json};

use crate::lists::{Places, long, long_together};
use crate::steps::{Step, Times};

/// What a kube-apiserver has stored of each kind, as it shows it.
const VALUES: &str = include_str!("../kube_apiserver_values/values.jsonl");
/// How much longer the longer of two lists is.
const FACTOR: usize = 8;
/// How much longer a step may take with the longer list.
const BOUND: u32 = 20;
/// What a step may take whatever its list.
const ALLOWED: Duration = Duration::from_micros(500);
/// What all steps together take with the shorter list.
const ENOUGH: Duration = Duration::from_millis(2);
/// How long the shorter list is at most.
const MOST: usize = 2048;
/// How often a step that took too long is measured.
const ATTEMPTS: usize = 4;
/// To how many more lengths a step is held that took too long.
const LENGTHS: usize = 2;
/// A step that takes longer is tried neither again nor with a longer list.
const LONGEST: Duration = Duration::from_millis(300);

/// By how much the lists are longer in long runs; 1 in others.
fn scale() -> usize {
    std::env::var("CORACLE_LONG_LISTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Every built-in kind; first the one whose parts most others have.
fn every_kind() -> Vec<Arc<dyn Strategy>> {
    let mut all = kinds(&Config::default());
    all.push(Arc::new(custom::definitions(&Release::default())));
    all.sort_by_key(|kind| kind.spec().row.kind.kind != "Pod");
    all
}

/// An object of each kind, by version and kind.
fn objects() -> BTreeMap<(String, String), Value> {
    let read = |line: &str| {
        let mut object = serde_json::from_str::<Value>(line).unwrap()["object"].take();
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        let text = |field: &str| object[field].as_str().unwrap().to_owned();
        ((text("apiVersion"), text("kind")), object)
    };
    VALUES.lines().map(read).collect()
}

/// A kind, an object of it, and the places of its lists.
struct Sample {
    kind: Arc<dyn Strategy>,
    object: Value,
    places: Places,
}

fn samples() -> Vec<Sample> {
    let objects = objects();
    let mut seen = std::collections::BTreeSet::new();
    let sample = |kind: Arc<dyn Strategy>| {
        let (version, name) = (kind.spec().gvk().api_version(), kind.spec().gvk().kind.clone());
        let plain = json!({"apiVersion": version, "kind": name, "metadata": {"name": "x"}});
        let object = objects.get(&(version, name)).cloned().unwrap_or(plain);
        let mut places = Places::of(kind.spec().schema.root(), &object);
        if scale() == 1 {
            places.keep(|place| seen.insert(place.field.clone()));
        }
        Sample { kind, object, places }
    };
    every_kind().into_iter().map(sample).collect()
}

/// Lists that take long enough to be measured, and no longer: an element of some kinds takes a hundred times as long as one of
/// others.
fn count(measure: impl Fn(usize) -> Times) -> usize {
    let mut count = 32;
    while count < MOST && measure(count).values().sum::<Duration>() < ENOUGH {
        count *= 2;
    }
    count * scale()
}

/// Says which steps take too long when a list is made `FACTOR` times as long, and when it is made as much longer again: what
/// is bounded, such as the text of an answer, grows with the square until it is as long as it may be.
fn growing(measure: impl Fn(usize) -> Times) -> Vec<(Step, Duration, Duration)> {
    let mut count = count(&measure);
    for _ in 0..LENGTHS {
        let growing = growing_from(&measure, count);
        if growing.is_empty() || growing.iter().any(|(_, _, long)| *long > LONGEST) {
            return growing;
        }
        count *= FACTOR;
    }
    growing_from(&measure, count)
}

fn growing_from(measure: impl Fn(usize) -> Times, count: usize) -> Vec<(Step, Duration, Duration)> {
    let too_long = |short: Duration, long: Duration| long > short * BOUND + ALLOWED;
    let (mut short, mut long) = (measure(count), measure(count * FACTOR));
    for attempt in 1.. {
        let steps = long.iter().filter_map(|(step, long)| {
            let short = short.get(step).copied().unwrap_or_default();
            too_long(short, *long).then_some((*step, short, *long))
        });
        let growing: Vec<_> = steps.collect();
        if growing.is_empty() || attempt == ATTEMPTS || growing.iter().any(|(_, _, long)| *long > LONGEST) {
            return growing;
        }
        steps::least(&mut short, measure(count));
        steps::least(&mut long, measure(count * FACTOR));
    }
    Vec::new()
}

/// Measures all lists by themselves, and all of a kind together, in some steps of a write.
fn check(measure: impl Fn(&dyn Strategy, &Value) -> Times) {
    let (mut findings, mut lists) = (Vec::new(), 0);
    let mut report = |kind: &dyn Strategy, what: &str, found: Vec<(Step, Duration, Duration)>| {
        for (step, short, long) in found {
            findings.push(format!("{}, {what}, {step}: {short:?} and {long:?}", kind.spec().gvk()));
        }
    };
    for Sample { kind, object, places } in &samples() {
        let kind = &**kind;
        for place in places.iter() {
            lists += 1;
            for likeness in place.likenesses(scale() > 1) {
                let found = growing(|count| measure(kind, &long(object, place, likeness, count)));
                report(kind, &format!("{} {likeness:?}", place.field), found);
            }
        }
        let found = growing(|count| measure(kind, &long_together(object, places, count.div_ceil(16))));
        report(kind, "all lists together", found);
    }
    assert!(findings.is_empty(), "work grows faster than the list does:\n{}", findings.join("\n"));
    assert!(lists > 300, "{lists} lists");
}

#[test]
#[ignore = "takes minutes: `make soak` runs it"]
fn validation_time_is_linear_in_the_length_of_lists() {
    check(steps::of_the_kind);
}

#[test]
#[ignore = "takes minutes: `make soak` runs it"]
fn reading_writing_patching_and_applying_take_as_long_as_lists_are() {
    check(steps::of_the_schema);
}

/// A step whose work grows with the square is seen, and one that sorts is not.
#[test]
fn a_step_that_compares_each_with_all_is_seen() {
    let texts = |count: usize| (0..count).map(|at| format!("text-{at}")).collect::<Vec<_>>();
    let squared = |count: usize| {
        let texts = texts(count);
        steps::timed("comparison", || texts.iter().enumerate().filter(|(at, text)| texts[..*at].contains(text)).count())
    };
    let sorted = |count: usize| {
        let mut texts = texts(count);
        steps::timed("order", || texts.sort_by(|one, other| other.cmp(one)))
    };
    assert_eq!(growing(squared).len(), 1);
    assert_eq!(growing(sorted), []);
}
