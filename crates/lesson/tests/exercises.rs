//! Each exercise is in the list, its cluster breaks, and its claims tell a broken cluster from a repaired one.

use std::path::{Path, PathBuf};

use coracle_lesson::{Exercise, exercises, lessons, parse_exercise};

const EXERCISE: &str = include_str!("../exercises/selector-typo.yaml");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn exercises_are_numbered_without_gaps_and_named_as_their_files() {
    let all = exercises();
    let numbers: Vec<u32> = all.iter().map(|exercise| exercise.spec.number).collect();
    assert_eq!(numbers, (1..).take(all.len()).collect::<Vec<u32>>());
    let file = |exercise: &Exercise| root().join(format!("exercises/{}.yaml", exercise.metadata.name));
    assert!(all.iter().all(|exercise| file(exercise).exists()));
    assert_eq!(std::fs::read_dir(root().join("exercises")).unwrap().count(), all.len());
    assert!(all.len() >= 8);
}

#[test]
fn errors_of_an_exercise_have_their_place() {
    for (part, other, said) in [
        ("kind: Exercise", "kind: Exercize", "did you mean `Exercise`?"),
        ("kind: Exercise", "kind: Lesson", "this is a Lesson, expected an Exercise: use `coracle learn FILE`"),
        ("  title:", "  titel:", "unknown field `titel`"),
        ("    eventually:", "    evntually:", "unknown field `evntually`"),
        ("kind: Deployment\n            metadata", "kind: Deploymnt\n            metadata", "no kind `Deploymnt`"),
        ("endpointslices.exists", "endpointslice.exists", "`endpointslice` is neither"),
    ] {
        assert!(EXERCISE.contains(part), "{part}");
        let problem = parse_exercise(Path::new("e.yaml"), &EXERCISE.replacen(part, other, 1)).unwrap_err().to_string();
        assert!(problem.starts_with("e.yaml:") && problem.contains(said), "{other}: {problem}");
    }
    let without_claims = EXERCISE.split("    eventually:").next().unwrap();
    let problem = parse_exercise(Path::new("e.yaml"), without_claims).unwrap_err().to_string();
    assert!(problem.contains("nothing has to hold in the repaired cluster"), "{problem}");
}

#[test]
fn the_document_for_teachers_has_a_row_for_each_lesson_and_exercise_with_its_minutes() {
    let text = std::fs::read_to_string(root().join("docs/teaching.md")).unwrap();
    let lesson = |lesson: &coracle_lesson::Lesson| {
        let (number, name) = (lesson.spec.number, &lesson.metadata.name);
        format!("| {number}. [{name}](lessons/{name}.md) | {} | ", lesson.minutes())
    };
    let exercise = |exercise: &Exercise| {
        format!("| {}. {} | {} | ", exercise.spec.number, exercise.metadata.name, exercise.spec.minutes)
    };
    let (lessons, exercises) = (lessons(), exercises());
    let missing: Vec<String> =
        lessons.iter().map(lesson).chain(exercises.iter().map(exercise)).filter(|row| !text.contains(row)).collect();
    assert!(missing.is_empty(), "docs/teaching.md lacks rows that begin with\n{}", missing.join("\n"));
}
