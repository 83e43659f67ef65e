//! What becomes of lesson files that are not right.

use std::path::Path;

use coracle_lesson::{Error, read, teach};
use proptest::prelude::*;

/// The refutations of the lesson.
const REFUTATIONS: &str = concat!(
    "refutes:\n",
    "    - {caption: queued, instead: \"No key is added to the queue of the ReplicaSet controller, because the pod has no owner.\"}\n",
    "    - {caption: created, instead: \"No pod is created.\"}\n",
);
const LESSON: &str = include_str!("../lessons/a-pod-is-deleted.yaml");

fn no_file(path: &Path) -> Result<String, String> {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("delete-a-pod.yaml") => Ok(include_str!("../scenarios/delete-a-pod.yaml").to_owned()),
        _ => Err(format!("{} cannot be read", path.display())),
    }
}

/// What is said of the first lesson when a part of it is another; the place is that of the part.
fn refusal(part: &str, other: &str) -> String {
    assert!(LESSON.contains(part), "{part}");
    let text = LESSON.replacen(part, other, 1);
    match read::parse(Path::new("a.yaml"), &text, &no_file) {
        Err(problem) => problem.to_string(),
        Ok(_) => "accepted".to_owned(),
    }
}

#[test]
fn errors_of_a_lesson_have_their_place_and_the_expectation() {
    for (part, other, said) in [
        (
            "kind: Lesson",
            "kind: Leson",
            "a.yaml:3:7: unknown kind `Leson`, expected one of Scenario, Lesson, Plan, Exercise; did you mean `Lesson`?",
        ),
        ("  title: What", "  titel: What", "a.yaml:7:3: unknown field `titel`, expected one of number, title,"),
        ("    right: true\n", "", "0 answers are right, expected one with `right: true`"),
        ("file: ../scenarios/delete-a-pod.yaml", "file: ../scenarios/gone.yaml", "scenarios/gone.yaml cannot be read"),
        ("stage: api.request", "stage: api.requests", "unknown stage `api.requests`, expected one of api.request"),
        (
            "causedBy: asked",
            "causedBy: aksed",
            "unknown caption above `aksed`, expected one of asked; did you mean `asked`?",
        ),
        ("causedBy: marked", "causedBy: created", "unknown caption above `created`"),
        ("entry.data.verb == 'delete'", "entry.dat.verb == 'delete'", "undefined field 'dat'"),
        ("asked.causes.size() == 0", "aksed.causes.size() == 0", "undeclared reference to 'aksed'"),
        ("{asked.subject}", "{asked.subject", "a `{` without its `}`"),
        ("- name: marked", "- name: asked", "`asked` is the name of something above"),
        ("- name: marked", "- name: a-b", "`a-b` is not a name for expressions"),
        ("- name: marked", "- name: entries", "`entries` is a word that expressions have already"),
        ("nth: -1", "nth: 0", "`nth` counts from 1, or from the end with -1"),
        ("{caption: queued, instead: ", "{caption: qeued, instead: ", "unknown caption `qeued`"),
        (REFUTATIONS, "refutes: []\n", "the contrast refutes nothing"),
        ("No pod is created.", "No pod {asked is created.", "a `{` without its `}`"),
        ("kind: Pod\n", "kind: Pood\n", "no kind `Pood` in `v1`; did you mean `Pod`?"),
    ] {
        let found = refusal(part, other);
        assert!(found.starts_with("a.yaml:") && found.contains(said), "{other}: {found}");
        let place: Vec<&str> = found.splitn(4, ':').collect();
        assert!(place[1].parse::<u32>().is_ok() && place[2].parse::<u32>().is_ok(), "{found}");
    }
}

#[test]
fn a_lesson_with_a_false_claim_is_rejected() {
    let text = LESSON
        .replacen("asked.causes.size() == 0", "asked.causes.size() == 1", 1)
        .replacen("sent.revision == marked.revision &&", "sent.data.nothing == 1 &&", 1)
        .replacen("actor: controller-manager}", "actor: nobody}", 1)
        .replacen("refutes:\n", "refutes:\n    - {caption: marked, instead: Nothing.}\n", 1);
    let lesson = read::parse(Path::new("a.yaml"), &text, &no_file).unwrap();
    let Err(Error::Untrue(problems)) = teach(&lesson, Path::new("a.yaml")) else { panic!("it is taught") };
    let said: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(said.contains(&"`asked` claims what is not true of the run"), "{said:?}");
    assert!(said.contains(&"`marked` is true in the contrast, too"), "{said:?}");
    assert!(said.contains(&"the run has no entry that is what `cached` says"), "{said:?}");
    assert!(said.iter().any(|one| one.starts_with("the claim of `sent` has no answer: ")), "{said:?}");
    assert!(problems.iter().all(|problem| problem.line > 0 && problem.column > 0));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[ -~\n]{0,200}") {
        let _ = read::parse(Path::new("a.yaml"), &text, &no_file);
    }

    #[test]
    fn a_lesson_that_was_cut_or_bent_is_read_or_refused_with_its_place(at in 0..LESSON.len(), put in "[ -~\n]{0,4}", cut in 0usize..6) {
        let (at, end) = (LESSON.floor_char_boundary(at), LESSON.floor_char_boundary((at + cut).min(LESSON.len())));
        let text = format!("{}{put}{}", &LESSON[..at], &LESSON[end.max(at)..]);
        if let Err(problem) = read::parse(Path::new("a.yaml"), &text, &no_file) {
            prop_assert!(!problem.message.is_empty());
        }
    }
}
