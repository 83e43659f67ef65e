use std::collections::{BTreeMap, BTreeSet};

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::{LoggedWrite, text};

pub(super) const LOST_LEASE: Check = Check {
    word: "lost-lease",
    grade: Grade::Broken,
    title: "acts after it has lost its Lease",
    about: "A write of an instance of the component is carried out after another instance has taken its Lease, and has \
            written something itself.",
    except: "Writes of the Lease and of Events, and writes of an instance that never held a Lease.",
    find: |run, _| late_writes(run),
};

/// An instance of a component: the user as which it sends requests, and the number of its start.
type Instance<'r> = (&'r str, u64);

/// What is known of the Leases so far.
#[derive(Default)]
struct Leases<'r> {
    /// The Lease that each instance held last, and the name under which it held it.
    held: BTreeMap<Instance<'r>, (&'r str, &'r str)>,
    /// The holder of each Lease.
    holders: BTreeMap<&'r str, &'r str>,
    /// The names of the holders that have written something else than a Lease.
    acted: BTreeSet<&'r str>,
}

fn late_writes(run: &Run) -> Vec<Violation> {
    let mut leases = Leases::default();
    // A component may lose its Lease to another one of the author.
    let take = |write| {
        let user = &*run.log.request_of(write)?.user;
        leases.take(write, (user, run.sender(write)?)).filter(|_| user == run.user)
    };
    run.log.writes.iter().filter_map(take).collect()
}

impl<'r> Leases<'r> {
    /// Takes the next write, which this instance has sent.
    fn take(&mut self, write: &'r LoggedWrite, instance: Instance<'r>) -> Option<Violation> {
        let object = write.object()?;
        if text(object, "/kind") == "Lease" {
            let holder = text(object, "/spec/holderIdentity");
            self.holders.insert(&write.subject, holder);
            if !holder.is_empty() && write.after.is_some() {
                self.held.insert(instance, (write.subject.as_str(), holder));
            }
            return None;
        }
        if write.is_record() {
            return None;
        }
        let (lease, name) = *self.held.get(&instance)?;
        self.acted.insert(name);
        let holder = *self.holders.get(lease)?;
        let is_lost = holder != name && self.acted.contains(holder);
        is_lost.then(|| {
            let what = format!("{name} {} {}, and {holder} holds {lease}", write.act(), write.subject);
            Violation::at(write.entry, what)
        })
    }
}
