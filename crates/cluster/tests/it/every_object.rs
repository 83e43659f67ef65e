//! No object that the API accepts ends a controller, the scheduler, a node or the server, now or after a restart.

#[path = "../every_object/mod.rs"]
mod drawn;

use proptest::prelude::*;

/// How many runs are drawn; more in long runs.
fn cases() -> u32 {
    std::env::var("CORACLE_OBJECTS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 20, ..ProptestConfig::default() })]
    #[test]
    fn accepted_objects_crash_no_component_and_are_readable_after_a_restart(
        bytes in prop::collection::vec(any::<u8>(), 200..400),
    ) {
        drawn::survive(&bytes);
    }
}
