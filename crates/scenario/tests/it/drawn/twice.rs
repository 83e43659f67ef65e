use std::path::{Path, PathBuf};
use std::process::Command;

use coracle_journal::{Header, Recorder};
use coracle_scenario::{Mode, Options, execute};

use super::count;
use super::draw::Drawn;

/// Where the second process writes its logs; absent in the first.
const FOLDER: &str = "CORACLE_DRAWN_FOLDER";
/// Seeds of their own, so that both tests together draw more.
const FIRST: u64 = 1_000_000;

fn seeds() -> impl Iterator<Item = u64> {
    FIRST..FIRST + count("CORACLE_DRAWN_TWICE", 60)
}

fn log(folder: &Path, seed: u64) -> PathBuf {
    folder.join(format!("{seed}.jsonl"))
}

/// Runs every drawn scenario, and writes their logs.
fn run_all(folder: &Path) {
    for seed in seeds() {
        let drawn = Drawn::with_fault(seed);
        let options = Options { mode: Some(Mode::Virtual), disturbance: drawn.disturbance, ..Options::default() };
        let made = |header: &Header| Recorder::file(&log(folder, seed), 1_000, header).unwrap();
        let mut recorder = None;
        execute(&drawn.scenario, Path::new("drawn.yaml"), &options, |header| recorder.insert(made(header)).clone())
            .unwrap();
        recorder.expect("a run makes its recorder").close().unwrap();
    }
}

#[test]
fn a_drawn_scenario_has_one_log_in_two_processes() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return run_all(Path::new(&folder));
    }
    let root = std::env::temp_dir().join(format!("coracle-drawn-{}", std::process::id()));
    let folders = [root.join("one"), root.join("two")];
    folders.iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    let name = "drawn::twice::a_drawn_scenario_has_one_log_in_two_processes";
    let mut second = Command::new(std::env::current_exe().unwrap());
    let mut second = second.args([name, "--exact"]).env(FOLDER, &folders[1]).spawn().unwrap();
    run_all(&folders[0]);
    assert!(second.wait().unwrap().success());
    let differs = |seed: &u64| {
        let [one, two] = folders.each_ref().map(|folder| std::fs::read(log(folder, *seed)).unwrap());
        assert!(one.len() > 10_000, "the log of {seed} is empty");
        one != two
    };
    let different: Vec<_> = seeds().filter(differs).collect();
    let scenarios = different.iter().map(|seed| Drawn::with_fault(*seed).text).collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{different:?} have two logs, in {}:\n{scenarios}", root.display());
    std::fs::remove_dir_all(root).unwrap();
}
