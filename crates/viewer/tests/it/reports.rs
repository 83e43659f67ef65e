//! Reports say what the log says, and whatever things are called is text in them.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_journal::{Detail, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::{Format, Outcome, Summary, data, packed, report, sentence};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::Value;

/// A run in which a step of this name holds and a check of this name breaks.
fn run(name: &str) -> Events {
    let recorder = Recorder::ring(100);
    let say = |actor: &str, stage, detail: Detail| recorder.record(actor, stage, || detail).unwrap();
    let named = || Detail::default().with("name", name);
    say("store", Stage::StoreCommit, Detail::about("nodes/a").at(1).with("op", "create").with("version", 1));
    say("scenario", Stage::StepStart, named());
    let sync = say("cm/replicaset", Stage::SyncStart, Detail::about("default/web").with("worker", 1));
    let write = Detail::about("default/web").caused_by([sync]).with("verb", "create").with("resource", "pods");
    let write = say("cm/replicaset", Stage::SyncWrite, write.with("name", name).with("audit", "a"));
    let request = Detail::about(format!("pods/default/{name}")).caused_by([write]).with("verb", "create");
    let request = request.with("user", "robot").with("agent", "coracle").with("audit", "a");
    let request = say("apiserver", Stage::ApiRequest, request);
    let commit = Detail::about(format!("pods/default/{name}")).at(2).caused_by([request]);
    let commit = say("store", Stage::StoreCommit, commit.with("op", "create").with("version", 1));
    let end = Detail::about("default/web").caused_by([sync]).with("result", "done").with("writes", 1);
    say("cm/replicaset", Stage::SyncEnd, end.with("reads", serde_json::json!({"pods": 1})));
    say("scenario", Stage::CheckPass, named().at(2));
    let broken = named().at(2).caused_by([commit]).with("throughout", true);
    say("world", Stage::CheckFail, broken.with("expected", "one pod").with("found", name));
    let header = Header::new("2026-01-01T00:00:00Z").of_scenario(name, "sha256:ab").run("virtual", 7);
    Events { header, entries: recorder.entries(EntryId(0)) }
}

#[test]
fn the_summary_says_what_broke_where_and_who_wrote_it() {
    let summary = Summary::of(&run("a"));
    assert_eq!(summary.outcome, Outcome::Failed);
    assert_eq!(summary.begins, Some(EntryId(2)));
    let failure = summary.failure.unwrap();
    assert_eq!((&*failure.found, failure.revision), ("a", 2));
    assert_eq!(failure.written_by.unwrap(), "cm/replicaset (create pods/default/a)");
    assert_eq!(
        summary.checks.iter().map(|check| (check.held, check.throughout)).collect::<Vec<_>>(),
        [(true, false), (false, true)]
    );
    assert_eq!(summary.options.unwrap(), "--seed 7 --mode virtual");
}

#[test]
fn the_data_of_the_page_decompresses_to_the_whole_log() {
    let events = run("</script><!--\u{202e}");
    let text = data(&events);
    let page: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(page["form"], 1);
    let name = |place: &Value| page["names"][place.as_u64().unwrap() as usize].as_str().unwrap().to_owned();
    for (row, entry) in page["entries"].as_array().unwrap().iter().zip(&events.entries) {
        assert_eq!(row[0], entry.id.0);
        assert_eq!((name(&row[2]), name(&row[4])), (entry.actor.clone(), entry.subject.clone()));
        assert_eq!(page["stages"][row[3].as_u64().unwrap() as usize], entry.stage.word());
        assert_eq!(row[5], serde_json::json!(entry.causes));
        assert!(page["sentences"][entry.stage.word()].is_array(), "{}", sentence(entry));
    }
    let packed = packed(&events);
    assert!(packed.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
    let mut unpacked = String::new();
    GzDecoder::new(&*STANDARD.decode(packed).unwrap()).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
}

#[test]
fn a_trace_has_a_track_a_worker_and_a_flow_a_cause() {
    let events = run("a");
    let trace: Value = serde_json::from_str(&report(&events, Format::Perfetto)).unwrap();
    let trace = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| trace.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
    let threads: Vec<_> = of("M").iter().filter_map(|event| event["args"]["name"].as_str()).collect();
    assert!(threads.contains(&"cm/replicaset #1"), "{threads:?}");
    // The end of a sync is the end of its slice.
    assert_eq!(of("X").len(), events.entries.len() - 1);
    let causes: usize =
        events.entries.iter().filter(|entry| entry.stage != Stage::SyncEnd).map(|entry| entry.causes.len()).sum();
    assert_eq!((of("s").len(), of("f").len()), (causes, causes));
}

/// A report as a page, in three parts: what is before the run, the run, what is after it.
fn page(name: &str) -> (String, String, String) {
    let text = report(&run(name), Format::Html);
    let (before, rest) = text.split_once("<script id=\"run\" type=\"application/octet-stream\">").unwrap();
    let (data, after) = rest.split_once("</script>").unwrap();
    (before.to_owned(), data.to_owned(), after.to_owned())
}

proptest! {
    #[test]
    fn names_of_objects_do_not_change_the_page_around_the_run(name in "(?s).{0,40}|</script>.{0,9}") {
        let ((before, data, after), plain) = (page(&name), page("a"));
        prop_assert!(data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)));
        prop_assert_eq!((before, after), (plain.0, plain.2));
    }
    #[test]
    fn names_of_objects_are_shown_as_text(name in "(?s).{0,40}") {
        let events = run(&name);
        let junit = report(&events, Format::Junit);
        let allowed = |character: char| matches!(character, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        prop_assert!(junit.chars().all(allowed), "no XML can hold that: {junit:?}");
        prop_assert_eq!(junit.matches('<').count(), report(&run("a-b"), Format::Junit).matches('<').count());
        let markdown = report(&events, Format::Markdown);
        prop_assert!(!markdown.contains('<') && !markdown.contains('>') && !markdown.contains('@'));
        prop_assert_eq!(markdown.lines().filter(|line| line.starts_with('|')).count(), 2 + 2);
        for format in [Format::Json, Format::Perfetto] {
            let json: Result<Value, _> = serde_json::from_str(&report(&events, format));
            prop_assert!(json.is_ok());
        }
    }
}
