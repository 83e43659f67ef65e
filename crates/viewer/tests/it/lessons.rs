//! A page with a lesson in it holds both runs, and whatever it says is text.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use coracle_journal::{Detail, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::{Caption, Contrast, Lesson, LessonAnswer, Refuted, data, lesson_page};
use flate2::read::GzDecoder;
use serde_json::Value;

const HOSTILE: &str = "</script><script>alert(1)</script>\u{202e}";

fn run(name: &str) -> Events {
    let recorder = Recorder::ring(10);
    recorder.record("scenario", Stage::StepStart, || Detail::default().with("name", name));
    let header = Header::new("2026-01-01T00:00:00Z").of_scenario(name, "sha256:ab").run("virtual", 7);
    Events { header, entries: recorder.entries(EntryId(0)) }
}

#[test]
fn the_page_of_a_lesson_holds_what_it_says_and_both_of_its_runs() {
    let text = HOSTILE.to_owned();
    let caption = Caption { text: text.clone(), claim: "true".to_owned(), entry: EntryId(1) };
    let lesson = Lesson {
        number: 1,
        name: "a".to_owned(),
        title: text.clone(),
        question: "Why?".to_owned(),
        answers: vec![LessonAnswer { text: text.clone(), right: true, why: "so".to_owned(), place: None }],
        note: String::new(),
        captions: vec![caption.clone()],
        contrast: Contrast {
            title: "otherwise".to_owned(),
            refuted: vec![Refuted { text, instead: "not so".to_owned() }],
            captions: vec![caption],
        },
    };
    let (own, other) = (run("own"), run("other"));
    let page = lesson_page(&lesson, &own, &other);
    assert!(!page.contains("alert(1)"), "texts of a lesson are packed as the run is");
    let (_, rest) = page.split_once("<script id=\"run\" type=\"application/octet-stream\">").unwrap();
    let packed = rest.split_once("</script>").unwrap().0;
    let mut unpacked = String::new();
    GzDecoder::new(&*STANDARD.decode(packed).unwrap()).read_to_string(&mut unpacked).unwrap();
    let held: Value = serde_json::from_str(&unpacked).unwrap();
    let value = |events: &Events| serde_json::from_str::<Value>(&data(events)).unwrap();
    assert_eq!(held["contrast"], value(&other));
    assert_eq!(held["entries"], value(&own)["entries"]);
    assert_eq!(held["lesson"], serde_json::to_value(&lesson).unwrap());
    assert!(value(&own).get("lesson").is_none(), "a run alone has none");
}
