//! `coracle learn`: the list, a lesson without a terminal, a page, and what bad input gets.

use crate::program::{Folder, coracle, repository, succeed, text};

/// What `coracle learn` ends with, and says.
fn learn(arguments: &[&str]) -> (Option<i32>, String) {
    let output = coracle().arg("learn").args(arguments).output().unwrap();
    (output.status.code(), text(&output))
}

#[test]
fn without_a_name_the_lessons_are_listed() {
    let printed = succeed(coracle().arg("learn"));
    let lines: Vec<&str> = printed.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), std::fs::read_dir(repository().join("lessons")).unwrap().count());
    assert!(lines[0].starts_with("  1  a-pod-is-deleted ") && printed.contains("coracle learn 1"), "{printed}");
}

#[test]
fn without_a_terminal_a_lesson_prints_the_same_text_each_time() {
    let folder = Folder::new("learn");
    let page = folder.join("lesson.html");
    let by_number = succeed(coracle().args(["learn", "7"]));
    let by_name = succeed(coracle().args(["learn", "conflict-is-fine", "--plain", "--report"]).arg(&page));
    let told = |printed: &str| printed.lines().take_while(|line| !line.contains("page")).collect::<Vec<_>>().join("\n");
    assert_eq!(told(&by_number), told(&by_name));
    for part in [
        "What happens to bob's write?",
        "It is c. ",
        "409. bob's precondition is resourceVersion",
        "The contrast: ",
        "not so here: ",
    ] {
        assert!(by_number.contains(part), "{part}: {by_number}");
    }
    assert!(!by_number.contains("Your guess"), "nobody is asked");
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!doctype html>"));
}

#[test]
fn an_unknown_lesson_gets_the_closest_name_and_an_invalid_file_its_place() {
    let (code, said) = learn(&["conflict-is-fne"]);
    assert!(code == Some(4) && said.contains("did you mean `conflict-is-fine`?"), "{said}");
    let (code, said) = learn(&["conflict", "--plain"]);
    assert!(code == Some(0) && said.contains("What happens to bob's write?"), "a name may be shortened: {said}");
    assert!(said.ends_with("Next: coracle learn 8\n"), "{said}");
    let (code, said) = learn(&["the-"]);
    assert!(code == Some(0), "one lesson begins so: {said}");
    let (code, said) = learn(&["w"]);
    assert!(code == Some(4), "several lessons begin so: {said}");
    let (code, said) = learn(&["99"]);
    assert!(code == Some(4) && said.contains("the nearest is 22"), "{said}");
    let (code, said) = learn(&["1", "--report", "lesson.txt"]);
    assert!(code == Some(2) && said.contains("ends with .html"), "{said}");

    let folder = Folder::new("learn-bad");
    let (bad, untrue) = (folder.join("bad.yaml"), folder.join("untrue.yaml"));
    let lesson = std::fs::read_to_string(repository().join("lessons/conflict-is-fine.yaml")).unwrap();
    std::fs::write(&bad, lesson.replacen("stage: api.respond", "stage: api.answer", 1)).unwrap();
    let (code, said) = learn(&[&bad.display().to_string()]);
    assert!(code == Some(2) && said.contains("bad.yaml:") && said.contains("unknown stage `api.answer`"), "{said}");
    std::fs::write(&untrue, lesson.replacen("refused.data.code == 409", "refused.data.code == 404", 1)).unwrap();
    let (code, said) = learn(&[&untrue.display().to_string()]);
    assert!(code == Some(1) && said.contains("`refused` claims what is not true of the run"), "{said}");
}
