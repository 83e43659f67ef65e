use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{Check, Grade, Violation};
use super::run_log::{LoggedWrite, at, text};

pub(super) const MOVES_TRANSITION_TIMES: Check = Check {
    word: "moves-transition-times",
    grade: Grade::Wasteful,
    title: "moves a transition time without a transition",
    about: "A write of the component changes the `lastTransitionTime` of a condition, and not its `status`.",
    except: "New conditions.",
    find: |run, _| run.log.writes_of(&run.user).filter_map(moved).collect(),
};

fn conditions(object: &Value) -> BTreeMap<&str, &Value> {
    let list = at(object, "/status/conditions").and_then(Value::as_array);
    list.into_iter().flatten().map(|condition| (text(condition, "/type"), condition)).collect()
}

fn moved(write: &LoggedWrite) -> Option<Violation> {
    let (before, after) = (conditions(write.before.as_deref()?), conditions(write.after.as_deref()?));
    let has_moved = |name: &str, now: &Value| {
        let was = before.get(name)?;
        let differs = |field: &str| text(was, field) != text(now, field);
        (differs("/lastTransitionTime") && !differs("/status")).then_some(())
    };
    let name = after.iter().find_map(|(name, now)| has_moved(name, now).map(|()| *name))?;
    Some(Violation::at(write.entry, format!("{} {name}", write.subject)))
}
