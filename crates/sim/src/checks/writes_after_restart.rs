use std::collections::BTreeSet;

use super::check::{Check, Grade, Violation};
use super::difference::first_difference;
use super::run::Run;
use super::run_log::{LoggedWrite, text};

pub(super) const WRITES_AFTER_RESTART: Check = Check {
    word: "writes-after-restart",
    grade: Grade::Broken,
    title: "writes after a restart at rest",
    about: "The cluster is at rest, the component is restarted, and it changes an object: it had forgotten something, \
            or it had left work undone.",
    except: "Leases and Events, changes of times only, changes of one name to another under which the component has held a Lease, \
             and changes that a restart in a run without a fault makes, too.",
    find: |run, faultless| {
        let usual: Vec<String> = faultless.iter().flat_map(|run| after_restart(run).map(kind_of)).collect();
        let new = after_restart(run).filter(|write| !usual.contains(&kind_of(write)));
        let names = lease_names(run);
        new.filter_map(|write| Some(Violation::at(write.entry, what(write, &names)?))).collect()
    },
};

/// The names under which the component has held a Lease. Each start has another one.
fn lease_names(run: &Run) -> BTreeSet<&str> {
    let leases = run.log.writes_of(&run.user).filter_map(LoggedWrite::object);
    let leases = leases.filter(|object| text(object, "/kind") == "Lease");
    leases.map(|lease| text(lease, "/spec/holderIdentity")).filter(|name| !name.is_empty()).collect()
}

/// What a write does; `None` if it changes nothing but times and names of instances.
fn what(write: &LoggedWrite, names: &BTreeSet<&str>) -> Option<String> {
    let act = format!("{} {}", write.act(), write.subject);
    match (&write.before, &write.after) {
        (Some(before), Some(after)) => Some(format!("{act}: {}", first_difference(before, after, names)?)),
        _ => Some(act),
    }
}

fn after_restart(run: &Run) -> impl Iterator<Item = &LoggedWrite> {
    let bounds = run.settled.zip(run.restarted);
    run.log.writes_of(&run.user).filter(move |write| {
        !write.is_record() && bounds.is_some_and(|(from, to)| write.entry > from && write.entry <= to)
    })
}

/// The act and the resource, which are the same in each run.
fn kind_of(write: &LoggedWrite) -> String {
    format!("{} {}", write.act(), write.resource())
}
