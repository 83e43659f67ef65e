//! A cluster in five processes, each of which is killed and started again while a deployment is looked after.

use std::path::PathBuf;
use std::process::Command;

use crate::program::{Folder, Running, coracle, eventually, free_port, succeed, text, there_is};

struct Split {
    folder: Folder,
    store_port: u16,
    api_port: u16,
}

impl Split {
    fn start(&self, component: &str) -> Running {
        let pki = self.folder.join("pki");
        let mut command = coracle();
        match component {
            "store" => command
                .args(["store", "--listen-client-urls", &format!("http://127.0.0.1:{}", self.store_port), "--data-dir"])
                .arg(self.folder.join("data")),
            "apiserver" => command
                .args(["apiserver", "--etcd-servers", &format!("http://127.0.0.1:{}", self.store_port)])
                .args(["--metrics-server", "--secure-port", &self.api_port.to_string(), "--cert-dir"])
                .arg(&pki),
            other => command.arg(other).arg("--kubeconfig").arg(pki.join(format!("{other}.kubeconfig"))),
        };
        Running::start(&mut command)
    }

    fn kubectl(&self, arguments: &[&str]) -> Command {
        self.kubectl_as(&PathBuf::from("kubectl"), arguments)
    }

    fn kubectl_as(&self, program: &PathBuf, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.arg("--kubeconfig").arg(self.folder.join("pki/admin.kubeconfig")).args(arguments);
        command.env("HOME", self.folder.path());
        command
    }

    /// What kubectl prints; nothing while the server cannot be reached.
    fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.kubectl(arguments).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn ready(&self) -> Option<String> {
        let ready = self.ask(&["get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"])?;
        let pods =
            self.ask(&["get", "pods", "-l", "app=web", "--field-selector=status.phase=Running", "-o", "name"])?;
        (ready == "3" && pods.lines().count() == 3).then_some(pods)
    }
}

/// The machine's kubectl, and beside it one that speaks SPDY, if it is there.
fn kubectls() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::split_paths(&path).map(|folder| folder.join("kubectl")).find(|file| file.is_file());
    let older = own.iter().filter_map(|own| Some(own.canonicalize().ok()?.with_file_name("kubectl.1.28")));
    let older: Vec<PathBuf> = older.filter(|program| program.is_file()).collect();
    own.clone().into_iter().chain(older).collect()
}

#[test]
fn nodes_in_another_process_serve_logs_exec_and_usage() {
    if !there_is("kubectl") {
        return;
    }
    let split = Split { folder: Folder::new("split-nodes"), store_port: free_port(), api_port: free_port() };
    let mut running: Vec<Running> = Vec::new();
    for component in ["store", "apiserver", "controller-manager", "scheduler", "kubelet"] {
        running.push(split.start(component));
        if component == "apiserver" {
            eventually("the API server answers", || split.ask(&["get", "--raw", "/readyz"]));
        }
    }
    let run = [
        "run",
        "web",
        "--image=nginx",
        "--restart=Never",
        "--command",
        "--",
        "sh",
        "-c",
        "echo one; sleep 4; echo two",
    ];
    eventually("a pod is made", || split.ask(&run));
    // Of a pod without a node there is a log, an empty one.
    let node = ["get", "pod", "web", "-o", "jsonpath={.spec.nodeName}"];
    eventually("it has a node", || split.ask(&node).filter(|name| !name.is_empty()));
    assert_eq!(eventually("its log is followed to its end", || split.ask(&["logs", "-f", "web"])), "one\ntwo\n");
    let stay =
        ["run", "stay", "--image=nginx", "--command", "--", "sh", "-c", "while true; do echo tick; sleep 1; done"];
    eventually("another is made", || split.ask(&stay));
    eventually("it runs", || split.ask(&["exec", "stay", "--", "true"]));
    for program in kubectls() {
        let exec = |words: &[&str]| split.kubectl_as(&program, &[&["exec", "stay", "--"], words].concat());
        assert_eq!(succeed(&mut exec(&["echo", "ahoy"])), "ahoy\n");
        assert_eq!(exec(&["sh", "-c", "exit 3"]).output().unwrap().status.code(), Some(3));
    }
    let node = succeed(&mut split.kubectl(&["get", "pod", "stay", "-o", "jsonpath={.spec.nodeName}"]));
    let summary = format!("/api/v1/nodes/{node}/proxy/stats/summary");
    assert!(succeed(&mut split.kubectl(&["get", "--raw", &summary])).contains("\"name\":\"stay\""));
    eventually("usage is known", || split.ask(&["top", "pod", "stay"]).filter(|told| told.contains("1m")));
    running[4].kill();
    let refused = split.kubectl(&["logs", "stay"]).output().unwrap();
    assert!(text(&refused).contains("connect: connection refused"), "{}", text(&refused));
    running[4] = split.start("kubelet");
    eventually("a new process is found at its new port", || split.ask(&["get", "--raw", &summary]));
}

#[test]
fn pods_are_replaced_after_any_component_was_killed() {
    if !there_is("kubectl") {
        return;
    }
    let split = Split { folder: Folder::new("split"), store_port: free_port(), api_port: free_port() };
    let components = ["store", "apiserver", "controller-manager", "scheduler", "kubelet"];
    let mut running: Vec<Running> = Vec::new();
    for component in components {
        running.push(split.start(component));
        if component == "apiserver" {
            eventually("the API server answers", || split.ask(&["get", "--raw", "/readyz"]));
        }
    }
    eventually("a deployment is made", || split.ask(&["create", "deployment", "web", "--image=nginx", "--replicas=3"]));
    let mut before = eventually("three pods run", || split.ready());
    for (index, component) in components.iter().enumerate() {
        running[index].kill();
        running[index] = split.start(component);
        let victim = before.lines().next().unwrap().to_owned();
        eventually(&format!("a pod is deleted after {component} was killed"), || {
            split.ask(&["delete", &victim, "--wait=false"])
        });
        before = eventually(&format!("three others run after {component} was killed"), || {
            split.ready().filter(|pods| !pods.contains(&victim))
        });
    }
    succeed(&mut split.kubectl(&["get", "nodes"]));
}
