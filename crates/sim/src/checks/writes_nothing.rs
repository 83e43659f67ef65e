use super::check::{Check, Grade, Violation};

pub(super) const WRITES_NOTHING: Check = Check {
    word: "writes-nothing",
    grade: Grade::Wasteful,
    title: "sends writes that change nothing",
    about: "An update or a patch of the component is accepted, and makes no revision, because the object is already so.",
    except: "Dry runs.",
    find: |run, _| {
        let own = run.log.requests.iter().filter(|request| *request.user == *run.user && !request.is_dry_run);
        let accepted = own.filter(|request| request.code.is_some_and(|code| (200..300).contains(&code)));
        let writes = accepted.filter(|request| matches!(&*request.verb, "update" | "patch") && !request.has_committed);
        writes.map(|request| Violation::at(request.entry, format!("{} {}", request.verb, request.subject))).collect()
    },
};
