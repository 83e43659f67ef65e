//! Each lesson is true of its run and not of its contrast, and `docs/lessons` says what it said. `CORACLE_WRITE_DOCUMENTS=1` writes
//! the documents anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use coracle_lesson::{Lesson, Taught, lessons, missing, teach};
use coracle_viewer::{Answer, Caption};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lessons").join(name)
}

fn hold(name: &str, wanted: &str) -> Result<(), String> {
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::create_dir_all(docs("")).unwrap();
        std::fs::write(docs(name), wanted).unwrap();
    }
    let found = std::fs::read_to_string(docs(name)).unwrap_or_default();
    match found == wanted {
        true => Ok(()),
        false => Err(format!(
            "docs/lessons/{name} is not what the lesson says: run this test with CORACLE_WRITE_DOCUMENTS=1"
        )),
    }
}

fn index() -> String {
    let mut text = String::from(
        "# Lessons\n\n\
         `coracle learn` lists these, and `coracle learn 1` teaches the first: a question to guess at, a run, what there is to see in it, \
         and a run in which it is otherwise. `coracle learn 1 --report lesson.html` writes the page with both runs in it \
         (`docs/window.md`).\n\n\
         Nothing here is written by hand beside a run: each sentence is bound to an event of the run's log, its numbers come from there, and a claim is \
         checked on the log before the sentence is said. In the contrast some of the claims are false, and that is checked, too. What a lesson \
         file may say is in `docs/scenarios.md`.\n\n",
    );
    let lessons = lessons();
    for lesson in &lessons {
        let _ = writeln!(text, "- [{}. {}]({}.md)", lesson.spec.number, lesson.spec.title, lesson.metadata.name);
    }
    if let Some(missing) = missing(&lessons) {
        let _ = writeln!(text, "\n{missing}");
    }
    text
}

fn document(taught: &Taught) -> String {
    let lesson = &taught.lesson;
    let mut text = format!("# {}. {}\n\n", lesson.number, lesson.title);
    let _ = writeln!(text, "`coracle learn {}`\n\n{}\n", lesson.number, lesson.question);
    for (place, answer) in lesson.answers.iter().enumerate() {
        let _ = writeln!(text, "- **{}** {}", Answer::letter(place), answer.text);
    }
    text.push_str("\n<details><summary>Which is right?</summary>\n\n");
    for (place, answer) in lesson.answers.iter().enumerate() {
        let is = if answer.right { "right" } else { "not" };
        let _ = writeln!(text, "- **{}** is {is}. {}", Answer::letter(place), answer.why);
    }
    text.push_str("\n</details>\n\n## What there is to see\n\n");
    captions(&mut text, &lesson.captions, taught.events.entries.as_slice());
    let _ = writeln!(text, "\n## The contrast: {}\n\nNot so there:\n", lesson.contrast.title);
    for refuted in &lesson.contrast.refuted {
        let claim = if refuted.claim.is_empty() { String::new() } else { format!(" `{}`", refuted.claim) };
        let _ = writeln!(text, "- {}<br><sub>{}{claim}</sub>", refuted.text, refuted.how);
    }
    text.push_str("\nBut:\n\n");
    captions(&mut text, &lesson.contrast.captions, taught.contrast.entries.as_slice());
    if !lesson.note.is_empty() {
        let _ = writeln!(text, "\n{}", lesson.note);
    }
    text.push_str("\n## What was checked\n\n");
    for (number, caption) in (1..).zip(&lesson.captions) {
        let _ = writeln!(text, "- {number}: `{}`", caption.claim);
    }
    for (number, caption) in (1..).zip(&lesson.contrast.captions) {
        let _ = writeln!(text, "- {number} of the contrast: `{}`", caption.claim);
    }
    text
}

fn captions(text: &mut String, captions: &[Caption], entries: &[coracle_journal::Entry]) {
    for (number, caption) in (1..).zip(captions) {
        let place = entries.binary_search_by_key(&caption.entry, |entry| entry.id).unwrap();
        let (entry, millis) = (&entries[place], entries[place].at.as_secs_f64() * 1000.0);
        let _ = writeln!(text, "{number}. {}<br><sub>{millis:.1} ms, {}</sub>", caption.text, entry.actor);
    }
}

/// Whether each caption is about something later than the one before.
fn in_order(taught: &Taught) -> bool {
    let rises = |captions: &[Caption]| captions.is_sorted_by(|one, next| one.entry < next.entry);
    rises(&taught.lesson.captions) && rises(&taught.lesson.contrast.captions)
}

fn file_of(lesson: &Lesson) -> PathBuf {
    PathBuf::from(format!("lessons/{}.yaml", lesson.metadata.name))
}

#[test]
fn each_lesson_is_true_of_its_run_and_not_of_its_contrast_and_its_document_says_the_same() {
    let (all, next) = (lessons(), AtomicUsize::new(0));
    let work = || {
        let mut problems = Vec::new();
        while let Some(lesson) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            match teach(lesson, &file_of(lesson)) {
                Ok(taught) if !in_order(&taught) => {
                    problems.push(format!("{}: a caption goes back in time", lesson.metadata.name));
                }
                Ok(taught) => problems.extend(hold(&format!("{}.md", lesson.metadata.name), &document(&taught)).err()),
                Err(why) => problems.push(why.to_string()),
            }
        }
        problems
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_index_lists_every_lesson() {
    hold("README.md", &index()).unwrap();
}

#[test]
fn lessons_are_in_the_order_of_their_numbers_and_named_as_their_files() {
    let all = lessons();
    assert!(all.is_sorted_by_key(|lesson| lesson.spec.number));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(all.iter().all(|lesson| root.join(file_of(lesson)).exists()));
    let files = std::fs::read_dir(root.join("lessons")).unwrap().count();
    assert_eq!(files, all.len(), "each file is in the list");
}

#[test]
fn a_lesson_writes_the_same_page_twice() {
    let first = &lessons()[0];
    let page = || teach(first, &file_of(first)).unwrap().page();
    assert!(page() == page());
}
