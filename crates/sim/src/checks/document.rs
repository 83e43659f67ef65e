//! `docs/checks.md`, made from the list of checks. `CORACLE_WRITE_DOCUMENTS=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::check::Grade;
use super::list::CHECKS;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");

const INTRODUCTION: &str = "\
<!-- written by crates/sim/src/checks/document.rs -->

# Checks

This page lists what Coracle checks of every controller. [check.md](check.md) shows how to run a controller with faults,
so that these checks find what it does wrong. Each check is a function of the event log of a run.

\"At rest\" means that all faults have ended and the cluster has settled: for a minute, no object changes except Leases
and Events, and no work queue has work.
";

const SECTIONS: [(Grade, &str); 3] = [
    (Grade::Broken, "Broken: no correct controller does this."),
    (Grade::Differs, "Differs: the run ends in another state than the runs without a fault."),
    (Grade::Wasteful, "Wasteful: it is shown, and fails nothing."),
];

fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (grade, title) in SECTIONS {
        let _ = write!(text, "\n{title}\n\n| check | the component | fails when | except |\n|---|---|---|---|\n");
        for check in CHECKS.iter().filter(|check| check.grade == grade) {
            let _ = writeln!(text, "| `{}` | {} | {} | {} |", check.word, check.title, check.about, check.except);
        }
    }
    text
}

#[test]
fn the_document_lists_the_checks() {
    let wanted = document();
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(PATH, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(found == wanted, "docs/checks.md differs from the list: run this test with CORACLE_WRITE_DOCUMENTS=1");
}

#[test]
fn each_check_has_a_word_of_its_own_and_all_of_its_texts() {
    let words: BTreeSet<&str> = CHECKS.iter().map(|check| check.word).collect();
    assert_eq!(words.len(), CHECKS.len());
    for check in CHECKS {
        assert!(check.about.ends_with('.') && check.except.ends_with('.') && !check.title.ends_with('.'), "{check:?}");
    }
}

#[test]
fn a_file_of_this_folder_that_defines_a_check_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/checks");
    let texts = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let defined = texts.filter(|text| text.contains(": Check = Check {")).count();
    assert_eq!(defined, CHECKS.len() + 1, "this file contains the text, too");
}
