//! No object that the API accepts ends a controller, the scheduler, a node or the server, now or after a restart.

#[path = "../every_object/mod.rs"]
mod drawn;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, max_shrink_iters: 20, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_accepted_ends_nothing_and_is_read_again_after_a_restart(
        bytes in prop::collection::vec(any::<u8>(), 200..400),
    ) {
        drawn::survive(&bytes);
    }
}
