//! `docs/faults.md`, made from the list of faults. `CORACLE_WRITE_DOCUMENTS=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write;

use coracle_journal::Stage;

use super::fault_kind::FaultTarget;
use super::list::FAULTS;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md");

const INTRODUCTION: &str = "\
<!-- written by crates/sim/src/faults/document.rs -->

# Faults

This page lists the faults that a scenario can cause: between a component and the API server, and of components, nodes
and the store. Each one is permitted by the contract of Kubernetes, so a correct controller survives it.
[scenarios.md](scenarios.md#faults) shows the format, [adding-a-fault.md](adding-a-fault.md) how to add one. A running
cluster has the same faults, for programs in any language: [clients.md](clients.md#faults).

What no fault on this page can show: a clock that runs too fast or too slowly, a container that fails, and what happens
between two programs that do not use the API.
";

const SECTIONS: [(FaultTarget, &str); 5] = [
    (FaultTarget::Requests, "Faults of requests: `when` selects the requests."),
    (FaultTarget::Requester, "Faults of all that one component or user sends and receives."),
    (FaultTarget::Watches, "Faults of watches, for some time: `kind` and `to` select the watches."),
    (FaultTarget::OpenWatches, "Faults of open watches, at one moment: `kind` and `to` select the watches."),
    (FaultTarget::Cluster, "Faults of a part of the cluster: a component, a node or the store."),
];

fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (target, title) in SECTIONS {
        let _ = write!(text, "\n{title}\n\n| fault | argument | effect | permitted, because |\n|---|---|---|---|\n");
        for kind in FAULTS.iter().filter(|kind| kind.target == target) {
            let _ = writeln!(text, "| `{}` | {} | {} | {} |", kind.word, kind.argument, kind.about, kind.contract);
        }
    }
    text
}

#[test]
fn the_document_lists_the_faults() {
    let wanted = document();
    if std::env::var_os("CORACLE_WRITE_DOCUMENTS").is_some() {
        std::fs::write(PATH, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(found == wanted, "docs/faults.md differs from the list: run this test with CORACLE_WRITE_DOCUMENTS=1");
}

#[test]
fn the_document_of_the_event_log_has_the_word_of_each_fault() {
    let field = Stage::FaultOn.fields().iter().find(|field| field.name() == "fault").unwrap();
    for kind in FAULTS {
        assert!(field.meaning.contains(&format!("`{}`", kind.word)), "docs/events.md lacks {kind:?}");
    }
}

#[test]
fn each_fault_has_a_word_of_its_own_and_all_of_its_texts() {
    let words: BTreeSet<&str> = FAULTS.iter().map(|kind| kind.word).collect();
    assert_eq!(words.len(), FAULTS.len());
    for kind in FAULTS {
        assert!(kind.about.ends_with('.') && kind.contract.ends_with('.'), "{kind:?}");
        assert!(!kind.argument.is_empty(), "{kind:?}");
        assert!(kind.check(&serde_json::json!([])).is_err(), "{kind:?} takes any argument");
    }
}

#[test]
fn a_file_of_this_folder_that_defines_a_fault_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/faults");
    let texts = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let defined = texts.filter(|text| text.contains(": FaultKind = FaultKind {")).count();
    assert_eq!(defined, FAULTS.len() + 1, "this file contains the text, too");
}

#[test]
fn the_guide_shows_a_fault_as_it_is() {
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/adding-a-fault.md")).unwrap();
    assert!(
        guide.contains(&format!("```rust\n{}```", include_str!("lag.rs"))),
        "docs/adding-a-fault.md shows another one"
    );
}
