use coracle_sim::checks::{Finding, LoggedWrite, Run};

/// How many of the last acts of a controller a finding shows.
const ACTS: usize = 6;

/// The last writes of a controller up to a violation.
pub(crate) fn last_acts(run: &Run, findings: &[Finding]) -> Vec<String> {
    let first = findings.iter().find(|finding| finding.violation.entry.is_some()).or(findings.first());
    let run = first.map_or(run, |finding| run.of_component(&finding.component));
    let until = first.and_then(|finding| finding.violation.entry);
    let writes = run.log.writes_of(&run.user).filter(|write| until.is_none_or(|until| write.entry <= until));
    let line = |write: &LoggedWrite| {
        let (seconds, act) = (write.at.as_secs_f64(), write.act());
        format!("{seconds:>9.3} s  rev {}  {} {act} {}", write.revision, run.component, write.subject)
    };
    let lines: Vec<String> = writes.map(line).collect();
    lines[lines.len().saturating_sub(ACTS)..].to_vec()
}
