//! The program under test, and folders and processes that are gone when a test is over.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The binary.
pub(crate) fn coracle() -> Command {
    Command::new(env!("CARGO_BIN_EXE_coracle"))
}

/// The binary with these arguments, on the cluster of a state folder.
pub(crate) fn in_state(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = coracle();
    command.args(arguments).env("CORACLE_STATE_DIR", folder);
    command
}

/// The top of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// What a program printed, and that it ended well.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, text(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// All that a program printed.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether a program is on the PATH; says by name what is skipped if it is not.
pub(crate) fn there_is(program: &str) -> bool {
    let found = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("SKIPPED: {program} is not on the PATH");
    }
    found
}

/// A port that nobody listens at.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A folder of its own for a test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("coracle-test-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that is killed when the test is over.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn of(child: Child) -> Self {
        Self(child)
    }

    /// With all that it prints going into a file.
    pub(crate) fn start_into(command: &mut Command, file: &Path) -> Self {
        let output = std::fs::File::create(file).unwrap();
        let errors = output.try_clone().unwrap();
        Self(command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().unwrap())
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Asks again until the answer is there: other processes live on the machine's clock.
pub(crate) fn eventually<T>(what: &str, ask: impl Fn() -> Option<T>) -> T {
    #[expect(clippy::disallowed_methods, reason = "other processes are waited for")]
    let (start, pause) = (Instant::now(), || std::thread::sleep(Duration::from_millis(50)));
    while start.elapsed() < Duration::from_secs(90) {
        if let Some(answer) = ask() {
            return answer;
        }
        pause();
    }
    panic!("{what}: not within 90 s");
}
