use super::check::{Check, Grade, Violation};

/// See [`CHECKS`](super::CHECKS).
pub const FAILS_WORK: Check = Check {
    word: "fails-work",
    grade: Grade::Broken,
    title: "keeps a user from its work",
    about: "The API server refuses what a step of the workload asks for, or a condition of a step does not come in time.",
    except: "Runs without a workload.",
    find: |run, _| run.failed_work.iter().map(|why| Violation::of_the_run(why.clone())).collect(),
};
