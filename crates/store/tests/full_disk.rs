//! The file system refuses to let the log grow, and later lets it again.
//!
//! Made with the limit on the size of files, which `prlimit` changes from outside; skipped where there is none.
#![cfg(all(feature = "sled", target_os = "linux"))]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_store::disk::{Disk, Syncing};
use coracle_store::{Engine, Error, KeyRange, Operation, Options, RangeRequest, Store, Txn};

const FOLDER: &str = "CORACLE_FULL_DISK_FOLDER";

#[expect(clippy::disallowed_methods, reason = "the caller of the engine starts the thread that owns the disk")]
fn open(path: &Path) -> (Engine, std::thread::JoinHandle<()>) {
    let options = Options::new(Ambient::seeded(1), Recorder::off());
    let disk = Disk::open(path, Syncing::Always).unwrap_or_else(|error| panic!("{error}"));
    let (engine, commit_loop) = Engine::open(Box::new(disk), options).unwrap_or_else(|error| panic!("{error}"));
    (engine, std::thread::spawn(move || commit_loop.run()))
}

async fn count(engine: &Engine) -> i64 {
    let range = KeyRange::prefix("key/");
    engine.range(RangeRequest { range, count_only: true, ..RangeRequest::default() }).await.unwrap().count
}

/// What the other process does; the test below starts it.
#[tokio::test]
async fn writes_and_says_what_was_refused() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let (engine, _owner) = open(Path::new(&folder));
    println!();
    for number in 0.. {
        let txn = Txn { success: vec![Operation::put(format!("key/{number:06}"), vec![7; 50_000])], ..Txn::default() };
        match engine.txn(txn).await {
            Ok(response) => println!("done {number} at {}", response.revision),
            Err(error) => {
                let refused = engine.status().await.unwrap().no_space;
                println!(
                    "refused {} alarm {refused} readable {} {error}",
                    matches!(error, Error::NoSpace(_)),
                    count(&engine).await
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

struct Writer {
    child: Child,
    lines: BufReader<ChildStdout>,
    done: Vec<String>,
}

impl Writer {
    fn start(folder: &Path) -> Self {
        let program = std::env::current_exe().unwrap();
        // The signal of the limit is ignored, so that a write beyond it fails as on a full disk.
        let script = "trap '' XFSZ; exec \"$0\" --exact writes_and_says_what_was_refused --nocapture --test-threads=1";
        let mut child = Command::new("sh")
            .args(["-c", script, program.to_str().unwrap()])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines, done: Vec::new() }
    }

    /// The next line that begins so.
    fn wait_for(&mut self, beginning: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the writer ended while {beginning:?} was awaited");
            if let Some(number) = line.strip_prefix("done ") {
                self.done.push(number.split(' ').next().unwrap().to_owned());
            }
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    /// Sets the size that files may have; `None` if this machine cannot.
    fn limit(&self, size: &str) -> Option<()> {
        let arguments = ["--pid".to_owned(), self.child.id().to_string(), format!("--fsize={size}:unlimited")];
        Command::new("prlimit").args(arguments).status().ok()?.success().then_some(())
    }
}

#[tokio::test]
async fn a_full_disk_refuses_writes_keeps_reads_and_is_forgotten_when_there_is_space_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(folder.path());
    for _ in 0..20 {
        writer.wait_for("done");
    }
    let size = std::fs::metadata(folder.path().join("log/00000000000000000001")).unwrap().len();
    if writer.limit(&size.to_string()).is_none() {
        eprintln!("skipped: there is no prlimit on this machine");
        let _ = writer.child.kill();
        return;
    }
    for _ in 0..3 {
        let refusal = writer.wait_for("refused");
        assert!(refusal.starts_with("refused true alarm true readable "), "{refusal}");
        let readable: usize = refusal.split(' ').nth(5).unwrap().parse().unwrap();
        assert_eq!(readable, writer.done.len(), "everything acknowledged can be read, and nothing else");
    }
    writer.limit("unlimited").unwrap();
    for _ in 0..5 {
        writer.wait_for("done");
    }
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    let mut rest = String::new();
    writer.lines.read_to_string(&mut rest).unwrap();
    let done =
        rest.split_inclusive('\n').filter(|line| line.ends_with('\n')).filter_map(|line| line.strip_prefix("done "));
    writer.done.extend(done.filter_map(|number| number.split(' ').next()).map(str::to_owned));
    let (engine, owner) = open(folder.path());
    for number in &writer.done {
        let range = KeyRange::key(format!("key/{:0>6}", number));
        assert_eq!(engine.range(RangeRequest { range, ..RangeRequest::default() }).await.unwrap().count, 1, "{number}");
    }
    assert!(count(&engine).await <= writer.done.len() as i64 + 1, "at most the write that was cut off");
    engine.close();
    owner.join().unwrap();
}
