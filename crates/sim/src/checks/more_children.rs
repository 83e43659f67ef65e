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

fn more(run: &Run, faultless: &[&Run]) -> Vec<Violation> {
    if faultless.is_empty() {
        return Vec::new();
    }
    let usual = |run: &Run, resource: &str| run.most_children().get(resource).copied();
    let limit = |resource: &str| faultless.iter().filter_map(|run| usual(run, resource)).max().unwrap_or_default();
    let over = run.most_children().iter().filter(|(resource, count)| **count > limit(resource));
    over.map(|(resource, count)| {
        Violation::of_the_run(format!("{count} {resource} at once, instead of {}", limit(resource)))
    })
    .collect()
}
