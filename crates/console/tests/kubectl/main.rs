//! Each command of `cases/` is run by kubectl and by the console, on two clusters that are equal: their standard output,
//! their standard error and their exit code are the same.
//!
//! The clusters are forks of one cluster with stepped time, so that uids, addresses and ages are equal, too. The program
//! `coracle` is that of the variable `CORACLE`, or the one of the build; kubectl 1.33 is that of the variable `KUBECTL`,
//! or `kubectl.1.33` or `kubectl` on the `PATH`. `tests/console/run` builds what is missing.

mod cases;
mod clusters;
mod programs;

use cases::{Case, Step};
use clusters::Pair;
use programs::{coracle, kubectl};

/// The commands that can be run again, because they change nothing. Ages follow the clock of the machine, which can
/// reach the next second between two runs.
const READS: &[&str] = &["get", "describe", "rollout history", "events", "logs", "explain", "api-resources"];

#[tokio::test(flavor = "current_thread")]
async fn every_command_prints_what_kubectl_prints() {
    let (Some(coracle), Some(kubectl)) = (coracle(), kubectl()) else { return };
    let wanted = std::env::var("CASES").unwrap_or_default();
    let (mut count, mut different) = (0, Vec::new());
    let server = clusters::Server::start(&coracle, &kubectl);
    for case in Case::all().iter().filter(|case| case.name.contains(&wanted)) {
        let pair = Pair::fork(&server);
        for step in &case.steps {
            if let Step::Command { line, during } = step {
                count += 1;
                if let Some(difference) = compare(&pair, line, during.as_deref()).await {
                    println!("--- {}: {line}\n{difference}", case.name);
                    different.push(format!("{}: {line}", case.name));
                }
            } else {
                pair.prepare(step).await;
            }
        }
        pair.stop();
    }
    println!("{} of {count} commands print the same", count - different.len());
    assert!(different.is_empty(), "{} of {count} commands differ:\n{}", different.len(), different.join("\n"));
    assert!(count >= 60 || !wanted.is_empty(), "only {count} commands");
}

/// What differs.
async fn compare(pair: &Pair<'_>, line: &str, during: Option<&str>) -> Option<String> {
    let attempts = if READS.iter().any(|verb| line.starts_with(verb)) { 5 } else { 1 };
    let mut difference = None;
    for _ in 0..attempts {
        let expected = pair.kubectl(line, during).await;
        let found = pair.console(line, during).await;
        if expected == found {
            return None;
        }
        difference = Some(format!("kubectl:\n{}console:\n{}", shown(&expected), shown(&found)));
    }
    difference
}

fn shown(output: &coracle_console::Output) -> String {
    format!("exit {}\n{}[stderr]\n{}", output.code, output.stdout, output.stderr)
}
