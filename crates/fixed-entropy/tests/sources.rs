//! What draws from the system repeats itself in `with_seed`, and nowhere else.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};

use coracle_fixed_entropy::with_seed;

type Source = (&'static str, fn() -> u64);

fn number(fill: impl FnOnce(&mut [u8])) -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

#[expect(clippy::disallowed_types, reason = "the type that is tested")]
fn keys_of_std() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

const SOURCES: [Source; 6] = [
    ("std", keys_of_std),
    ("getrandom 0.2", || number(|bytes| getrandom_02::getrandom(bytes).unwrap())),
    ("getrandom 0.3", || number(|bytes| getrandom_03::fill(bytes).unwrap())),
    ("getrandom 0.4", || number(|bytes| getrandom_04::fill(bytes).unwrap())),
    ("ahash", || ahash::RandomState::new().build_hasher().finish()),
    ("fastrand", || fastrand::u64(..)),
];

#[test]
fn each_source_follows_from_the_seed_and_only_from_it() {
    let drawn = |seed| with_seed(seed, || SOURCES.map(|(_, draw)| [draw(), draw()]));
    let (one, again, other) = (drawn(7), drawn(7), drawn(8));
    for (place, (name, _)) in SOURCES.iter().enumerate() {
        assert_eq!(one[place], again[place], "{name} differs with one seed");
        assert_ne!(one[place], other[place], "{name} is the same with another seed");
        assert_ne!(one[place][0], one[place][1], "{name} repeats a number");
    }
}

#[test]
fn a_thread_without_a_seed_draws_from_the_system_also_while_another_has_one() {
    with_seed(7, || {
        for (name, draw) in SOURCES {
            let drawn: BTreeSet<_> =
                (0..20).map(|_| std::thread::scope(|scope| scope.spawn(draw).join().unwrap())).collect();
            assert_eq!(drawn.len(), 20, "{name}");
        }
    });
}

#[test]
fn a_seed_within_a_seed_does_not_change_the_outer_numbers() {
    let outer = |inner: fn()| {
        with_seed(7, || {
            inner();
            SOURCES.map(|(_, draw)| draw())
        })
    };
    let nested = || with_seed(8, || assert_ne!(keys_of_std(), 0));
    assert_eq!(outer(|| ()), outer(nested));
}

#[test]
fn a_panic_of_the_test_is_passed_on() {
    let panic = std::panic::catch_unwind(|| with_seed(7, || panic!("the claim is false"))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the claim is false"));
}
