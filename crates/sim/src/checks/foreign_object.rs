use serde_json::Value;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::{LoggedWrite, at, text};

pub(super) const FOREIGN_OBJECT: Check = Check {
    word: "foreign-object",
    grade: Grade::Broken,
    title: "deletes an object of another owner",
    about: "The component deletes an object whose controller is another incarnation than the one that the component was \
            last sent: it acts for an object of the same name that is gone.",
    except: "Deletions of objects whose controller is gone, or of whose controller the component was sent nothing.",
    find: |run, _| run.log.writes_of(&run.user).filter_map(|write| foreign(run, write)).collect(),
};

fn foreign(run: &Run, write: &LoggedWrite) -> Option<Violation> {
    let request = run.log.request_of(write).filter(|request| &*request.verb == "delete")?;
    let owner = controller_of(write.before.as_deref()?)?;
    let objects = run.log.objects_at(write.entry);
    let (subject, _) = objects.iter().find(|(_, write)| write.uid() == owner)?;
    let shown = run.shown(&request.audit_id, subject).filter(|shown| shown.uid != owner)?;
    let (object, seen) = (&write.subject, &shown.uid);
    Some(Violation::at(write.entry, format!("{object} is of {subject} ({owner}), and the component had seen {seen}")))
}

/// The uid of the controller of an object.
fn controller_of(object: &Value) -> Option<&str> {
    let owners = at(object, "/metadata/ownerReferences")?.as_array()?;
    let controller = owners.iter().find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))?;
    Some(text(controller, "/uid"))
}
