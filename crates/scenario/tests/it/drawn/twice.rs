use std::path::Path;

use coracle_journal::{Header, Recorder};
use coracle_scenario::{Mode, Options, execute};
use coracle_tests::processes::in_processes;

use super::count;
use super::draw::Drawn;

/// Seeds of their own, so that both tests together draw more.
const FIRST: u64 = 1_000_000;

fn seeds() -> impl Iterator<Item = u64> {
    FIRST..FIRST + count("CORACLE_DRAWN_TWICE", 60)
}

/// Runs a drawn scenario, and writes its log.
fn run(seed: u64, folder: &Path) {
    let drawn = Drawn::with_fault(seed);
    let log = folder.join(seed.to_string());
    let options = Options { mode: Some(Mode::Virtual), disturbance: drawn.disturbance, ..Options::default() };
    let made = |header: &Header| Recorder::file(&log, 1_000, header).unwrap();
    let mut recorder = None;
    execute(&drawn.scenario, Path::new("drawn.yaml"), &options, |header| recorder.insert(made(header)).clone())
        .unwrap();
    recorder.expect("a run makes its recorder").close().unwrap();
    assert!(std::fs::metadata(&log).unwrap().len() > 10_000, "the log of {seed} is empty");
}

#[test]
fn a_drawn_scenario_has_one_log_in_two_processes() {
    let test = "drawn::twice::a_drawn_scenario_has_one_log_in_two_processes";
    let run_all = |_: usize, folder: &Path| seeds().for_each(|seed| run(seed, folder));
    let Some(runs) = in_processes(test, 2, run_all) else { return };
    let different = runs.differing().into_iter().map(|seed| Drawn::with_fault(seed.parse().unwrap()).text);
    print!("{}", different.collect::<String>());
    runs.assert_same();
}
