//! No plan of faults breaks the cluster's own components in a scenario, except as the list says.

mod accepted;

use std::path::{Path, PathBuf};

use coracle_check::{ScenarioCheck, ScenarioReport};

use crate::accepted::ACCEPTED;

/// The components whose faults are tried in long runs.
const COMPONENTS: [&str; 3] = ["controller-manager", "scheduler", "kubelet"];
/// The scenarios of short runs, in which most controllers write.
const SHORT: [&str; 5] =
    ["daemonset-new-node", "deletion-policies", "indexed-job", "rolling-update", "statefulset-order"];
/// How many plans a short run tries in each of them.
const PLANS: usize = 6;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The words in a variable, separated by commas; `None` if it is not set.
fn words(variable: &str) -> Option<Vec<String>> {
    Some(std::env::var(variable).ok()?.split(',').map(str::to_owned).collect())
}

/// The scenarios in `CORACLE_SCENARIO`; without it, those of short runs, or all in long runs.
fn scenarios(is_long: bool) -> Vec<PathBuf> {
    let short = || (!is_long).then(|| SHORT.map(str::to_owned).to_vec());
    let wanted = words("CORACLE_SCENARIO").or_else(short);
    let is_wanted = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy();
        wanted.as_ref().is_none_or(|wanted| wanted.iter().any(|wanted| *wanted == name))
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(is_wanted);
    files.sort();
    files
}

fn check(path: &Path, component: &str, plans: usize) -> ScenarioReport {
    let check = ScenarioCheck::read(path).unwrap().of(component).plans(plans).accepting(&ACCEPTED);
    let check = check.seed(number("CORACLE_SEED", 1)).jobs(usize::try_from(number("CORACLE_JOBS", 2)).unwrap());
    let check = check.faultless(number("CORACLE_FAULTLESS", 3));
    let check = if number("CORACLE_FIRST", 0) == 0 { check } else { check.until_found().shrinking(0) };
    let report = check.search().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    eprint!("{report}");
    assert!(report.check.without_faults.is_empty(), "{} fails without a fault:\n{report}", path.display());
    report
}

#[test]
fn no_plan_breaks_a_component_of_the_cluster() {
    let long = std::env::var("CORACLE_PLANS").ok().map(|plans| plans.parse().unwrap());
    let components = words("CORACLE_COMPONENT").unwrap_or_else(|| {
        let tried = if long.is_some() { &COMPONENTS[..] } else { &COMPONENTS[..1] };
        tried.iter().map(|&component| component.to_owned()).collect()
    });
    let scenarios = scenarios(long.is_some());
    assert!(!scenarios.is_empty(), "no scenario has one of these names");
    let mut broken = Vec::new();
    for path in &scenarios {
        for component in &components {
            let report = check(path, component, long.unwrap_or(PLANS));
            broken.extend(report.broken().iter().map(|broken| format!("{} of {component}\n{broken}", path.display())));
        }
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}
