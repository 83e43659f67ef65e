//! The links of the walk lead to the events in their titles, in the report that is part of the documents.

use coracle_journal::{Entry, Stage};
use coracle_viewer::{read, sentence};

use crate::program::{Folder, coracle, repository, succeed};

/// The report of the demo, which `CORACLE_WRITE_DOCUMENTS=1` makes this test write.
const REPORT: &str = "docs/reports/delete-a-pod.html";
/// The target of a link of the walk. Its title is the event's sentence: `…` stands for any text, and `then` means after
/// the event of the link before.
const LINK: &str = "(reports/delete-a-pod.html#i=";

#[test]
fn the_links_of_the_walk_lead_to_the_events_in_their_titles() {
    let folder = Folder::new("walk");
    let fresh = folder.join("fresh.html");
    let demo = repository().join("scenarios/delete-a-pod.yaml");
    succeed(coracle().args(["run", "-q", "--report"]).arg(&fresh).arg(demo));
    let report = repository().join(REPORT);
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::copy(&fresh, &report).unwrap();
    }
    let log = read(&fresh).unwrap().events.entries;
    let is_same = read(&report).unwrap().events.entries == log;
    assert!(is_same, "{REPORT} is out of date: run this test with CORACLE_WRITE_DOCUMENTS=1");
    let is_asked =
        |entry: &&Entry| entry.stage == Stage::ApiRequest && sentence(entry).starts_with("scenario asks to delete");
    let asked = log.iter().find(is_asked).unwrap().id;
    let mut last = asked;
    let path = repository().join("docs/walk.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let links = text
        .split(LINK)
        .skip(1)
        .map(|rest| rest.split_once(" \"").and_then(|(_, title)| title.split_once('"')).unwrap().0);
    let mut right = text.clone();
    let mut count = 0;
    for title in links {
        let (since, sought) = title.strip_prefix("then ").map_or((asked, title), |sought| (last, sought));
        let is_sought =
            |entry: &&Entry| entry.id >= since && matches(sought, &format!("{}: {}", entry.actor, sentence(entry)));
        last = log.iter().find(is_sought).unwrap_or_else(|| panic!("nothing in the demo is: {title}")).id;
        let found = last.0;
        let (before, _) = right.split_once(&format!(" \"{title}\"")).unwrap();
        let place = before.rfind("[#").unwrap()..before.len();
        right.replace_range(place, &format!("[#{found}]{LINK}{found}"));
        count += 1;
    }
    assert!(count >= 14, "{count} links");
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(&path, &right).unwrap();
    }
    assert!(
        text == right,
        "other events than docs/walk.md says: run this test with CORACLE_WRITE_DOCUMENTS=1\n{right}"
    );
}

/// Whether a text is what a pattern says, in which `…` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    pattern.ends_with('…') || rest.is_empty()
}
