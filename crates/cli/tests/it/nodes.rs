//! `coracle node`, against a cluster that runs.

use std::path::Path;
use std::process::Command;

use crate::program::{Folder, Running, coracle, eventually, succeed, text};

fn node(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = coracle();
    command.arg("node").args(arguments).env("CORACLE_STATE_DIR", folder);
    command
}

/// What it says when it refuses, with its exit code.
fn refused(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = node(folder, arguments).output().unwrap();
    (output.status.code(), text(&output))
}

#[test]
fn nodes_are_added_stopped_started_killed_cut_off_and_drained() {
    let folder = Folder::new("node");
    let path = folder.path();
    let (code, told) = refused(path, &["stop", "node-1"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("no cluster runs in"), "{told}");
    let _cluster = Running::start(coracle().args(["up", "--ephemeral"]).env("CORACLE_STATE_DIR", path));
    eventually("the cluster has its nodes", || {
        node(path, &["start", "node-1", "node-2"]).output().ok().filter(|output| output.status.success())
    });

    assert_eq!(succeed(&mut node(path, &["stop", "node-1"])), "node/node-1 stopped\n");
    assert_eq!(succeed(&mut node(path, &["start", "node-1"])), "node/node-1 started\n");
    assert_eq!(succeed(&mut node(path, &["kill", "node-1", "node-2"])), "node/node-1 killed\nnode/node-2 killed\n");
    succeed(&mut node(path, &["start", "node-1", "node-2"]));
    assert_eq!(succeed(&mut node(path, &["partition", "node-2"])), "node/node-2 cut off\n");
    assert_eq!(succeed(&mut node(path, &["partition", "--end", "node-2"])), "node/node-2 reached again\n");
    assert_eq!(succeed(&mut node(path, &["drain", "node-2", "--timeout", "30s"])), "node/node-2 drained\n");

    let add = ["add", "big", "--label", "zone=a", "--taint", "gpu:NoSchedule", "--capacity", "cpu=64"];
    assert_eq!(succeed(&mut node(path, &add)), "node/big added\n");
    succeed(&mut node(path, &["stop", "big"]));

    let (code, told) = refused(path, &["add", "small", "big"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("node \"big\" exists already; nothing was added"), "{told}");
    let (code, told) = refused(path, &["kill", "node-1", "none"]);
    assert_eq!(code, Some(2));
    assert!(told.contains("node \"none\" not found"), "{told}");
    assert!(refused(path, &["stop", "small"]).1.contains("not found"), "nothing was half done");
    assert!(refused(path, &["add", "x", "--capacity", "cpu=many"]).1.contains("is no quantity"));
    assert_eq!(refused(path, &["add", "No_Name"]).0, Some(2));
    assert_eq!(refused(path, &["stop"]).0, Some(2));
}
