//! Each lesson is true of its run and not of its contrast, and `docs/lessons` holds its text. `CORACLE_WRITE_DOCUMENTS=1` writes
//! the documents again.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use coracle_lesson::{Lesson, Taught, lessons, teach};
use coracle_viewer::{Caption, LessonAnswer};

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
        false => {
            Err(format!("docs/lessons/{name} differs from the lesson: run this test with CORACLE_WRITE_DOCUMENTS=1"))
        }
    }
}

fn index() -> String {
    let mut text = String::from(
        "# Lessons\n\n\
         These pages are for users who learn how controllers work. `coracle learn` serves the lessons to a browser, and `coracle learn 1` \
         starts the first: a question with answers to choose from, a run, captions about its events, and a contrast, which is \
         a run with another outcome. `coracle learn 1 --report lesson.html` writes the page with both runs in it \
         (`docs/window.md`).\n\n\
         Each caption is bound to an event of the run's log. Its numbers come from the log, and its claim is checked on the \
         log before the caption is shown. In the contrast some of the claims are false, and that is checked, too. \
         `docs/scenarios.md` describes the format of lesson files.\n\n",
    );
    let lessons = lessons();
    for lesson in &lessons {
        let _ = writeln!(text, "- [{}. {}]({}.md)", lesson.spec.number, lesson.spec.title, lesson.metadata.name);
    }
    wrapped(&text)
}

/// The text in lines of at most 120 characters; what continues an item of a list is indented.
fn wrapped(text: &str) -> String {
    text.lines().fold(String::new(), |text, line| text + &wrapped_line(line) + "\n")
}

fn wrapped_line(line: &str) -> String {
    let indent = match line.split_once(' ') {
        Some((marker, _)) if marker == "-" || is_number(marker) => marker.len() + 1,
        _ => 0,
    };
    let (mut text, mut width) = (String::new(), 0);
    let mut words = line.split(' ').peekable();
    while let Some(word) = words.next() {
        let mut chunk = word.to_owned();
        while let Some(next) = words.next_if(|next| begins_a_block(next)) {
            chunk = format!("{chunk} {next}");
        }
        let length = chunk.chars().count();
        if width == 0 {
            width = length;
        } else if width + 1 + length <= 120 {
            text.push(' ');
            width += 1 + length;
        } else {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            width = indent + length;
        }
        text.push_str(&chunk);
    }
    text
}

/// Whether a line that begins with the word would be an item, a quotation or a heading.
fn begins_a_block(word: &str) -> bool {
    word.starts_with(['-', '+', '*', '>', '#', '=']) || is_number(word)
}

/// Whether a word marks an item of a numbered list.
fn is_number(word: &str) -> bool {
    word.strip_suffix('.').is_some_and(|number| !number.is_empty() && number.chars().all(|sign| sign.is_ascii_digit()))
}

fn document(taught: &Taught) -> String {
    let lesson = &taught.lesson;
    let mut text = format!("# {}. {}\n\n", lesson.number, lesson.title);
    let _ = writeln!(text, "`coracle learn {}`\n\n{}\n", lesson.number, lesson.question);
    for (place, answer) in lesson.answers.iter().enumerate() {
        let _ = writeln!(text, "- **{}** {}", LessonAnswer::letter(place), answer.text);
    }
    text.push_str("\n<details><summary>Which answer is right?</summary>\n\n");
    for (place, answer) in lesson.answers.iter().enumerate() {
        let is = if answer.right { "right" } else { "wrong" };
        let _ = writeln!(text, "- **{}** is {is}. {}", LessonAnswer::letter(place), answer.why);
    }
    text.push_str("\n</details>\n\n## What the run shows\n\n");
    captions(&mut text, &lesson.captions, taught.events.entries.as_slice());
    let _ = writeln!(text, "\n## The contrast: {}\n\nThese captions are false there:\n", lesson.contrast.title);
    for refuted in &lesson.contrast.refuted {
        let _ = writeln!(text, "- {}<br>Here: {}", refuted.text, refuted.instead);
    }
    text.push_str("\nInstead:\n\n");
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
    wrapped(&text)
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
fn lessons_are_numbered_without_gaps_and_named_as_their_files() {
    let all = lessons();
    let numbers: Vec<u32> = all.iter().map(|lesson| lesson.spec.number).collect();
    assert_eq!(numbers, (1..).take(all.len()).collect::<Vec<u32>>());
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
