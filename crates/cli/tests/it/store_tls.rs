//! TLS and client certificates: etcd's own client on our store, and our API server on a real etcd.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use coracle_pki::{Authority, Credential, kubeconfig};

use crate::program::{Folder, Running, coracle, eventually, free_port, succeed, text, there_is};

/// An authority, a server's certificate, and a client's, as files; and a kubeconfig of the client for kubectl.
struct Papers {
    folder: Folder,
    port: u16,
}

impl Papers {
    fn new(name: &str) -> Self {
        let (folder, port) = (Folder::new(name), free_port());
        let authority = Authority::new().unwrap();
        let server = authority.server(&["localhost".to_owned()], &[IpAddr::from([127, 0, 0, 1])]).unwrap();
        let client = authority.client("root", &[]).unwrap();
        let config = kubeconfig(
            "store",
            &format!("https://127.0.0.1:{port}"),
            authority.certificate(),
            Credential::Certificate(&client),
        );
        for (file, content) in [
            ("ca.crt", authority.certificate()),
            ("server.crt", &server.certificate),
            ("server.key", &server.key),
            ("client.crt", &client.certificate),
            ("client.key", &client.key),
            ("kubeconfig", &config),
        ] {
            std::fs::write(folder.join(file), content).unwrap();
        }
        Self { folder, port }
    }

    fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn flag(&self, name: &str, file: &str) -> String {
        format!("{name}={}", self.folder.join(file).display())
    }

    fn server_flags(&self) -> [String; 4] {
        [
            self.flag("--cert-file", "server.crt"),
            self.flag("--key-file", "server.key"),
            self.flag("--trusted-ca-file", "ca.crt"),
            "--client-cert-auth".to_owned(),
        ]
    }

    fn store(&self) -> Running {
        Running::start(coracle().args(["store", "--listen-client-urls", &self.url()]).args(self.server_flags()))
    }

    fn etcd(&self) -> Running {
        let peer = format!("http://127.0.0.1:{}", free_port());
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(self.folder.join("etcd")).args(["--unsafe-no-fsync", "--log-level", "error"]);
        command.args(["--listen-client-urls", &self.url(), "--advertise-client-urls", &self.url()]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]).args(self.server_flags());
        Running::start(&mut command)
    }

    /// etcdctl, or our own commands that take its flags.
    fn client(&self, mut command: Command) -> Command {
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.url(), &self.flag("--cacert", "ca.crt")]);
        command.args([self.flag("--cert", "client.crt"), self.flag("--key", "client.key")]);
        command
    }

    /// What is at a path of plain HTTPS, asked by kubectl with the client's certificate.
    fn get(&self, path: &str) -> String {
        let mut command = Command::new("kubectl");
        command.args(["get", "--raw", path, "--kubeconfig"]).arg(self.folder.join("kubeconfig"));
        succeed(command.env("HOME", self.folder.path()))
    }

    fn apiserver(&self, flags: &[String]) -> Command {
        let mut command = coracle();
        command.args(["apiserver", "--secure-port=0", "--etcd-servers", &self.url(), "--cert-dir"]);
        command.arg(self.folder.join("pki")).args(flags);
        command
    }

    fn top(&self) -> Command {
        let mut command = coracle();
        command.args(["store", "top", "--lines", "1"]);
        self.client(command)
    }
}

#[test]
fn the_store_accepts_only_clients_of_its_certificate_authority() {
    let papers = Papers::new("store-tls");
    let _store = papers.store();
    let line = eventually("the store answers", || papers.top().output().ok().filter(|output| output.status.success()));
    assert!(text(&line).contains("none"), "{}", text(&line));
    let stranger = coracle()
        .args(["store", "top", "--lines", "1", "--endpoints", &papers.url(), &papers.flag("--cacert", "ca.crt")])
        .output()
        .unwrap();
    assert!(
        !stranger.status.success() && text(&stranger).contains("shown no client certificate"),
        "{}",
        text(&stranger)
    );
    if there_is("etcdctl") {
        let mut put = papers.client(Command::new("etcdctl"));
        assert_eq!(succeed(put.args(["put", "a", "1"])), "OK\n");
        let mut stranger = Command::new("etcdctl");
        stranger.args(["--endpoints", &papers.url(), "--command-timeout=2s", "get", "a"]).env("ETCDCTL_API", "3");
        let stranger = stranger.arg(papers.flag("--cacert", "ca.crt")).output().unwrap();
        assert!(!stranger.status.success(), "{}", text(&stranger));
    }
    if there_is("kubectl") {
        assert!(papers.get("/health").contains(r#""health":"true""#));
        assert!(papers.get("/version").contains("etcdserver"));
        assert!(papers.get("/metrics").contains("etcd_mvcc_db_total_size_in_bytes"));
    }
}

#[test]
fn an_api_server_keeps_its_objects_in_an_etcd_that_asks_for_certificates() {
    if !there_is("etcd") || !there_is("etcdctl") || !there_is("kubectl") {
        return;
    }
    let papers = Papers::new("etcd-tls");
    let _etcd = papers.etcd();
    eventually("the etcd answers", || papers.top().output().ok().filter(|output| output.status.success()));

    let stranger = papers.apiserver(&[papers.flag("--etcd-cafile", "ca.crt")]).output().unwrap();
    assert!(
        !stranger.status.success() && text(&stranger).contains("shown no client certificate"),
        "{}",
        text(&stranger)
    );
    let trusting = papers.apiserver(&[]).output().unwrap();
    assert!(text(&trusting).contains("no authority is named"), "{}", text(&trusting));

    let flags = [
        papers.flag("--etcd-cafile", "ca.crt"),
        papers.flag("--etcd-certfile", "client.crt"),
        papers.flag("--etcd-keyfile", "client.key"),
    ];
    let _server = Running::start(&mut papers.apiserver(&flags));
    let admin: PathBuf = papers.folder.join("pki/admin.kubeconfig");
    let create = || {
        let mut command = Command::new("kubectl");
        command.args(["create", "configmap", "kept", "--from-literal=a=1", "--kubeconfig"]).arg(&admin);
        command.env("HOME", papers.folder.path()).output().ok().filter(|output| output.status.success())
    };
    eventually("a ConfigMap is made", create);
    let mut get = papers.client(Command::new("etcdctl"));
    assert_eq!(
        succeed(get.args(["get", "/registry/configmaps/default/kept", "--keys-only"])).trim(),
        "/registry/configmaps/default/kept"
    );
}

#[test]
fn flags_of_tls_that_contradict_each_other_are_refused() {
    for (flags, why) in [
        (&["--listen-client-urls=https://127.0.0.1:0"][..], "--cert-file"),
        (&["--client-cert-auth"], "--trusted-ca-file"),
        (&["--cert-file=a"], "--key-file"),
        (&["--listen-client-urls=https://127.0.0.1:0", "--cert-file=/missing", "--key-file=/missing"], "/missing"),
    ] {
        let output = coracle().arg("store").args(flags).output().unwrap();
        assert!(output.status.code() == Some(2) && text(&output).contains(why), "{flags:?}: {}", text(&output));
    }
}
