//! The state folder: how commands find it, and what they say of it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Folder, Running, coracle, eventually, succeed, text};

/// A command in a working directory, without anything in the environment that names a folder.
fn at(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = coracle();
    command.args(arguments).current_dir(folder).env_remove("CORACLE_STATE_DIR");
    command
}

/// A cluster, and where all that it prints goes.
fn up(folder: &Path, flags: &[&str], file: &Path) -> (Running, String) {
    let mut command = at(folder, &["up", "--metrics-server=false"]);
    let running = Running::start_into(command.args(flags), file);
    let greeting = eventually("the cluster greets", || {
        std::fs::read_to_string(file).ok().filter(|text| text.contains("get pods -w"))
    });
    (running, greeting)
}

#[test]
fn the_folder_of_a_parent_is_found_and_git_ignores_it() {
    let project = Folder::new("state-parent");
    let below = project.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let none = at(&below, &["env"]).output().unwrap();
    assert!(text(&none).contains("no cluster runs in .coracle; start one with `coracle up`\n"), "{}", text(&none));
    let (_up, greeting) = up(project.path(), &["--nodes=0"], &project.join("said"));
    assert!(greeting.contains("  coracle kubectl get nodes ") && !greeting.contains("--state-dir"), "{greeting}");
    let kubeconfig = project.path().canonicalize().unwrap().join(".coracle/kubeconfig");
    let said = succeed(&mut at(&below, &["env"]));
    assert!(said.starts_with(&format!("export KUBECONFIG='{}'\n", kubeconfig.display())), "{said}");
    let again = at(&below, &["up"]).output().unwrap();
    assert!(
        text(&again).contains("is in use by process") && text(&again).contains("`coracle down`"),
        "{}",
        text(&again)
    );
    if Command::new("git").arg("init").arg("-q").current_dir(project.path()).status().is_ok_and(|git| git.success()) {
        let status = Command::new("git").args(["status", "--porcelain"]).current_dir(project.path()).output().unwrap();
        assert_eq!(text(&status), "?? said\n");
    }
    assert_eq!(std::fs::read_to_string(project.join(".coracle/.gitignore")).unwrap(), "*\n");
    assert!(succeed(&mut at(&below, &["down"])).starts_with("stopped; "));
}

#[test]
fn hints_name_the_folder_that_was_named() {
    let home = Folder::new("state-named");
    let (folder, file) = ("my state", home.join("said"));
    let (_up, greeting) = up(home.path(), &["--nodes=0", "--state-dir", folder], &file);
    for hint in ["coracle kubectl --state-dir 'my state' get nodes", "eval \"$(coracle env --state-dir 'my state')\""] {
        assert!(greeting.contains(hint), "{greeting}");
    }
    assert_eq!(
        greeting.matches("coracle kubectl --state-dir 'my state' ").count(),
        greeting.matches("coracle kubectl").count()
    );
    let again = at(home.path(), &["up", "--state-dir", folder]).output().unwrap();
    assert!(text(&again).contains("stop it with `coracle down --state-dir 'my state'`"), "{}", text(&again));
    succeed(&mut at(home.path(), &["down", "--state-dir", folder]));
    let none = at(home.path(), &["env"]).env("CORACLE_STATE_DIR", folder).output().unwrap();
    assert!(text(&none).contains("start one with `coracle up --state-dir 'my state'`"), "{}", text(&none));
    succeed(&mut at(home.path(), &["snapshot", "save", "--state-dir", folder, "file"]));
    let restored = succeed(&mut at(home.path(), &["snapshot", "restore", "--state-dir", "new", "file"]));
    assert!(restored.contains("is restored; start it with `coracle up --state-dir new`"), "{restored}");
}

#[test]
fn a_start_says_how_many_nodes_there_are() {
    let home = Folder::new("state-nodes");
    let file = home.join("said");
    let (_first, greeting) = up(home.path(), &["--nodes=4"], &file);
    assert!(greeting.contains(", 4 simulated nodes\n"), "{greeting}");
    let has_all = || {
        let nodes = at(home.path(), &["node", "start", "node-1", "node-2", "node-3", "node-4"]).output();
        nodes.ok().filter(|output| output.status.success())
    };
    eventually("all four are there", has_all);
    succeed(at(home.path(), &["down"]).stdin(Stdio::null()));
    let (_second, greeting) = up(home.path(), &["--nodes=1"], &file);
    assert!(greeting.contains(", 4 simulated nodes\n"), "{greeting}");
    assert!(greeting.contains("--nodes 1, and node-2, node-3, node-4, which the state has from before"), "{greeting}");
}
