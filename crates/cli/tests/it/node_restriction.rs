//! `NodeRestriction`, which `coracle up` has and `coracle apiserver` takes as a flag.

use std::process::Command;

use crate::program::{Folder, Running, coracle, eventually, free_port, in_state, succeed, text, there_is};

/// What `kubectl` says to a node that labels itself as one of the control plane.
fn labelled(kubectl: impl Fn() -> Command) -> String {
    let label = ["label", "--overwrite", "node", "node-1", "node-role.kubernetes.io/control-plane="];
    let node = ["--as", "system:node:node-1", "--as-group", "system:nodes"];
    text(&kubectl().args(label).args(node).output().unwrap())
}

const REFUSED: &str = "is not allowed to modify labels: node-role.kubernetes.io/control-plane";

#[test]
fn a_node_does_not_label_itself_in_up_nor_where_the_plug_in_is_asked_for() {
    if !there_is("kubectl") {
        return;
    }
    let home = Folder::new("node-restriction");
    let kubectl = || in_state(home.path(), &["kubectl"]);
    let up = |more: &[&str]| {
        let mut command = in_state(home.path(), &["up", "--nodes", "1", "--metrics-server=false"]);
        let running = Running::start(command.args(more));
        eventually("a node", || {
            kubectl().args(["get", "node", "node-1"]).output().ok().filter(|done| done.status.success())
        });
        running
    };
    let running = up(&[]);
    let said = labelled(kubectl);
    assert!(said.contains(REFUSED), "{said}");
    drop(running);
    let _without = up(&["--disable-admission-plugins=NodeRestriction"]);
    let said = labelled(kubectl);
    assert!(said.contains("node/node-1 labeled"), "{said}");

    let (pki, port) = (home.join("apiserver"), free_port().to_string());
    let mut server = coracle();
    server.args(["apiserver", "--store=memory", "--secure-port", &port, "--enable-admission-plugins=NodeRestriction"]);
    let _server = Running::start(server.arg("--cert-dir").arg(&pki));
    let kubectl = || {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(pki.join("admin.kubeconfig"));
        command
    };
    let node = home.join("node.json");
    std::fs::write(&node, r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}"#).unwrap();
    eventually("a server", || kubectl().args(["get", "nodes"]).output().ok().filter(|done| done.status.success()));
    succeed(kubectl().arg("create").arg("-f").arg(&node));
    let said = labelled(kubectl);
    assert!(said.contains(REFUSED), "{said}");
}
