use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

use ahash::RandomState;
use ahash::random_state::{RandomSource, set_random_source};

use crate::{on_seeded_thread, stream};

/// The seed of the keys that ahash draws once for a process. It is the same for all tests, because any of them may be
/// the first.
const SEED_OF_KEYS: u64 = 0;

/// Numbers the maps of ahash from the stream of the thread that makes them. Ahash itself uses addresses, which the
/// system chooses differently for each process.
struct OfThread;

impl RandomSource for OfThread {
    fn gen_hasher_seed(&self) -> usize {
        stream::next().unwrap_or_else(of_system) as usize
    }
}

fn of_system() -> u64 {
    #[expect(clippy::disallowed_types, reason = "a thread without a seed gets the system's randomness")]
    let keys = std::collections::hash_map::RandomState::new();
    keys.build_hasher().finish()
}

/// Sets the source of ahash and draws its keys, once for the process.
///
/// # Panics
/// If ahash has been used in this process before.
pub(crate) fn prepare() {
    static IS_PREPARED: OnceLock<bool> = OnceLock::new();
    let is_prepared = IS_PREPARED.get_or_init(|| {
        let is_set = set_random_source(OfThread).is_ok();
        let draws = || {
            let before = stream::drawn();
            // The first state of a process takes its number from the source, and draws the keys.
            RandomState::new();
            stream::drawn() > before + 1
        };
        is_set && on_seeded_thread(SEED_OF_KEYS, draws)
    });
    assert!(
        is_prepared,
        "this process made a map of ahash before the first `with_seed`, so the order of such maps does not follow from \
         a seed: run this test in a process of its own, with `cargo nextest run` or `cargo test NAME -- --exact`"
    );
}
