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

/// The checks of a whole run. What they find is found once, whichever component is the reason.
const OF_A_WHOLE_RUN: [&Check; 4] = [&BREAKS_PROPERTY, &FAILS_WORK, &NEVER_SETTLES, &ENDS_DIFFERENTLY];

/// What the checks find in a run, of each component of the author. `faultless` are runs of the same components and the
/// same work without a fault; it is empty while they are judged themselves.
pub fn findings(run: &Run, faultless: &[Run]) -> Vec<Finding> {
    let of_parts = run.parts.iter().enumerate().map(|(index, part)| {
        let same: Vec<&Run> = faultless.iter().filter_map(|run| run.parts.get(index)).collect();
        (part, same)
    });
    let components: Vec<(&Run, Vec<&Run>)> =
        std::iter::once((run, faultless.iter().collect())).chain(of_parts).collect();
    let mut found = Vec::new();
    for check in CHECKS {
        let is_of_the_run = OF_A_WHOLE_RUN.iter().any(|other| other.word == check.word);
        let judged = if is_of_the_run { &components[..1] } else { &components };
        for (run, faultless) in judged {
            let of = |violation| Finding { check, component: run.component.clone(), violation };
            found.extend((check.find)(run, faultless).into_iter().map(of));
        }
    }
    found
}
