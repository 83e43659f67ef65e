use super::check::{Check, Grade, Violation};
use super::run::{BrokenProperty, Run};

/// See [`CHECKS`](super::CHECKS).
pub const BREAKS_PROPERTY: Check = Check {
    word: "breaks-property",
    grade: Grade::Broken,
    title: "breaks a property of its author",
    about: "A property that its author gave does not hold: one of `always` or `never` at some revision, or one of \
            `eventually` at rest.",
    except: "Runs without such properties.",
    find: |run, _| run.broken_properties.iter().map(|property| violation(run, property)).collect(),
};

fn violation(run: &Run, BrokenProperty { sentence, revision, found }: &BrokenProperty) -> Violation {
    let entry = run.log.writes.iter().find(|write| Some(write.revision) == *revision).map(|write| write.entry);
    Violation { what: format!("{sentence}: {found}"), entry }
}
