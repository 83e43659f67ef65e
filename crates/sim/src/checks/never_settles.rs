use super::check::{Check, Grade, Violation};

pub(super) const NEVER_SETTLES: Check = Check {
    word: "never-settles",
    grade: Grade::Broken,
    title: "never settles",
    about: "The cluster does not come to rest after all faults have ended: objects change, or work queues retry a key.",
    except: "Leases, Events and the heartbeats of nodes.",
    find: |run, _| run.unsettled.iter().map(|why| Violation::of_the_run(why.clone())).collect(),
};
