//! What the event log of a run takes in memory.

use std::path::Path;
use std::sync::OnceLock;

use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Options, execute, parse};

#[test]
fn an_entry_takes_less_than_200_bytes_of_memory_objects_included() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/delete-a-pod.yaml");
    let scenario = parse::read(&file, &BuiltIn::default()).unwrap();
    let kept = OnceLock::new();
    let make = |_: &_| kept.get_or_init(|| Recorder::ring(1_000_000)).clone();
    let report = execute(&scenario, &file, &Options::default(), make).unwrap();
    let each = kept.get().unwrap().held_bytes() / report.events().entries.len();
    assert!(each < 200, "{each} bytes an entry");
}
