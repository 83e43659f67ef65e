//! A cluster in five processes, each of which is killed and started again while a deployment is looked after.

use std::process::Command;

use crate::program::{Folder, Running, coracle, eventually, free_port, succeed, there_is};

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
                .args(["--secure-port", &self.api_port.to_string(), "--cert-dir"])
                .arg(&pki),
            other => command.arg(other).arg("--kubeconfig").arg(pki.join(format!("{other}.kubeconfig"))),
        };
        Running::start(&mut command)
    }

    fn kubectl(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments).arg("--kubeconfig").arg(self.folder.join("pki/admin.kubeconfig"));
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

#[test]
fn every_part_may_be_killed_and_the_pods_come_back_all_the_same() {
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
