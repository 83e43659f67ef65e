//! Runs scenarios that a test writes.

use std::path::Path;

use coracle_journal::Recorder;
use coracle_scenario::{BuiltIn, Options, Report, execute, parse};

/// The report of a scenario with this `spec`, in a cluster without nodes.
pub(crate) fn run(spec: &str, options: &Options, recorder: &Recorder) -> Report {
    run_with(spec, options, || recorder.clone())
}

/// The same with a recorder that is made in the time of the run, so that its entries can be compared with another's.
pub(crate) fn run_with(spec: &str, options: &Options, make_recorder: impl Fn() -> Recorder) -> Report {
    run_on(0, spec, options, make_recorder)
}

/// The same in a cluster with this number of nodes.
pub(crate) fn run_on(nodes: usize, spec: &str, options: &Options, make_recorder: impl Fn() -> Recorder) -> Report {
    run_in(&format!("nodes: {nodes}"), spec, options, make_recorder)
}

/// The same in the cluster with these settings.
pub(crate) fn run_in(cluster: &str, spec: &str, options: &Options, make_recorder: impl Fn() -> Recorder) -> Report {
    let (path, head) =
        (Path::new("written.yaml"), "apiVersion: coracle.dev/v1alpha1\nkind: Scenario\nmetadata: {name: written}\n");
    let text = format!("{head}spec:\n  cluster: {{{cluster}}}\n{spec}");
    let scenario = parse::parse(path, &text, &BuiltIn::default());
    execute(&scenario.unwrap(), path, options, |_| make_recorder()).unwrap()
}
