//! `coracle learn --serve`: the list, a lesson, and what becomes of its run when a learner changes something.

use std::path::Path;

use coracle_journal::Stage;

use crate::program::{Folder, coracle};
use crate::view::{answer, serving};

/// The log in a page, and whether the page has two runs.
fn read_page(folder: &Path, answer: &str) -> coracle_viewer::Read {
    let (_, page) = answer.split_once("\r\n\r\n").unwrap();
    let file = folder.join("page.html");
    std::fs::write(&file, page).unwrap();
    coracle_viewer::read(&file).unwrap()
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_learner_changes_a_lesson_and_sees_both_runs() {
    let folder = Folder::new("course");
    let (_running, link) = serving(coracle().args(["learn", "--serve", "--address", "127.0.0.1"]));
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
    let list = answer(&link, "");
    assert!(list.starts_with("HTTP/1.1 200") && list.contains("href=\"lesson/a-pod-is-deleted\""), "{list}");
    assert!(header(&list, "content-security-policy").contains("frame-ancestors 'none'"), "{list}");
    assert!(answer(&link, "evil.example").starts_with("HTTP/1.1 403"), "the site has the guard of every page");
    assert!(answer(&format!("{link}lesson/none"), "").starts_with("HTTP/1.1 404"));
    assert!(answer(&format!("{link}site.js"), "").contains("text/javascript"));

    let lesson = answer(&format!("{link}lesson/a-pod-is-deleted"), "");
    let policy = header(&lesson, "content-security-policy");
    assert!(policy.contains("script-src 'self' 'sha256-") && policy.contains("form-action 'self'"), "{policy}");
    assert!(lesson.contains("site.js") && lesson.contains(r#""kind":"lesson""#));
    let events = read_page(folder.path(), &lesson).events;
    let begins = events.entries.iter().position(|entry| entry.stage == Stage::StepStart).unwrap();
    let created =
        |entry: &&coracle_journal::Entry| entry.stage == Stage::StoreCommit && entry.subject.starts_with("pods/");
    let pod = events.entries[begins..].iter().find(created).unwrap();
    let (at, name) = (events.entries[begins].id.0, pod.subject.replace('/', "%2F"));
    let change = |query: &str| answer(&format!("{link}change/a-pod-is-deleted?{query}"), "");

    let after = events.entries.iter().rfind(|entry| entry.stage == Stage::StepEnd).unwrap().id.0 - 200;
    let scaled = change(&format!("at={after}&do=scale&workload=replicasets/default/web&replicas=5"));
    let both = read_page(folder.path(), &scaled);
    assert!(both.other_content.is_some(), "both runs are on the page");
    let change_mark = both.events.header.change.clone().unwrap();
    assert!(change_mark.starts_with(&format!("#{after} ")), "{change_mark}");
    let is_at = |entry: &coracle_journal::Entry| entry.id.0 <= after;
    let same = events.entries.iter().filter(|entry| is_at(entry)).count();
    assert!(events.entries[..same] == both.events.entries[..same], "up to the event nothing is different");
    assert!(events.entries != both.events.entries);

    let early = change(&format!("at={at}&do=delete&pod={name}"));
    assert!(early.starts_with("HTTP/1.1 200"));
    let unchanged = read_page(folder.path(), &early);
    assert!(unchanged.events.header.change.is_none(), "the API refused: the pod does not exist at that event");
    let refused = why_refused(&early);
    assert!(refused.contains(&format!("there is no Pod {}", pod.subject.rsplit('/').next().unwrap())), "{refused}");
    for (query, why) in [
        (format!("at={after}&do=stop&part=controller-manager/replicaste"), "did you mean"),
        (format!("at={after}&do=explode"), "is no change"),
        (format!("at={}&do=kill&part=scheduler", u64::MAX), "the run has no event"),
        ("do=kill&part=scheduler".to_owned(), "event"),
    ] {
        let page = change(&query);
        let refused = why_refused(&page);
        assert!(refused.contains(why), "{query}: {refused}");
    }
}

/// Why a step was refused, as the data of the page says it.
fn why_refused(answer: &str) -> String {
    let data: serde_json::Value = serde_json::from_str(&packed(answer)).unwrap();
    data["refused"]["why"].as_str().unwrap_or("it was taken").to_owned()
}

/// The data of a page, unpacked.
fn packed(answer: &str) -> String {
    use std::io::Read;

    use base64::Engine;
    let (_, after) = answer.split_once("type=\"application/octet-stream\">").unwrap();
    let (data, _) = after.split_once("</script>").unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim()).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn two_changes_at_once_are_one_run_and_a_refusal() {
    let (_running, link) = serving(coracle().args(["learn", "--serve", "--address", "127.0.0.1"]));
    let ready = answer(&format!("{link}lesson/conflict-is-fine"), "");
    assert!(ready.starts_with("HTTP/1.1 200"));
    let change = || answer(&format!("{link}change/conflict-is-fine?at=1600&do=stop&part=scheduler"), "");
    let codes: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(change)).collect();
        asked.into_iter().map(|one| one.join().unwrap()[9..12].to_owned()).collect()
    });
    assert!(codes.iter().any(|code| code == "200"), "{codes:?}");
    assert!(codes.iter().any(|code| code == "503"), "{codes:?}");
    assert!(change().starts_with("HTTP/1.1 200"), "the next one is accepted");
}
