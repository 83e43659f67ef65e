//! Clusters that are equal: forks of one cluster with stepped time.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_client::Client;
use coracle_client::kubeconfig::Kubeconfig;
use coracle_console::{Console, Input, Output};
use parking_lot::Mutex;

use crate::cases::Step;

/// The cluster from which all others are forked.
pub(crate) struct Server {
    coracle: PathBuf,
    folder: tempfile::TempDir,
    process: Child,
}

impl Server {
    pub(crate) fn start(coracle: &Path, kubectl: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("coracle-console-").tempdir().unwrap();
        std::os::unix::fs::symlink(kubectl, folder.path().join("kubectl")).unwrap();
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(coracle)
            .args(["up", "--ephemeral", "--time", "stepped", "--seed", "7", "--wait"])
            .env("CORACLE_STATE_DIR", folder.path().join("state"))
            .stdout(log)
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let server = Self { coracle: coracle.to_owned(), folder, process };
        for _ in 0..600 {
            let log = std::fs::read_to_string(server.folder.path().join("log")).unwrap();
            if log.contains("no work left") {
                return server;
            }
            pause();
        }
        panic!("the cluster does not start");
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(&self.coracle)
            .args(arguments)
            .env("CORACLE_STATE_DIR", self.folder.path().join("state"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A fork of the cluster.
struct Fork {
    name: String,
    kubeconfig: PathBuf,
}

/// Two equal clusters: one for kubectl, one for the console.
pub(crate) struct Pair<'s> {
    server: &'s Server,
    forks: [Fork; 2],
    folder: tempfile::TempDir,
    console: Console,
    input: Mutex<Input>,
}

impl<'s> Pair<'s> {
    pub(crate) fn fork(server: &'s Server) -> Self {
        let fork = |_| {
            let printed = server.run(&["fork"]);
            let name = printed.split_whitespace().next().unwrap().to_owned();
            let kubeconfig = server.folder.path().join("state").join(format!("{name}.kubeconfig"));
            Fork { name, kubeconfig }
        };
        let forks = [0, 1].map(fork);
        let https = Kubeconfig::read(&forks[1].kubeconfig).unwrap().connect().unwrap();
        let ambient = Ambient::system();
        let console = Console::new(&Client::new(https, &ambient), &ambient.clock);
        let folder = tempfile::tempdir_in(server.folder.path()).unwrap();
        Self { server, forks, folder, console, input: Mutex::new(Input::default()) }
    }

    pub(crate) fn stop(self) {
        for fork in &self.forks {
            self.server.run(&["fork", "stop", &fork.name]);
        }
    }

    pub(crate) async fn prepare(&self, step: &Step) {
        match step {
            Step::Coracle(command) => {
                for fork in &self.forks {
                    self.coracle(fork, command).await;
                }
            }
            Step::File { name, text } => {
                std::fs::write(self.folder.path().join(name), text).unwrap();
                let mut input = self.input.lock();
                *input = std::mem::take(&mut *input).with_file(name, text);
            }
            Step::Command { .. } => {}
        }
    }

    async fn coracle(&self, fork: &Fork, command: &str) {
        let mut words: Vec<&str> = command.split_whitespace().collect();
        if words[0] == "advance" {
            words.insert(0, "clock");
        }
        let output = tokio::process::Command::new(&self.server.coracle)
            .args(&words)
            .arg("--kubeconfig")
            .arg(&fork.kubeconfig)
            .output()
            .await
            .unwrap();
        let printed = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&printed));
    }

    /// Runs `during` in a cluster after the command has started.
    async fn during(&self, fork: &Fork, during: Option<&str>) {
        if let Some(command) = during {
            tokio::time::sleep(Duration::from_millis(700)).await;
            self.coracle(fork, command).await;
        }
    }

    pub(crate) async fn kubectl(&self, line: &str, during: Option<&str>) -> Output {
        let fork = &self.forks[0];
        let command = tokio::process::Command::new("sh")
            .args(["-c", &format!("kubectl {line}")])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:/usr/bin:/bin", self.server.folder.path().display()))
            .env("KUBECONFIG", &fork.kubeconfig)
            .env("HOME", self.server.folder.path().join(&fork.name))
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .output();
        let (output, ()) = tokio::join!(command, self.during(fork, during));
        let output = output.unwrap();
        Output {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    pub(crate) async fn console(&self, line: &str, during: Option<&str>) -> Output {
        let input = self.input.lock().clone();
        let (output, ()) = tokio::join!(self.console.run(line, &input), self.during(&self.forks[1], during));
        output
    }
}
