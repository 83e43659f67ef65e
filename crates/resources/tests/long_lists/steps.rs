//! The steps of a write, each with the CPU time that it took.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use coracle_ambient::Timestamp;
use coracle_meta::{Object, Status};
use coracle_registry::{Request, Strategy, Verb};
use coracle_schema::apply::{Booking, Filter, OneVersion, TablePlace, managed_fields};
use coracle_schema::decode::{Format, decode, normalize};
use coracle_schema::patch::{merge_patch, strategic_merge_patch};
use coracle_schema::protobuf;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

/// The name of a step.
pub(crate) type Step = &'static str;
/// What each step took.
pub(crate) type Times = BTreeMap<Step, Duration>;

/// The CPU time of this thread.
fn clock() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Takes a step.
fn take<T>(times: &mut Times, step: Step, act: impl FnOnce() -> T) -> T {
    let before = clock();
    let made = black_box(act());
    *times.entry(step).or_default() += clock().saturating_sub(before);
    made
}

/// What one step takes.
pub(crate) fn timed<T>(step: Step, act: impl FnOnce() -> T) -> Times {
    let mut times = Times::new();
    drop(take(&mut times, step, act));
    times
}

/// Keeps the least of two measurements of each step.
pub(crate) fn least(times: &mut Times, others: Times) {
    for (step, other) in others {
        times.entry(step).and_modify(|time| *time = other.min(*time)).or_insert(other);
    }
}

/// The same object with its lists the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().rev().map(reversed).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), reversed(value))).collect(),
        other => other.clone(),
    }
}

/// Asks a kind for what it makes of a new object, of its change and of its status.
pub(crate) fn of_the_kind(kind: &dyn Strategy, value: &Value) -> Times {
    let mut times = Times::new();
    let now = Timestamp::UNIX_EPOCH;
    let spec = kind.spec();
    let request = Request::new(Verb::Create, spec.row.resource(), now);
    let mut new = Object::from_value(value.clone()).unwrap();
    let mut old = Object::from_value(reversed(value)).unwrap();
    take(&mut times, "defaults", || kind.set_defaults(&mut new));
    kind.set_defaults(&mut old);
    take(&mut times, "conversion", || kind.to_hub(&mut new)).unwrap();
    kind.to_hub(&mut old).unwrap();
    let mut created = new.clone();
    take(&mut times, "preparation of a new object", || (spec.prepare_create)(&mut created, &request, &spec.release));
    let errors = take(&mut times, "validation", || kind.validate(&created));
    take(&mut times, "answer", || Status::invalid(spec.gvk(), created.name(), &errors));
    take(&mut times, "warnings", || (spec.warnings)(&created, None, &spec.release));
    take(&mut times, "canonical form", || (spec.canonicalize)(&mut created));
    take(&mut times, "row of a table", || (spec.cells(&created, now), (spec.row_conditions)(&created)));
    let mut updated = new.clone();
    take(&mut times, "preparation of a change", || (spec.prepare_update)(&mut updated, &old, &request, &spec.release));
    take(&mut times, "validation of a change", || kind.validate_update(&updated, &old));
    take(&mut times, "validation of no change", || kind.validate_update(&updated, &updated));
    take(&mut times, "warnings of a change", || (spec.warnings)(&updated, Some(&old), &spec.release));
    take(&mut times, "preparation of a status", || kind.prepare_status_update(&mut new, &old, &request));
    take(&mut times, "validation of a status", || kind.validate_status_update(&new, &old));
    take(&mut times, "conversion back", || kind.from_hub(&mut created)).unwrap();
    times
}

/// Reads an object in each format, writes, patches and applies it.
pub(crate) fn of_the_schema(kind: &dyn Strategy, value: &Value) -> Times {
    let mut times = Times::new();
    let schema = &kind.spec().schema;
    let gvk = kind.spec().gvk();
    let (json, api_version) = (value.to_string(), gvk.api_version());
    let read = take(&mut times, "JSON", || decode(json.as_bytes(), Format::Json, gvk, schema));
    take(&mut times, "YAML", || decode(json.as_bytes(), Format::Yaml, gvk, schema).is_ok());
    let Some(stored) = read.ok().and_then(|read| normalize(read.object, schema).ok()) else { return times };
    let stored = stored.object;
    take(&mut times, "normal form", || normalize(stored.clone(), schema).is_ok());
    let message = take(&mut times, "protobuf written", || protobuf::encode(stored.tree(), schema));
    take(&mut times, "protobuf read", || decode(&message, Format::Protobuf, gvk, schema).is_ok());
    let other = reversed(value);
    let place = TablePlace::root(schema);
    take(&mut times, "merge patch", || merge_patch(stored.to_value(), other.clone()).is_ok());
    take(&mut times, "strategic merge patch", || {
        strategic_merge_patch(stored.to_value(), other.clone(), place).is_ok()
    });
    let booking = |manager| {
        let versions = OneVersion { api_version: &api_version, schema, filter: Filter::default() };
        let time = "2026-01-01T00:00:00Z".to_owned();
        Booking { versions, api_version: &api_version, manager, subresource: "", time }
    };
    let empty = json!({"apiVersion": api_version, "kind": gvk.kind});
    let booked =
        take(&mut times, "managed fields", || managed_fields::update(&booking("a"), &empty, stored.to_value()));
    take(&mut times, "managed fields of a change", || managed_fields::update(&booking("b"), &booked, other.clone()));
    take(&mut times, "apply", || managed_fields::apply(&booking("c"), &booked, value, false).is_ok());
    take(&mut times, "apply with force", || managed_fields::apply(&booking("c"), &booked, &other, true).is_ok());
    times
}
