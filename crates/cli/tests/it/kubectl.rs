//! A session with the machine's own kubectl, unmodified.

use std::process::Command;

use crate::program::{Folder, Running, coracle, eventually, succeed, text, there_is};

struct Session {
    folder: Folder,
    cluster: Running,
}

impl Session {
    fn start(name: &str, flags: &[&str]) -> Self {
        let folder = Folder::new(name);
        let cluster = Running::start(coracle().arg("up").args(flags).env("CORACLE_STATE_DIR", folder.path()));
        let session = Self { folder, cluster };
        eventually("the cluster answers", || {
            session.kubectl(&["get", "--raw", "/readyz"]).output().ok().filter(|output| output.status.success())
        });
        session
    }

    fn kubectl(&self, arguments: &[&str]) -> Command {
        let mut command = coracle();
        command.arg("kubectl").args(arguments).env("CORACLE_STATE_DIR", self.folder.path());
        command.env("HOME", self.folder.path());
        command
    }

    fn say(&self, arguments: &[&str]) -> String {
        succeed(&mut self.kubectl(arguments))
    }
}

#[test]
fn kubectl_shows_how_long_a_pull_took_why_another_fails_and_how_the_program_of_an_image_crashes() {
    if !there_is("kubectl") {
        return;
    }
    let folder = Folder::new("images");
    let images = folder.join("images.yaml");
    std::fs::write(
        &images,
        "team/bad: {crashes: 0s}\nteam/private: {exists: false}\nteam/slow: {pull: 1s, size: 10Mi}\n",
    )
    .unwrap();
    let session = Session::start("kubectl-images", &["--ephemeral", "--images", images.to_str().unwrap()]);
    for (name, image) in [
        ("absent", "nginx:doesnotexist"),
        ("private", "team/private:1"),
        ("bad", "team/bad:1"),
        ("slow", "team/slow:1"),
    ] {
        session.say(&["run", name, "--image", image]);
    }
    let reason = |name: &str, expected: &str| {
        let path = "jsonpath={.status.containerStatuses[0].state.waiting.reason}";
        eventually(expected, || Some(session.say(&["get", "pod", name, "-o", path])).filter(|found| found == expected))
    };
    reason("absent", "ErrImagePull");
    reason("private", "ErrImagePull");
    reason("bad", "CrashLoopBackOff");
    let described = session.say(&["describe", "pod", "absent"]);
    let full = "docker.io/library/nginx:doesnotexist";
    let failed = format!("failed to resolve reference \"{full}\": {full}: not found");
    assert!(described.contains("Pulling image \"nginx:doesnotexist\"") && described.contains(&failed), "{described}");
    assert!(described.contains("rpc error: code = NotFound desc = failed to pull and unpack image"), "{described}");
    session.say(&["wait", "--for=condition=Ready", "pod/slow", "--timeout=60s"]);
    let pulled = "Successfully pulled image \"team/slow:1\" in 1s (1s including waiting). Image size: 10485760 bytes.";
    eventually("the node reports the pull", || {
        session.say(&["describe", "pod", "slow"]).contains(pulled).then_some(())
    });
}

#[test]
fn a_deleted_pod_comes_back_for_kubectl() {
    if !there_is("kubectl") {
        return;
    }
    let session = Session::start("kubectl", &["--ephemeral"]);
    session.say(&["wait", "--for=condition=Ready", "node", "--all", "--timeout=60s"]);
    assert!(session.say(&["create", "deployment", "web", "--image=nginx", "--replicas=3"]).contains("created"));
    session.say(&["rollout", "status", "deployment/web", "--timeout=60s"]);
    let names = |session: &Session| session.say(&["get", "pods", "-l", "app=web", "-o", "name"]);
    let before = names(&session);
    assert_eq!(before.lines().count(), 3, "{before}");
    let victim = before.lines().next().unwrap();
    session.say(&["delete", victim, "--wait=true"]);
    session.say(&["rollout", "status", "deployment/web", "--timeout=60s"]);
    let after = names(&session);
    assert!(!after.contains(victim) && after.lines().count() == 3, "{after}");

    assert!(session.say(&["get", "pods", "-o", "wide"]).contains("NOMINATED NODE"));
    assert!(session.say(&["get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"]).contains('3'));
    session.say(&["scale", "deployment", "web", "--replicas=1"]);
    session.say(&["label", "deployment", "web", "tier=front"]);
    session.say(&["annotate", "deployment", "web", "note=seen"]);
    session.say(&["patch", "deployment", "web", "-p", r#"{"spec":{"minReadySeconds":1}}"#]);
    session.say(&["set", "image", "deployment/web", "nginx=nginx:1.29"]);
    session.say(&["rollout", "status", "deployment/web", "--timeout=60s"]);
    let described = session.say(&["describe", "deployment", "web"]);
    assert!(described.contains("ScalingReplicaSet"), "{described}");
    assert!(session.say(&["api-resources"]).contains("deployments"));
    assert!(session.say(&["explain", "pod.spec.containers"]).contains("FIELD"));
    assert!(session.say(&["events"]).contains("Scheduled"));
    let pod = eventually("the pods of before are gone", || {
        let names = names(&session);
        (names.lines().count() == 1).then(|| names.trim().to_owned())
    });
    assert!(!session.say(&["logs", &pod]).is_empty());
    session.say(&["delete", "deployment", "web", "--cascade=foreground"]);
    eventually("the pods go with their deployment", || names(&session).is_empty().then_some(()));
}

#[test]
fn apply_from_both_sides_and_errors_read_as_in_kubernetes() {
    if !there_is("kubectl") {
        return;
    }
    let session = Session::start("kubectl-apply", &["--ephemeral", "--nodes", "0"]);
    let file = session.folder.join("map.yaml");
    let write = |value: &str| {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n");
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    assert!(session.say(&["apply", "-f", &write("one")]).contains("created"));
    assert!(session.say(&["apply", "-f", &write("one")]).contains("unchanged"));
    assert!(session.say(&["apply", "-f", &write("two")]).contains("configured"));
    assert!(
        session
            .say(&["apply", "--server-side", "--force-conflicts", "-f", &write("three")])
            .contains("serverside-applied")
    );
    assert_eq!(session.say(&["get", "cm", "a", "-o", "jsonpath={.data.k}"]), "three");
    let missing = session.kubectl(&["get", "pod", "nobody"]).output().unwrap();
    assert!(text(&missing).contains(r#"Error from server (NotFound): pods "nobody" not found"#), "{}", text(&missing));
}

#[test]
fn objects_are_found_again_after_a_restart_and_a_folder_in_use_is_refused() {
    if !there_is("kubectl") {
        return;
    }
    let mut session = Session::start("kubectl-restart", &["--nodes", "0"]);
    session.say(&["create", "configmap", "kept", "--from-literal=a=b"]);
    let second =
        coracle().args(["up", "--nodes", "0"]).env("CORACLE_STATE_DIR", session.folder.path()).output().unwrap();
    assert!(!second.status.success() && text(&second).contains("is in use by process"), "{}", text(&second));
    succeed(coracle().arg("down").env("CORACLE_STATE_DIR", session.folder.path()));
    assert!(session.cluster.wait().success());
    session.cluster =
        Running::start(coracle().args(["up", "--nodes", "0"]).env("CORACLE_STATE_DIR", session.folder.path()));
    let found = eventually("the object is there again", || {
        let output = session.kubectl(&["get", "cm", "kept", "-o", "jsonpath={.data.a}"]).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    });
    assert_eq!(found, "b");
}
