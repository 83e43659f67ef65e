//! Whatever a client sends: no rule of a kind may panic on it, and defaults are complete at once.

use coracle_ambient::Timestamp;
use coracle_meta::Object;
use coracle_registry::{Request, Strategy, Verb};
use coracle_resources::{Config, kinds};
use coracle_schema::sample::{self, Choices};
use proptest::prelude::*;
use proptest::strategy::Strategy as Draws;
use serde_json::{Value, json};

/// An object of a kind as somebody might write it.
fn well_formed(kind: &dyn Strategy, seed: u64) -> Object {
    let value = sample::value(kind.spec().schema.root(), &mut Choices::new(seed));
    Object::from_value(value).unwrap_or_default()
}

/// The same with some values replaced by ones of another shape, as an old store might hold.
fn malformed(kind: &dyn Strategy, seed: u64, junk: &[Value]) -> Object {
    fn spoil(value: &mut Value, junk: &[Value], next: &mut impl FnMut() -> usize) {
        if next().is_multiple_of(6) {
            value.clone_from(&junk[next() % junk.len()]);
            return;
        }
        match value {
            Value::Object(tree) => tree.values_mut().for_each(|value| spoil(value, junk, next)),
            Value::Array(items) => items.iter_mut().for_each(|value| spoil(value, junk, next)),
            _ => {}
        }
    }
    let mut value = well_formed(kind, seed).to_value();
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap_or(0)
    };
    if let Value::Object(tree) = &mut value {
        tree.values_mut().for_each(|value| spoil(value, junk, &mut next));
    }
    Object::from_value(value).unwrap_or_default()
}

/// Asks a kind for all that it says about objects.
fn ask_everything(kind: &dyn Strategy, mut new: Object, mut old: Object) {
    let now = Timestamp::UNIX_EPOCH;
    let spec = kind.spec();
    let request = Request::new(Verb::Create, spec.row.resource(), now);
    let _ = kind.to_hub(&mut old);
    let _ = kind.from_hub(&mut old);
    for object in [&mut new, &mut old] {
        kind.set_defaults(object);
    }
    let mut created = new.clone();
    (spec.prepare_create)(&mut created, &request, &spec.release);
    kind.validate(&created);
    (spec.warnings)(&created, None, &spec.release);
    (spec.canonicalize)(&mut created);
    spec.cells(&created, now);
    (spec.row_conditions)(&created);
    (spec.name)(created.name());
    for field in kind.selectable_fields().unwrap_or_default() {
        spec.field_value(&created, field);
    }
    (spec.grace_period)(&created, Some(1));
    let mut updated = new.clone();
    (spec.prepare_update)(&mut updated, &old, &request, &spec.release);
    kind.validate_update(&updated, &old);
    (spec.warnings)(&updated, Some(&old), &spec.release);
    kind.prepare_status_update(&mut new, &old, &request);
    kind.validate_status_update(&new, &old);
}

fn junk() -> impl Draws<Value = Vec<Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(1.5)),
        ".{0,8}".prop_map(Value::from),
        Just(json!("99999999999999999999Ei")),
        Just(json!("-1%")),
        Just(json!("2001-02-30T99:00:00Z")),
    ];
    let tree = leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map("(name|spec|metadata|labels|.{0,3})", inner, 0..3)
                .prop_map(|tree| Value::Object(tree.into_iter().collect())),
        ]
    });
    prop::collection::vec(tree, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_rule_panics(seed in any::<u64>(), junk in junk()) {
        for kind in kinds(&Config::default()) {
            ask_everything(&*kind, well_formed(&*kind, seed), well_formed(&*kind, seed.wrapping_add(1)));
            ask_everything(&*kind, malformed(&*kind, seed, &junk), malformed(&*kind, seed.wrapping_add(1), &junk));
        }
    }

    #[test]
    fn defaults_are_complete_at_once(seed in any::<u64>()) {
        for kind in kinds(&Config::default()) {
            let mut once = well_formed(&*kind, seed);
            kind.set_defaults(&mut once);
            let mut twice = once.clone();
            kind.set_defaults(&mut twice);
            prop_assert_eq!(once.to_value(), twice.to_value(), "{}", kind.spec().row.plural);
        }
    }
}
