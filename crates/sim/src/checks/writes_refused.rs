use std::collections::BTreeSet;

use super::check::{Check, Grade, Violation};
use super::run::Run;
use super::run_log::LoggedRequest;

/// Answers that a correct controller gets, too: the object is gone, exists or has changed, the revision is too old, or the
/// server has too much to do.
const EXPECTED: [u16; 4] = [404, 409, 410, 429];

pub(super) const WRITES_REFUSED: Check = Check {
    word: "writes-refused",
    grade: Grade::Wasteful,
    title: "sends writes that are refused",
    about: "The API server refuses a write of the component without a fault, for example because it is forbidden or not \
            valid. What the component does after this write is not checked.",
    except: "Answers 404, 409, 410 and 429, and dry runs.",
    find: |run, faultless| {
        // A fault may be the reason.
        if faultless.is_empty() { refused(run) } else { Vec::new() }
    },
};

fn refused(run: &Run) -> Vec<Violation> {
    let own = run.log.requests.iter().filter(|request| *request.user == *run.user && !request.is_dry_run);
    let mut known = BTreeSet::new();
    let first = own.filter(|request| is_refused(request)).filter(|request| known.insert(what(request)));
    first.map(|request| Violation::at(request.entry, what(request))).collect()
}

fn is_refused(request: &LoggedRequest) -> bool {
    let writes = matches!(&*request.verb, "create" | "update" | "patch" | "delete" | "deletecollection");
    writes && request.code.is_some_and(|code| (400..500).contains(&code) && !EXPECTED.contains(&code))
}

/// The same for each repetition of a request.
fn what(request: &LoggedRequest) -> String {
    let LoggedRequest { verb, subject, subresource, code, refusal, .. } = request;
    let subresource = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
    let code = code.unwrap_or_default();
    let why = if refusal.is_empty() { String::new() } else { format!(": {refusal}") };
    format!("{verb} {subject}{subresource}: {code}{why}")
}
