use super::check::{Check, Grade, Violation};
use super::end_state::EndState;
use super::run::Run;

pub(super) const ENDS_DIFFERENTLY: Check = Check {
    word: "ends-differently",
    grade: Grade::Differs,
    title: "ends with other objects",
    about: "The objects at rest, after all faults have ended, differ from those of each run without a fault.",
    except: "Leases and Events, times, IP addresses, suffixes of generated names, times in names, and fields that differ \
             between runs without a fault, too. A uid counts as that of an object which exists, or of one that is gone.",
    find: |run, faultless| differs(run, faultless),
};

fn differs(run: &Run, faultless: &[&Run]) -> Vec<Violation> {
    if run.settled.is_none() || faultless.is_empty() {
        return Vec::new();
    }
    let expected: Vec<&EndState> = faultless.iter().map(|run| run.end_state()).collect();
    let (state, unstable) = (run.end_state(), EndState::unstable(&expected));
    let differences = expected.iter().map(|expected| state.differences(expected, &unstable));
    let fewest = differences.min_by_key(Vec::len).unwrap_or_default();
    fewest.into_iter().map(Violation::of_the_run).collect()
}
