use std::time::Duration;

use crate::load::Outcome;

/// The columns: the last is what a kube-apiserver 1.35 with etcd 3.6 did on a machine of two cores, measured separately.
pub(crate) fn heading() {
    println!(
        "{:<46} {:>10} {:>9} {:>9} {:>10}   kube-apiserver 1.35 + etcd, measured separately",
        "", "a second", "p50", "p99", "CPU each"
    );
}

pub(crate) fn row(name: &str, outcome: &Outcome, baseline: &str) {
    println!(
        "{name:<46} {:>10} {:>9} {:>9} {:>10}   {baseline}",
        format!("{:.0}", outcome.rate()),
        time(outcome.at(0.5)),
        time(outcome.at(0.99)),
        format!("{:.0} us", outcome.cpu_each()),
    );
}

pub(crate) fn fact(name: &str, figure: &str, baseline: &str) {
    println!("{name:<46} {figure:>41}   {baseline}");
}

pub(crate) fn time(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1000.0;
    if millis < 100.0 { format!("{millis:.2} ms") } else { format!("{millis:.0} ms") }
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
