//! For tests only: the randomness of the operating system follows from a seed.
//!
//! ```text
//! std's HashMap, the crate getrandom (rand, uuid, ahash) --getrandom, syscall--> symbols --> stream of the thread
//! ahash: the number of each map ----------------------------RandomSource------> ahash_source --^
//! fastrand -------------------------------------------------fastrand::seed----> with_seed
//! ```
//! Start at [`with_seed`].
//!
//! A Coracle cluster in virtual time takes no randomness from the system, so one seed gives one event log. A controller
//! in the same process may take some: kube-rs polls its reconciles in the order of a `HashMap`, and lists its store in
//! the order of an ahash map. With this crate the controller repeats itself, too.
//!
//! # Unsafe code
//! The workspace forbids unsafe code. This crate is the exception, because libraries that take randomness from the
//! system take it through a C function, and only another C function of the same name can answer them. The module
//! `symbols` has all of it. No product crate may depend on this crate; `tests/tests/layering.rs` enforces both.
//!
//! # What follows from the seed
//! | source | follows |
//! |---|---|
//! | `HashMap`, `HashSet` and `RandomState` of std | yes |
//! | the crate getrandom 0.2, 0.3 and 0.4: rand, uuid, ring and others | yes |
//! | maps of ahash 0.8 | yes |
//! | fastrand 2, with which kube-rs draws the delays of its back-off | yes |
//! | `tokio::select!` and the order in which `tokio::sync::watch` wakes its receivers | yes, if the process runs one test |
//! | iteration over maps of hashbrown or foldhash | no: they use addresses and the machine's clock |
//! | the machine's clock, for example the times in the Events of `kube::runtime::events` | no |
//! | other threads: of a runtime with several threads, of `spawn_blocking`, of the test itself | no |
//!
//! # Limits
//! - The platform is Linux with glibc. On others, [`with_seed`] panics.
//! - A thread that does not run in [`with_seed`] gets the system's randomness.
//! - A test that must repeat itself in another process runs alone in its process, as `cargo nextest` runs all tests and
//!   `cargo test NAME -- --exact` runs one: tokio counts its runtimes, and ahash draws keys once for a process.

mod ahash_source;
mod stream;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod symbols;

use std::panic::resume_unwind;
use std::thread::{Builder, current, scope};

/// Runs `test` on a thread of its own, in which the randomness of the operating system follows from `seed`.
///
/// The thread is new, because std, rand and fastrand draw once for each thread and keep the result.
///
/// ```
/// use std::collections::HashMap;
///
/// let order = || (0..100).map(|n| (n, ())).collect::<HashMap<_, _>>().into_keys().collect::<Vec<_>>();
/// assert_eq!(coracle_fixed_entropy::with_seed(7, order), coracle_fixed_entropy::with_seed(7, order));
/// assert_ne!(order(), order());
/// ```
/// With a cluster, in a test without a runtime:
///
/// ```text
/// #[test]
/// fn a_controller_repeats_itself() {
///     with_seed(7, || coracle::run_virtual(7, async |cluster| { .. }).unwrap());
/// }
/// ```
///
/// # Panics
/// If `test` panics; if the platform is not supported; if a map of ahash was made in this process before its first
/// `with_seed`, because the order of all such maps has then been drawn from the system.
pub fn with_seed<T: Send>(seed: u64, test: impl FnOnce() -> T + Send) -> T {
    ahash_source::prepare();
    on_seeded_thread(seed, test)
}

/// The same without preparing ahash.
fn on_seeded_thread<T: Send>(seed: u64, test: impl FnOnce() -> T + Send) -> T {
    // A panic names its thread: the test, as libtest named it.
    let name = current().name().unwrap_or("with_seed").to_owned();
    scope(|scope| {
        let seeded = Builder::new().name(name).spawn_scoped(scope, || {
            stream::begin(seed);
            assert_in_force();
            fastrand::seed(stream::next().expect("the stream has begun"));
            test()
        });
        seeded.expect("the system starts a thread").join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Checks that the randomness of this thread is answered from its stream.
fn assert_in_force() {
    let before = stream::drawn();
    #[expect(clippy::disallowed_types, reason = "draws the keys of this thread, to see where they come from")]
    let _keys = std::collections::hash_map::RandomState::new();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    let is_exported = symbols::are_exported();
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let is_exported = false;
    assert!(
        is_exported && stream::drawn() > before,
        "std does not take its randomness from this crate: fixed-entropy needs Linux with glibc, and a program that is \
         linked with it statically"
    );
}
