//! `coracle snapshot`, of a cluster that runs.

use std::path::Path;

use coracle_ambient::Ambient;
use coracle_cluster::StoreSpec;
use coracle_journal::Recorder;
use coracle_store::{Operation, Txn};

use crate::program::{Folder, Running, eventually, in_state, succeed, text, there_is};

/// What kubectl prints, once it prints something that is as wanted.
fn asked(folder: &Path, arguments: &[&str], is_it: impl Fn(&str) -> bool) -> String {
    eventually(&format!("{arguments:?}"), || {
        let output = in_state(folder, &[&["kubectl"], arguments].concat())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(text(&output)).filter(|text| is_it(text))
    })
}

const STATE: &str = "jsonpath={.status.podIP} {.status.containerStatuses[0].containerID}";

#[test]
fn pods_continue_after_a_snapshot_of_a_running_cluster_is_restored() {
    if !there_is("kubectl") {
        return;
    }
    let home = Folder::new("snapshot");
    let (first, second, file) = (home.join("first"), home.join("second"), home.join("file"));
    let cluster = Running::start(&mut in_state(&first, &["up", "--nodes", "1", "--metrics-server=false"]));
    asked(&first, &["get", "serviceaccount", "default"], |_| true);
    let script = "echo began on $(date); sleep 5000";
    succeed(&mut in_state(&first, &["kubectl", "run", "web", "--image=busybox", "--", "sh", "-c", script]));
    asked(&first, &["get", "pod", "web"], |text| text.contains("1/1"));
    let log = asked(&first, &["logs", "web"], |text| text.contains("began on"));
    let state = asked(&first, &["get", "pod", "web", "-o", STATE], |_| true);

    let as_nobody =
        || in_state(&first, &["kubectl", "get", "--raw", "/coracle/snapshot", "--as", "nobody"]).output().unwrap();
    let unasked = text(&as_nobody());
    assert!(unasked.contains("User \"nobody\" cannot get path \"/coracle/snapshot\""), "{unasked}");
    let role = ["kubectl", "create", "clusterrole", "paths", "--verb=*", "--non-resource-url=*"];
    succeed(&mut in_state(&first, &role));
    let binding = ["kubectl", "create", "clusterrolebinding", "paths", "--clusterrole=paths", "--user=nobody"];
    succeed(&mut in_state(&first, &binding));
    let with_all_paths = text(&as_nobody());
    assert!(with_all_paths.contains("only members of system:masters may"), "{with_all_paths}");
    let saved = succeed(in_state(&first, &["snapshot", "save"]).arg(&file));
    assert!(saved.contains("is saved in"), "{saved}");
    let again = in_state(&first, &["snapshot", "save"]).arg(&file).output().unwrap();
    assert!(text(&again).contains("is there already"), "{}", text(&again));
    succeed(&mut in_state(&first, &["kubectl", "delete", "pod", "web", "--wait=false"]));
    drop(cluster);

    succeed(in_state(&second, &["snapshot", "restore"]).arg(&file));
    for _ in 0..2 {
        let _cluster = Running::start(&mut in_state(&second, &["up", "--nodes", "1", "--metrics-server=false"]));
        let goes_on = |text: &str| text == log;
        asked(&second, &["logs", "web"], goes_on);
        assert_eq!(asked(&second, &["get", "pod", "web", "-o", STATE], |_| true), state);
        let restarts = ["get", "pod", "web", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"];
        assert_eq!(asked(&second, &restarts, |_| true), "0");
        succeed(&mut in_state(&second, &["down"]));
        assert!(second.join("nodes.json").exists());
    }
}

/// Puts a value into the store of a cluster that does not run.
fn put(folder: &Path, key: &str, value: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = StoreSpec::Sled(folder.join("data"));
        let open = store.open(&Ambient::system(), &Recorder::off()).await.unwrap();
        let success = vec![Operation::put(key.to_owned(), value.to_owned().into_bytes())];
        open.store.txn(Txn { compare: Vec::new(), success, failure: Vec::new(), cause: None }).await.unwrap();
        open.close().await;
    });
}

#[test]
fn stored_values_that_cannot_be_read_are_listed_and_the_cluster_starts_with_them() {
    let home = Folder::new("snapshot-check");
    let (folder, file) = (home.join("state"), home.join("file"));
    let start_and_kill = || {
        let _ = std::fs::remove_file(folder.join("kubeconfig"));
        let _cluster = Running::start(&mut in_state(&folder, &["up", "--nodes", "1", "--metrics-server=false"]));
        eventually("a kubeconfig", || folder.join("kubeconfig").exists().then_some(()));
    };
    start_and_kill();
    let well = succeed(&mut in_state(&folder, &["snapshot", "check"]));
    assert_eq!(well.trim(), "every value can be read");
    let key = "/registry/deployments/default/odd";
    put(&folder, key, r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"odd"},"spec":5}"#);
    start_and_kill();

    succeed(in_state(&folder, &["snapshot", "save"]).arg(&file));
    for arguments in [vec!["snapshot", "check"], vec!["snapshot", "check", file.to_str().unwrap()]] {
        let output = in_state(&folder, &arguments).output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with(&format!("deployments.apps  {key}  ")), "{said}");
        assert!(said.contains("cannot unmarshal number") && said.contains("1 value cannot be read"), "{said}");
    }
}
