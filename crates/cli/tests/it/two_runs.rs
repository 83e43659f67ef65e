//! Two runs are compared, and a run is changed, as a person at a terminal does it.

use std::path::PathBuf;

use crate::program::{Folder, coracle, repository, succeed, text};

fn demo() -> PathBuf {
    repository().join("scenarios/delete-a-pod.yaml")
}

fn log(folder: &Folder, name: &str, more: &[&str]) -> PathBuf {
    let events = folder.join(name);
    succeed(coracle().args(["run", "-q", "--events"]).arg(&events).args(more).arg(demo()));
    events
}

#[test]
fn runs_of_one_seed_are_equal_and_runs_of_two_seeds_differ_at_the_reported_event() {
    let folder = Folder::new("diff");
    let (one, again) = (log(&folder, "one.jsonl", &[]), log(&folder, "again.jsonl.gz", &[]));
    let said = succeed(coracle().arg("diff").args([&one, &again]));
    assert!(said.contains(" events, byte for byte"), "{said}");
    let report = folder.join("one.html");
    log(&folder, "beside.jsonl", &["--report", &report.to_string_lossy()]);
    let said = succeed(coracle().arg("diff").args([&report, &one]));
    assert!(said.contains(" events, byte for byte"), "a report and an events file are of the same run: {said}");
    let other = log(&folder, "other.jsonl.gz", &["--seed", "8"]);
    let page = folder.join("both.html");
    let output = coracle().arg("diff").args([&one, &other]).arg("--report").arg(&page).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    for part in ["  seed  1      8\n", "what differs there", "why, first", "why, second", "from there on"] {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("<script id=\"run\""));
    for (arguments, why) in [
        (vec![one.clone(), demo()], "line 1: expected {\"log\""),
        (vec![one.clone(), folder.join("nothing.jsonl")], "nothing.jsonl"),
        (vec![one.clone(), other.clone(), "--report".into(), folder.join("both.md")], "whose name ends with .html"),
    ] {
        let output = coracle().arg("diff").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output).contains(why), "{}", text(&output));
    }
}

#[test]
fn a_step_is_added_to_a_run_and_its_effect_is_reported() {
    let folder = Folder::new("change");
    let (step, page, events) = (folder.join("step.yaml"), folder.join("changed.html"), folder.join("changed.jsonl"));
    let run = |at: &str, put: &str, more: &[&str]| {
        std::fs::write(&step, put).unwrap();
        let mut run = coracle();
        run.args(["run", "--at", at, "--put"]).arg(&step).args(more).arg(demo()).output().unwrap()
    };
    let create = "create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}\n";
    let files = ["--report", &page.to_string_lossy(), "--events", &events.to_string_lossy()];
    let output = run("#3400", create, &files);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let said = text(&output);
    let parts = [
        "taken; the same up to #34",
        "step: put in after #3400",
        "what became of it",
        "\nat the end              as it was   as it is\n  ConfigMap default/a   —           there\n",
        "PASS",
        "why, as it was",
        " more between …",
    ];
    let places: Vec<Option<usize>> = parts.iter().map(|part| said.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} of {parts:?} in:\n{said}");
    let whole = text(&run("#3400", create, &["--verbose"]));
    assert!(!whole.contains("more between") && whole.lines().count() > said.lines().count() + 20, "{whole}");
    assert!(std::fs::read_to_string(&page).unwrap().len() <= 500_000);
    let header = std::fs::read_to_string(&events).unwrap().lines().next().unwrap().to_owned();
    assert!(header.contains("\"change\":\"#3400 sha256:"), "{header}");
    let refused = "delete: {ref: {apiVersion: v1, kind: Pod, name: nobody}}\n";
    let against = ["--against", &*events.to_string_lossy()];
    for (at, put, more, code, why) in [
        ("#3400", refused, &files[..2], 1, "refused at #3400: there is no Pod nobody\nthe run stays as it was"),
        ("#99999", create, &[][..], 4, "the run has no event #99999; the nearest for a step to go in is #"),
        ("#3400", "delet: {}\n", &[], 2, "step.yaml:1:1: unknown variant `delet`"),
        ("#3400", create, &["--mode", "scaled=10", against[0], against[1]], 2, "which an events file does not hold"),
        ("#3400", create, &against, 2, "the events are of another run: change is #3400"),
        ("first", create, &[], 2, "expected the number of an event"),
    ] {
        let output = run(at, put, more);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(why), "no `{why}` in:\n{}", text(&output));
    }
}
