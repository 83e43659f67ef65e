use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::LoggedWrite;

pub(super) const UNSEEN_INCARNATION: Check = Check {
    word: "unseen-incarnation",
    grade: Grade::Broken,
    title: "deletes an object that it was never shown",
    about: "The component deletes an object by its name, and the object that is deleted has another uid than the one \
            that the component was last sent: another object has taken the name.",
    except: "Deletions of objects of which the component was sent nothing.",
    find: |run, _| run.log.writes_of(&run.user).filter_map(|write| unseen(run, write)).collect(),
};

fn unseen(run: &Run, write: &LoggedWrite) -> Option<Violation> {
    let request = run.log.request_of(write).filter(|request| &*request.verb == "delete")?;
    let shown = run.shown(&request.audit_id, &write.subject).filter(|shown| shown.uid != write.uid())?;
    let (subject, uid, seen) = (&write.subject, write.uid(), &shown.uid);
    Some(Violation::at(write.entry, format!("{subject} has the uid {uid}, and the component had seen {seen}")))
}
