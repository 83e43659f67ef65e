use std::collections::{BTreeMap, BTreeSet};

use super::check::{Check, Grade, Violation};
use super::run::Run;

pub(super) const MORE_CHILDREN: Check = Check {
    word: "more-children",
    grade: Grade::Wasteful,
    title: "has more children than ever",
    about: "At one moment, more objects of one resource that the component created exist than in any run without a \
            fault.",
    except: "Leases and Events.",
    find: |run, faultless| more(run, faultless),
};

/// The largest number of objects of each resource that existed at once, of those that the component created.
fn most(run: &Run) -> BTreeMap<&str, usize> {
    let created: BTreeSet<&str> =
        run.log.writes_of(&run.user).filter(|write| write.before.is_none()).map(|write| write.uid()).collect();
    let mut now: BTreeMap<&str, usize> = BTreeMap::new();
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    let own = run.log.writes.iter().filter(|write| !write.is_record() && created.contains(write.uid()));
    for write in own {
        let resource = write.resource();
        let count = now.entry(resource).or_default();
        match (&write.before, &write.after) {
            (None, Some(_)) => *count += 1,
            (Some(_), None) => *count = count.saturating_sub(1),
            _ => {}
        }
        let highest = most.entry(resource).or_default();
        *highest = (*highest).max(*count);
    }
    most
}

fn more(run: &Run, faultless: &[Run]) -> Vec<Violation> {
    if faultless.is_empty() {
        return Vec::new();
    }
    let usual: Vec<_> = faultless.iter().map(most).collect();
    let limit = |resource: &str| usual.iter().filter_map(|most| most.get(resource)).max().copied().unwrap_or_default();
    let over = most(run).into_iter().filter(|(resource, count)| *count > limit(resource));
    over.map(|(resource, count)| {
        Violation::of_the_run(format!("{count} {resource} at once, instead of {}", limit(resource)))
    })
    .collect()
}
