//! The walk's links lead to the events of the demo's report that they speak of.

use coracle_journal::{Entry, Events, Stage};
use coracle_viewer::sentence;

use crate::program::{Folder, coracle, repository, succeed};

/// Where a link of the walk leads; its title says what happens there, `…` standing for any text, and `then` for after the link before.
const LINK: &str = "(../target/delete-a-pod.html#i=";

#[test]
fn the_links_of_the_walk_lead_to_the_events_in_their_titles() {
    let folder = Folder::new("walk");
    let events = folder.join("events.jsonl");
    let demo = repository().join("scenarios/delete-a-pod.yaml");
    succeed(coracle().args(["run", "-q", "--events"]).arg(&events).arg(demo));
    let log = Events::read(&events).unwrap().entries;
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
        let (since, told) = title.strip_prefix("then ").map_or((asked, title), |told| (last, told));
        let tells =
            |entry: &&Entry| entry.id >= since && matches(told, &format!("{}: {}", entry.actor, sentence(entry)));
        last = log.iter().find(tells).unwrap_or_else(|| panic!("nothing in the demo is: {title}")).id;
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
