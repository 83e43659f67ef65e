//! The controllers as a process of their own, with keys in files: tokens are made and certificates signed there too.

use std::process::{Command, Output};

use rcgen::{CertificateParams, DnType, KeyPair};

use crate::program::{Folder, Running, coracle, eventually, free_port, succeed, text, there_is};

struct Split {
    folder: Folder,
    port: u16,
}

impl Split {
    fn apiserver(&self) -> Running {
        let mut command = coracle();
        command.args(["apiserver", "--store", "memory", "--secure-port", &self.port.to_string(), "--cert-dir"]);
        let running = Running::start(command.arg(self.folder.join("pki")));
        eventually("the API server answers", || self.ask(&["get", "--raw", "/readyz"]));
        running
    }

    fn controllers(&self, flags: &[(&str, &str)]) -> Command {
        let mut command = coracle();
        command.args(["controller-manager", "--kubeconfig"]);
        command.arg(self.folder.join("pki/controller-manager.kubeconfig"));
        for (flag, file) in flags {
            command.arg(flag).arg(self.folder.join(file));
        }
        command
    }

    fn refused(&self, flags: &[(&str, &str)]) -> (Option<i32>, String) {
        let output: Output = self.controllers(flags).output().unwrap();
        (output.status.code(), text(&output))
    }

    fn kubectl(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments).arg("--kubeconfig").arg(self.folder.join("pki/admin.kubeconfig"));
        command.env("HOME", self.folder.path());
        command
    }

    /// What kubectl prints; nothing while there is nothing, or the server cannot be reached.
    fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.kubectl(arguments).output().unwrap();
        let printed = output.status.success().then(|| String::from_utf8(output.stdout).unwrap());
        printed.filter(|printed| !printed.is_empty())
    }

    fn create(&self, manifest: &str) {
        let file = self.folder.join("manifest.yaml");
        std::fs::write(&file, manifest).unwrap();
        let _ = succeed(self.kubectl(&["create"]).arg("-f").arg(&file));
    }
}

const SECRET: &str = "
apiVersion: v1
kind: Secret
metadata: {name: token, annotations: {kubernetes.io/service-account.name: default}}
type: kubernetes.io/service-account-token
";

/// A request as a kubelet writes it.
fn request() -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(DnType::CommonName, "system:node:n1");
    params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
}

/// A request that whoever may do all makes: it is approved without anybody looking.
fn signing_request(folder: &Folder) -> String {
    let file = folder.join("request.pem");
    std::fs::write(&file, request()).unwrap();
    let encoded = succeed(Command::new("base64").arg("-w0").arg(file));
    format!(
        "
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: node}}
spec:
  request: {encoded}
  signerName: kubernetes.io/kube-apiserver-client-kubelet
  usages: [digital signature, client auth]
"
    )
}

#[test]
fn tokens_are_made_and_certificates_signed_by_controllers_in_a_process_of_their_own() {
    if !there_is("kubectl") {
        return;
    }
    let split = Split { folder: Folder::new("keys"), port: free_port() };
    let _apiserver = split.apiserver();
    let _controllers = Running::start(&mut split.controllers(&[
        ("--service-account-private-key-file", "pki/service-account.key"),
        ("--cluster-signing-kubelet-client-cert-file", "pki/ca.crt"),
        ("--cluster-signing-kubelet-client-key-file", "pki/ca.key"),
    ]));
    eventually("the account is there", || split.ask(&["get", "serviceaccount", "default", "-o", "name"]));
    split.create(SECRET);
    split.create(&signing_request(&split.folder));
    let entry = |path: &str| split.ask(&["get", "secret", "token", "-o", &format!("jsonpath={path}")]);
    let token = eventually("the Secret is filled", || {
        split.ask(&["get", "secret", "token", "-o", "go-template={{if .data}}{{.data.token | base64decode}}{{end}}"])
    });
    assert!(entry("{.data['ca\\.crt']}").is_some(), "whom the kubeconfig trusts is whom pods are told to trust");
    let who = split.ask(&["auth", "whoami", "--token", &token, "-o", "jsonpath={.status.userInfo.username}"]);
    assert!(who.is_some());
    eventually("the request is signed", || {
        split.ask(&["get", "certificatesigningrequest", "node", "-o", "jsonpath={.status.certificate}"])
    });
}

#[test]
fn invalid_key_files_end_the_start_with_their_error() {
    if !there_is("kubectl") {
        return;
    }
    let split = Split { folder: Folder::new("wrong-keys"), port: free_port() };
    drop(split.apiserver());
    let half = split.refused(&[("--cluster-signing-kubelet-serving-cert-file", "pki/ca.crt")]);
    assert_eq!(half.0, Some(2), "{}", half.1);
    assert!(half.1.contains("\"cluster-signing-kubelet-serving\": cannot specify cert without key"), "{}", half.1);
    let missing = split.refused(&[("--root-ca-file", "pki/none.crt")]);
    assert!(missing.0 == Some(2) && missing.1.contains("error parsing root-ca-file at "), "{}", missing.1);
    let no_key = split.refused(&[("--service-account-private-key-file", "pki/ca.crt")]);
    assert!(no_key.1.contains("data does not contain a valid RSA or ECDSA private key"), "{}", no_key.1);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = split.controllers(&[]).args(["--metrics", &address]).output().unwrap();
    assert!(
        output.status.code() == Some(70) && text(&output).contains("--metrics: cannot listen at"),
        "{}",
        text(&output)
    );
}
