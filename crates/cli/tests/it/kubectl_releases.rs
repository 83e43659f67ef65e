//! The same session with every release of kubectl that the machine has, as `kubectl.1.33` beside its own or in `PATH`.

use std::path::PathBuf;
use std::process::{Command, Output};

use crate::program::{Folder, Running, coracle, eventually, succeed, text, there_is};

const RELEASES: [&str; 8] = ["1.27", "1.28", "1.29", "1.30", "1.31", "1.32", "1.33", "1.37"];

/// One release of kubectl, in a namespace of its own.
pub(crate) struct Release<'a> {
    program: PathBuf,
    folder: &'a Folder,
    pub(crate) namespace: String,
    /// The place among the tested releases, from 1.
    pub(crate) place: usize,
}

impl Release<'_> {
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--namespace", &self.namespace]).args(line.split(' '));
        command.env("KUBECONFIG", self.folder.join("kubeconfig")).env("HOME", self.folder.path());
        command
    }

    pub(crate) fn say(&self, line: &str) -> String {
        succeed(&mut self.command(line))
    }

    pub(crate) fn fails(&self, line: &str) -> Output {
        let output = self.command(line).output().unwrap();
        assert!(!output.status.success(), "{line}: {}", text(&output));
        output
    }

    #[track_caller]
    pub(crate) fn says(&self, line: &str, part: &str) {
        let said = self.say(line);
        assert!(said.contains(part), "{} {line}: no {part:?} in\n{said}", self.program.display());
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.join(&format!("{}-{name}", self.namespace));
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn every_release_of_kubectl_goes_through_a_session() {
    with_each_release("kubectl-releases", &[], go_through_a_session);
}

/// Starts a cluster, and lets each release that there is do something in it, side by side.
pub(crate) fn with_each_release(name: &str, flags: &[&str], session: impl Fn(&Release<'_>) + Sync) {
    if !there_is("kubectl") {
        return;
    }
    let path = std::env::var_os("PATH").unwrap();
    let own = std::env::split_paths(&path).map(|folder| folder.join("kubectl")).find(|file| file.is_file()).unwrap();
    let beside = own.canonicalize().unwrap().parent().unwrap().to_owned();
    let folders: Vec<PathBuf> = std::iter::once(beside).chain(std::env::split_paths(&path)).collect();
    let folder = Folder::new(name);
    let mut up = coracle();
    let _cluster = Running::start(up.args(["up", "--ephemeral"]).args(flags).env("CORACLE_STATE_DIR", folder.path()));
    eventually("the cluster answers", || {
        let mut command = coracle();
        command.args(["kubectl", "get", "--raw", "/readyz"]).env("CORACLE_STATE_DIR", folder.path());
        command.output().ok().filter(|output| output.status.success())
    });
    // Side by side: a session is mostly waiting for pods.
    std::thread::scope(|sessions| {
        for (index, release) in RELEASES.into_iter().enumerate() {
            let programs = folders.iter().map(|folder| folder.join(format!("kubectl.{release}")));
            let Some(program) = programs.into_iter().find(|program| program.is_file()) else {
                println!("SKIPPED: there is no kubectl.{release}");
                continue;
            };
            let namespace = format!("of-{}", release.replace('.', "-"));
            let kubectl = Release { program, folder: &folder, namespace, place: index + 1 };
            let session = &session;
            sessions.spawn(move || session(&kubectl));
        }
    });
}

fn go_through_a_session(kubectl: &Release<'_>) {
    kubectl.says(&format!("create namespace {}", kubectl.namespace), "created");
    what_is_there_is_described(kubectl);
    objects_are_applied_from_both_sides(kubectl);
    a_deployment_goes_through_its_life(kubectl);
    kubectl.says(&format!("delete namespace {} --wait=false", kubectl.namespace), "deleted");
}

fn what_is_there_is_described(kubectl: &Release<'_>) {
    kubectl.says("version", "v1.37.");
    kubectl.says("api-resources --api-group=apps", "deployments");
    kubectl.says("api-versions", "autoscaling/v2");
    kubectl.says("explain pod.spec.containers.image", "image");
    kubectl.says("auth can-i create pods", "yes");
    let denied = kubectl.fails("auth can-i list secrets --as nobody");
    assert!(text(&denied).contains("no"), "{}", text(&denied));
    kubectl.says("cluster-info", "is running at");
    kubectl.says("get nodes -o wide", "Ready");
}

fn objects_are_applied_from_both_sides(kubectl: &Release<'_>) {
    let map = |value: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{k: {value}}}\n");
    let one = kubectl.file("one.yaml", &map("one"));
    let two = kubectl.file("two.yaml", &map("two"));
    kubectl.says(&format!("create -f {one} --dry-run=server"), "created (server dry run)");
    kubectl.says(&format!("apply -f {one}"), "created");
    kubectl.says(&format!("apply -f {one}"), "unchanged");
    let difference = text(&kubectl.fails(&format!("diff -f {two}")));
    assert!(difference.contains("-  k: one") && difference.contains("+  k: two"), "{difference}");
    kubectl.says(&format!("apply -f {two}"), "configured");
    kubectl.says(&format!("apply --server-side --force-conflicts -f {one}"), "serverside-applied");
    kubectl.says("get configmap a -o jsonpath={.data.k}", "one");
    let other = kubectl.file("other.yaml", &map("other"));
    let conflict = text(&kubectl.fails(&format!("apply --server-side --field-manager=other -f {other}")));
    assert!(conflict.contains("Apply failed with 1 conflict") && conflict.contains(".data.k"), "{conflict}");
    kubectl.says(r#"patch configmap a --type=merge -p {"data":{"m":"y"}}"#, "patched");
    kubectl.says(r#"patch configmap a --type=json -p [{"op":"add","path":"/data/j","value":"y"}]"#, "patched");
    kubectl.says(&format!("replace -f {two}"), "replaced");
    kubectl.says("label configmap a tier=front", "labeled");
    kubectl.says("annotate configmap a note=seen", "annotate");
    kubectl.says("get configmap -l tier=front --no-headers", "a ");
    kubectl.says(&format!("delete -f {one}"), "deleted");
    let missing = text(&kubectl.fails("get configmap a"));
    assert!(missing.contains(r#"Error from server (NotFound): configmaps "a" not found"#), "{missing}");
}

fn a_deployment_goes_through_its_life(kubectl: &Release<'_>) {
    let events = kubectl.folder.join(&format!("{}-events", kubectl.namespace));
    let mut watch = kubectl.command("get pods --watch --output-watch-events");
    let _watching = Running::start_into(&mut watch, &events);
    kubectl.says("create deployment web --image=nginx --replicas=2", "created");
    kubectl.says("rollout status deployment/web --timeout=60s", "successfully rolled out");
    kubectl.says("scale deployment web --replicas=1", "scaled");
    kubectl.says("wait --for=jsonpath={.status.readyReplicas}=1 deployment/web --timeout=60s", "condition met");
    kubectl.says("set image deployment/web nginx=nginx:1.29", "updated");
    kubectl.says("rollout status deployment/web --timeout=60s", "successfully rolled out");
    kubectl.says("rollout history deployment/web", "2");
    kubectl.says("rollout undo deployment/web", "rolled back");
    kubectl.says("rollout restart deployment/web", "restarted");
    kubectl.says("rollout status deployment/web --timeout=60s", "successfully rolled out");
    kubectl.says("describe deployment web", "ScalingReplicaSet");
    kubectl.says("events", "Scheduled");
    let pod = one_that_stays(&kubectl.say("get pods -l app=web --field-selector=status.phase=Running -o json"));
    kubectl.says(&format!("describe {pod}"), "Node:");
    assert!(!kubectl.say(&format!("logs {pod}")).is_empty());
    let forwards = kubectl.fails(&format!("port-forward {pod} 0:80"));
    assert!(text(&forwards).contains("pods/portforward is not supported: simulated pods listen on no ports"));
    a_command_is_run_in(kubectl, &pod);
    kubectl.says("expose deployment web --port=80", "exposed");
    kubectl.says("autoscale deployment web --min=1 --max=3", "autoscaled");
    kubectl.says("get all", "horizontalpodautoscaler.autoscaling/web");
    kubectl.says("delete deployment,service,horizontalpodautoscaler web --cascade=foreground", "deleted");
    kubectl.say("wait --for=delete pod -l app=web --timeout=60s");
    eventually("the watch has seen pods come and go", || {
        let seen = std::fs::read_to_string(&events).unwrap();
        (seen.contains("ADDED") && seen.contains("DELETED")).then_some(())
    });
}

fn a_command_is_run_in(kubectl: &Release<'_>, pod: &str) {
    let name = pod.trim_start_matches("pod/");
    assert_eq!(kubectl.say(&format!("exec {pod} -- hostname")), format!("{name}\n"));
    assert_eq!(kubectl.fails(&format!("exec {pod} -- false")).status.code(), Some(1));
    // It goes on for a while: a machine that runs all releases at once may take seconds to attach one.
    let talk = "sleep\t3;echo\tdone;sleep\t6;echo\tdone;sleep\t6;echo\tdone;exit\t4";
    kubectl.says(&format!("run talker --image=busybox --restart=Never -- sh -c {talk}"), "created");
    kubectl.says("wait --for=jsonpath={.status.phase}=Running pod/talker --timeout=60s", "condition met");
    kubectl.says("attach talker", "done");
    kubectl.says("logs talker", "done");
    kubectl.says("wait --for=jsonpath={.status.phase}=Failed pod/talker --timeout=60s", "condition met");
    kubectl.says("delete pod talker", "deleted");
}

/// A pod of a list that is not being deleted, as one of the restart before may still be.
fn one_that_stays(pods: &str) -> String {
    let pods: serde_json::Value = serde_json::from_str(pods).unwrap();
    let stays = |pod: &&serde_json::Value| pod["metadata"].get("deletionTimestamp").is_none();
    let pod = pods["items"].as_array().unwrap().iter().find(stays).unwrap();
    format!("pod/{}", pod["metadata"]["name"].as_str().unwrap())
}
