//! One test in several processes, to compare what they find.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The folder to which a process writes what it finds. In the process that starts the others it is absent.
const FOLDER: &str = "CORACLE_RUN_FOLDER";

/// How many processes `make soak` wants, or the default.
pub fn process_count(default: usize) -> usize {
    std::env::var("CORACLE_PROCESSES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Runs `run` in this many processes, each of which runs only the calling test, named `test`. A process passes its
/// number and an empty folder to `run`, which writes files to it.
///
/// Returns `None` in these processes; the test then ends. As many run at a time as there are cores.
///
/// # Panics
/// If a process fails, or has written nothing.
pub fn in_processes(test: &str, count: usize, run: impl FnOnce(usize, &Path)) -> Option<Runs> {
    if let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) {
        let number =
            folder.file_name().and_then(|name| name.to_str()?.parse().ok()).expect("the number of the process");
        run(number, &folder);
        return None;
    }
    let root = std::env::temp_dir().join(format!("coracle-runs-{}-{}", std::process::id(), test.replace("::", "-")));
    let mut runs = Runs { root, first: BTreeMap::new(), shared: BTreeSet::new(), differences: BTreeMap::new() };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut running = VecDeque::new();
    for number in 0..count {
        if running.len() == cores {
            runs.compare(running.pop_front().expect("a process runs"));
        }
        running.push_back(Run::start(test, runs.root.join(number.to_string())));
    }
    running.into_iter().for_each(|run| runs.compare(run));
    Some(runs)
}

/// A process and its folder.
struct Run {
    child: Child,
    folder: PathBuf,
}

impl Run {
    fn start(test: &str, folder: PathBuf) -> Self {
        std::fs::create_dir_all(&folder).expect("a folder for a process can be created");
        let program = std::env::current_exe().expect("a program knows its path");
        let child = Command::new(program)
            .args([test, "--exact", "--nocapture"])
            .env(FOLDER, &folder)
            .stdout(Stdio::null())
            .spawn();
        Self { child: child.expect("a process can be started"), folder }
    }

    /// Waits for its end. Returns the names of the files that it wrote.
    fn files(&mut self) -> Vec<String> {
        let status = self.child.wait().expect("the process has started");
        assert!(status.success(), "the process of {} failed", self.folder.display());
        let entries = std::fs::read_dir(&self.folder).expect("the folder of a process can be read");
        let names = entries.map(|entry| entry.expect("an entry can be read").file_name());
        let names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        assert!(!names.is_empty(), "no test ran for {}", self.folder.display());
        names
    }
}

/// What the processes found: files of the same name are compared.
pub struct Runs {
    root: PathBuf,
    /// The first file of each name.
    first: BTreeMap<String, PathBuf>,
    /// The names that more than one process wrote.
    shared: BTreeSet<String>,
    /// The first difference of each name.
    differences: BTreeMap<String, String>,
}

impl Runs {
    /// Checks that each file has one content in all processes that wrote it, and that at least two did.
    ///
    /// # Panics
    /// If this does not hold. The first files and those that differ are then kept.
    pub fn assert_same(&self) {
        let alone: Vec<_> = self.first.keys().filter(|name| !self.shared.contains(*name)).collect();
        assert!(alone.is_empty(), "only one process has written {alone:?}");
        let differences: Vec<_> = self.differences.values().map(String::as_str).collect();
        assert!(differences.is_empty(), "in {}:\n{}", self.root.display(), differences.join("\n"));
    }

    /// The names of the files that differ.
    pub fn differing(&self) -> Vec<&str> {
        self.differences.keys().map(String::as_str).collect()
    }

    /// Compares what one more process wrote, and removes what is the same.
    fn compare(&mut self, mut run: Run) {
        for name in run.files() {
            let path = run.folder.join(&name);
            let Some(first) = self.first.get(&name) else {
                self.first.insert(name, path);
                continue;
            };
            match difference(first, &path) {
                Some(difference) => drop(self.differences.entry(name.clone()).or_insert(difference)),
                None => std::fs::remove_file(path).expect("a file that was read can be removed"),
            }
            self.shared.insert(name);
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// The first line in which two files differ; `None` if they are the same.
fn difference(one: &Path, other: &Path) -> Option<String> {
    let read = |path| std::fs::read(path).expect("a file that a process wrote can be read");
    let (left, right) = (read(one), read(other));
    if left == right {
        return None;
    }
    let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (left, right) = (lines(&left), lines(&right));
    let line = left.iter().zip(&right).take_while(|(one, other)| one == other).count();
    let shown = |lines: &[Vec<u8>]| -> String {
        let line = lines.get(line).map_or_else(|| "the end".into(), |line| String::from_utf8_lossy(line));
        line.chars().take(600).collect()
    };
    let (one, other) = (one.display(), other.display());
    Some(format!("{one} and {other} differ in line {}:\n  {}\n  {}", line + 1, shown(&left), shown(&right)))
}
