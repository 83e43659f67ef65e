//! A class: three exercises are started, a check fails, kubectl repairs, and the check passes.

use std::path::Path;

use crate::program::{Folder, Running, coracle, eventually, in_state, repository, succeed, text, there_is};

/// What `coracle exercise check` ends with, and prints.
fn check(folder: &Path, name: &str) -> (Option<i32>, String) {
    let output = in_state(folder, &["exercise", "check", name]).output().unwrap();
    (output.status.code(), text(&output))
}

/// Starts an exercise, whose first check fails with these words, repairs it, and checks it until it passes.
fn repaired(name: &str, found: &[&str], repairs: &[&[&str]]) {
    if !there_is("kubectl") {
        return;
    }
    let folder = Folder::new(&format!("exercise-{name}"));
    let said = folder.join("said");
    let _running = Running::start_into(&mut in_state(folder.path(), &["exercise", "start", name]), &said);
    let report = eventually("the exercise starts", || {
        let said = std::fs::read_to_string(&said).unwrap();
        said.contains("exercise check").then_some(said)
    });
    assert!(report.contains(" min)"), "{report}");
    let (code, printed) = check(folder.path(), name);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("✗ ") && printed.contains("Not repaired yet") && printed.contains("Hint: "), "{printed}");
    for word in found {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    let (code, printed) = check(folder.path(), "another");
    assert!(code == Some(2) && printed.contains(&format!("the exercise that runs is `{name}`")), "{printed}");
    for repair in repairs {
        succeed(in_state(folder.path(), &["kubectl"]).args(*repair));
    }
    eventually("the check passes", || {
        let (code, printed) = check(folder.path(), name);
        (code == Some(0)).then(|| assert!(printed.contains("Repaired: all "), "{printed}"))
    });
}

#[test]
fn a_selector_with_a_typing_error_is_repaired() {
    let patch = r#"{"spec":{"selector":{"app":"shop"}}}"#;
    repaired(
        "selector-typo",
        &["found     shop: spec.selector.app = \"shpo\"", "✓ the Deployment keeps its labels"],
        &[&["patch", "service", "shop", "--type=merge", "-p", patch]],
    );
}

#[test]
fn a_crash_loop_is_repaired() {
    repaired(
        "crash-loop",
        &["✗ two pods of the new version are ready", "status.readyReplicas"],
        &[&["set", "env", "deployment/api", "DATABASE_URL=postgres://db"]],
    );
}

#[test]
fn a_missing_configmap_is_created() {
    repaired(
        "missing-configmap",
        &["✗ the worker is ready", "✗ the ConfigMap has the key"],
        &[&["create", "configmap", "worker-settings", "--from-literal=level=info"]],
    );
}

#[test]
fn exercises_are_listed_and_an_unknown_one_gets_the_closest_name() {
    let listed = succeed(coracle().args(["exercise", "list"]));
    let lines = listed.lines().take_while(|line| !line.is_empty()).count();
    assert_eq!(lines, std::fs::read_dir(repository().join("exercises")).unwrap().count());
    let refused = coracle().args(["exercise", "start", "crash-lop"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused).contains("did you mean `crash-loop`?"), "{}", text(&refused));
    let folder = Folder::new("exercise-none");
    let (code, printed) = check(folder.path(), "crash-loop");
    assert!(code == Some(2) && printed.contains("no cluster runs"), "{printed}");
    assert!(succeed(coracle().arg("validate").arg(repository().join("exercises"))).contains("0 problems"));
}
