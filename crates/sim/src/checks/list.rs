use super::breaks_property::BREAKS_PROPERTY;
use super::check::{Check, Finding};
use super::ends_differently::ENDS_DIFFERENTLY;
use super::fails_work::FAILS_WORK;
use super::foreign_object::FOREIGN_OBJECT;
use super::hot_loop::HOT_LOOP;
use super::leaves_behind::LEAVES_BEHIND;
use super::lists_again::LISTS_AGAIN;
use super::lost_lease::LOST_LEASE;
use super::more_children::MORE_CHILDREN;
use super::moves_transition_times::MOVES_TRANSITION_TIMES;
use super::never_settles::NEVER_SETTLES;
use super::observed_generation::OBSERVED_GENERATION;
use super::panics::PANICS;
use super::run::Run;
use super::stuck_finalizer::STUCK_FINALIZER;
use super::unseen_incarnation::UNSEEN_INCARNATION;
use super::writes_after_restart::WRITES_AFTER_RESTART;
use super::writes_nothing::WRITES_NOTHING;
use super::writes_refused::WRITES_REFUSED;

/// All checks, in the order in which findings are reported.
pub const CHECKS: [&Check; 18] = [
    &PANICS,
    &BREAKS_PROPERTY,
    &LOST_LEASE,
    &UNSEEN_INCARNATION,
    &FOREIGN_OBJECT,
    &LEAVES_BEHIND,
    &STUCK_FINALIZER,
    &OBSERVED_GENERATION,
    &WRITES_AFTER_RESTART,
    &HOT_LOOP,
    &FAILS_WORK,
    &NEVER_SETTLES,
    &ENDS_DIFFERENTLY,
    &MORE_CHILDREN,
    &WRITES_REFUSED,
    &WRITES_NOTHING,
    &MOVES_TRANSITION_TIMES,
    &LISTS_AGAIN,
];

/// What the checks find in a run. `faultless` are runs of the same controller and the same work without a fault; it is
/// empty while they are judged themselves.
pub fn findings(run: &Run, faultless: &[Run]) -> Vec<Finding> {
    let of = |check: &'static Check| {
        (check.find)(run, faultless).into_iter().map(move |violation| Finding { check, violation })
    };
    CHECKS.into_iter().flat_map(of).collect()
}
