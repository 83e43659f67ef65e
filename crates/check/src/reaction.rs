use std::time::Duration;

use coracle_sim::checks::{LoggedWrite, Run};

/// How long nothing changed, at most, before a write of the controller: how late it acts. What it writes after a restart at
/// rest is not counted, because nothing had changed before.
pub(crate) fn reaction(run: &Run) -> Duration {
    let after_restart = run.settled.zip(run.restarted);
    let is_counted = |write: &LoggedWrite| {
        let is_own = run.log.request_of(write).is_some_and(|request| *request.user == *run.user);
        is_own && !after_restart.is_some_and(|(from, to)| write.entry > from && write.entry <= to)
    };
    let mut latest = Duration::ZERO;
    let mut last_change = None;
    for write in run.log.writes.iter().filter(|write| !write.is_record()) {
        if let (Some(last), true) = (last_change.replace(write.at), is_counted(write)) {
            latest = latest.max(write.at.saturating_sub(last));
        }
    }
    latest
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use coracle_journal::EntryId;
    use coracle_sim::checks::{LoggedRequest, RunLog};
    use serde_json::json;

    use super::*;

    fn run(writes: &[(u64, &str)]) -> Run {
        let mut log = RunLog::default();
        for (index, (at, user)) in writes.iter().enumerate() {
            let (entry, at) = (EntryId(index as u64 + 1), Duration::from_millis(*at));
            log.requests.push(LoggedRequest {
                entry,
                at,
                user: Arc::from(*user),
                verb: "create".into(),
                subject: "pods/default/a".to_owned(),
                subresource: String::new(),
                audit_id: String::new(),
                code: None,
                refusal: String::new(),
                is_dry_run: false,
                has_committed: true,
            });
            log.writes.push(LoggedWrite {
                entry,
                at,
                revision: 1,
                request: Some(index),
                subject: "pods/default/a".to_owned(),
                before: None,
                after: Some(Arc::new(json!({"kind": "Pod"}))),
            });
        }
        let mut run = Run::of("operator", "operator");
        run.log = log;
        run
    }

    #[test]
    fn the_longest_time_between_a_change_and_a_write_of_the_controller_counts() {
        let run = run(&[(0, "user"), (20, "operator"), (250, "operator"), (5000, "user"), (5010, "operator")]);
        assert_eq!(reaction(&run), Duration::from_millis(230));
    }

    #[test]
    fn what_it_writes_after_a_restart_at_rest_does_not_count() {
        let mut run = run(&[(0, "user"), (20, "operator"), (9000, "operator")]);
        (run.settled, run.restarted) = (Some(EntryId(2)), Some(EntryId(3)));
        assert_eq!(reaction(&run), Duration::from_millis(20));
    }
}
