//! What draws from the system repeats itself in `with_seed`, and nowhere else.
#![expect(clippy::disallowed_macros, reason = "the random branch of `tokio::select!` is tested")]

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::Arc;

use coracle_fixed_entropy::with_seed;
use coracle_tests::processes::{in_processes, process_count};
use parking_lot::Mutex;

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

/// The branches that `tokio::select!` takes, and the order in which a `watch` wakes its receivers.
#[expect(clippy::disallowed_methods, reason = "the randomness that is tested")]
async fn choices_of_tokio() -> (Vec<bool>, Vec<usize>) {
    let mut branches = Vec::new();
    for _ in 0..64 {
        let is_first = tokio::select! {
            () = std::future::ready(()) => true,
            () = std::future::ready(()) => false,
        };
        branches.push(is_first);
    }
    let (sender, receiver) = tokio::sync::watch::channel(());
    let woken = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let (mut receiver, woken) = (receiver.clone(), Arc::clone(&woken));
            tokio::spawn(async move {
                receiver.changed().await.unwrap();
                woken.lock().push(number);
            })
        })
        .collect();
    tokio::task::yield_now().await;
    sender.send(()).unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let woken = woken.lock().clone();
    (branches, woken)
}

/// All that the table in the documentation of the crate says follows from the seed.
fn draw_all() -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let numbers = SOURCES.map(|(name, draw)| format!("{name}: {:?}", [draw(), draw()])).join("\n");
    let (branches, woken) = runtime.block_on(choices_of_tokio());
    assert!(branches.contains(&true) && branches.contains(&false) && !woken.is_sorted());
    format!("{numbers}\nselect: {branches:?}\nwatch: {woken:?}")
}

#[test]
fn each_source_gives_the_same_in_all_processes_with_a_seed() {
    let test = "each_source_gives_the_same_in_all_processes_with_a_seed";
    let run = |_: usize, folder: &Path| std::fs::write(folder.join("drawn"), with_seed(7, draw_all)).unwrap();
    if let Some(runs) = in_processes(test, process_count(3), run) {
        runs.assert_same();
    }
}

#[test]
fn without_a_seed_processes_differ() {
    let run = |_: usize, folder: &Path| std::fs::write(folder.join("drawn"), draw_all()).unwrap();
    let Some(runs) = in_processes("without_a_seed_processes_differ", 2, run) else { return };
    assert_eq!(runs.differing(), ["drawn"]);
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
