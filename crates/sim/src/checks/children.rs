use std::collections::{BTreeMap, BTreeSet};

use super::run_log::RunLog;

/// The largest number of objects of each resource that existed at once, of those that a user created.
pub(super) fn most<'l>(log: &'l RunLog, user: &'l str) -> BTreeMap<&'l str, usize> {
    let created: BTreeSet<&str> =
        log.writes_of(user).filter(|write| write.before.is_none()).map(|write| write.uid()).collect();
    let mut now: BTreeMap<&'l str, usize> = BTreeMap::new();
    let mut most: BTreeMap<&'l str, usize> = BTreeMap::new();
    let own = log.writes.iter().filter(|write| !write.is_record() && created.contains(write.uid()));
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
