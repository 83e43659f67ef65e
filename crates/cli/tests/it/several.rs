//! Several API servers beside each other on one store: an etcd where the machine has one, ours otherwise.

use std::process::{Command, Stdio};

use crate::program::{Folder, Running, coracle, eventually, free_port, succeed, there_is};

struct Several {
    folder: Folder,
    store_port: u16,
    api_ports: [u16; 2],
}

impl Several {
    fn store(&self) -> Running {
        let url = format!("http://127.0.0.1:{}", self.store_port);
        if !there_is("etcd") {
            return Running::start(coracle().args(["store", "--listen-client-urls", &url]));
        }
        let peer = format!("http://127.0.0.1:{}", free_port());
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(self.folder.join("etcd")).args(["--unsafe-no-fsync", "--log-level", "error"]);
        command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        Running::start(command.args(["--initial-cluster", &format!("default={peer}")]))
    }

    /// All share one folder of certificates, as they share one store.
    fn apiserver(&self, index: usize) -> Running {
        let mut command = coracle();
        command.args(["apiserver", "--etcd-servers", &format!("http://127.0.0.1:{}", self.store_port)]);
        command.args(["--secure-port", &self.api_ports[index].to_string(), "--cert-dir"]).arg(self.folder.join("pki"));
        let running = Running::start(&mut command);
        eventually("an API server answers", || {
            self.kubectl(index, &["get", "--raw", "/readyz"]).output().ok().filter(|output| output.status.success())
        });
        running
    }

    /// The kubeconfig names one of the servers; the flag names the one that is meant.
    fn kubectl(&self, index: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments).args(["--server", &format!("https://127.0.0.1:{}", self.api_ports[index])]);
        command.arg("--kubeconfig").arg(self.folder.join("pki/admin.kubeconfig")).env("HOME", self.folder.path());
        command
    }

    fn apply(&self, index: usize, manifest: &str) {
        let file = self.folder.join("manifest.yaml");
        std::fs::write(&file, manifest).unwrap();
        let _ = succeed(self.kubectl(index, &["apply"]).arg("-f").arg(&file));
    }
}

const BOATS: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.sea.example.com}
spec:
  group: sea.example.com
  names: {plural: boats, singular: boat, kind: Boat}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {oars: {type: integer}}}}}}
"#;

const BOAT: &str = "
apiVersion: sea.example.com/v1
kind: Boat
metadata: {name: curragh}
spec: {oars: 4}
";

#[test]
fn writes_through_one_api_server_are_visible_at_the_other() {
    if !there_is("kubectl") {
        return;
    }
    let several =
        Several { folder: Folder::new("several"), store_port: free_port(), api_ports: [free_port(), free_port()] };
    let _store = several.store();
    let (first, _second) = (several.apiserver(0), several.apiserver(1));

    let seen = several.folder.join("seen");
    let mut watch = several.kubectl(1, &["get", "configmaps", "--watch-only", "--no-headers"]);
    let watch = watch.stdin(Stdio::null()).stdout(std::fs::File::create(&seen).unwrap()).stderr(Stdio::null()).spawn();
    let _watch = Running::of(watch.unwrap());
    let seen = || std::fs::read_to_string(&seen).unwrap();
    // Nobody says when the watch has begun, so something is made until it sees it.
    let number = std::cell::Cell::new(0);
    eventually("the watch at the second sees what is made at the first", || {
        number.set(number.get() + 1);
        succeed(&mut several.kubectl(0, &["create", "configmap", &format!("made-{}", number.get())]));
        seen().contains("made-").then_some(())
    });
    succeed(&mut several.kubectl(0, &["create", "configmap", "last"]));
    eventually("nor does it miss the next", || seen().contains("last").then_some(()));

    several.apply(0, BOATS);
    eventually("the second serves the kind that was defined at the first", || {
        several.kubectl(1, &["get", "boats"]).output().ok().filter(|output| output.status.success())
    });
    several.apply(1, BOAT);
    let oars = ["get", "boat", "curragh", "-o", "jsonpath={.spec.oars}"];
    assert_eq!(succeed(&mut several.kubectl(0, &oars)), "4");

    succeed(&mut several.kubectl(1, &["create", "serviceaccount", "robot"]));
    let token = succeed(&mut several.kubectl(0, &["create", "token", "robot"]));
    let whoami =
        ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", "--client-certificate=", "--client-key="];
    let mut asked = Command::new("kubectl");
    asked.args(whoami).args(["--server", &format!("https://127.0.0.1:{}", several.api_ports[1])]);
    asked.arg("--certificate-authority").arg(several.folder.join("pki/ca.crt")).args(["--token", token.trim()]);
    let asked = asked.args(["--kubeconfig", "/dev/null"]).env("HOME", several.folder.path());
    assert_eq!(succeed(asked), "system:serviceaccount:default:robot");

    // The first goes; the second knows all that it did.
    drop(first);
    assert_eq!(succeed(&mut several.kubectl(1, &oars)), "4");
    succeed(&mut several.kubectl(1, &["delete", "crd", "boats.sea.example.com"]));
}
