//! Options that cannot be followed together end with the code for a wrong command line, and nothing is served.

use crate::program::{Folder, coracle, text};

/// The kubeconfig file of a program that says who may do what.
const REVIEWER: &str = "
current-context: c
clusters: [{name: s, cluster: {server: 'https://127.0.0.1:9', insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: s, user: u}}]
";

#[test]
fn a_wrong_authorization_mode_is_a_wrong_command_line() {
    let folder = Folder::new("exit-codes");
    let reviewer = folder.join("reviewer.yaml");
    std::fs::write(&reviewer, REVIEWER).unwrap();
    let reviewer = format!("--authorization-webhook-config-file={}", reviewer.display());
    let refused: [(&[&str], &str); 4] = [
        (&["--authorization-mode=Rbac"], "authorization mode \"Rbac\" is not one of"),
        (&["--authorization-mode=RBAC,RBAC"], "has mode specified more than once"),
        (&["--authorization-mode=Webhook"], "authorization config file not passed"),
        (&["--authorization-mode=RBAC", &reviewer], "without mode Webhook"),
    ];
    for (flags, why) in refused {
        let mut commands = [coracle(), coracle()];
        commands[0].args(["apiserver", "--store=memory", "--secure-port=0"]).arg("--cert-dir").arg(folder.join("pki"));
        commands[1].args(["up", "--ephemeral"]).arg("--state-dir").arg(folder.join("state"));
        for command in &mut commands {
            let output = command.args(flags).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output));
            assert!(text(&output).contains(why), "{}", text(&output));
        }
    }
}

#[test]
fn a_stage_that_cannot_be_read_ends_the_start_with_its_file_line_and_path() {
    let folder = Folder::new("stages");
    let file = folder.join("stages.yaml");
    let head = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: a}\nspec:\n";
    let refused = [
        ("  resourceRef: {kind: Pod}\n  nexxt: {}\n", ":6: spec.nexxt: unknown field"),
        (
            "  resourceRef: {kind: Pod}\n  next:\n    statusTemplate: '{{ if }}'\n",
            ":7: spec.next.statusTemplate: template: line 1: missing value for command",
        ),
    ];
    for (spec, why) in refused {
        std::fs::write(&file, format!("{head}{spec}")).unwrap();
        let mut command = coracle();
        command.args(["up", "--ephemeral", "--stages"]).arg(format!("fast,{}", file.display()));
        let output = command.arg("--state-dir").arg(folder.join("state")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(&format!("--stages: {}{why}", file.display())), "{}", text(&output));
    }
    assert!(!folder.join("state").exists(), "nothing has been started");
}
