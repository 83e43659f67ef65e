use std::collections::BTreeMap;
use std::time::Duration;

use coracle_journal::{Entry, Stage};

/// What a lane shows from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Scheduled,
    Creating,
    Running,
    Terminating,
    Gone,
}

impl State {
    /// The sign at the moment of the change, and the one that fills the time after it.
    fn signs(self) -> (char, char) {
        match self {
            Self::Pending => ('P', '─'),
            Self::Scheduled => ('S', '─'),
            Self::Creating => ('C', '═'),
            Self::Running => ('R', '━'),
            Self::Terminating => ('✕', '╌'),
            Self::Gone => ('○', ' '),
        }
    }
}

/// A picture of a log as lanes over time: one for each pod, and one for each work queue that was busy.
///
/// Drawn from the log alone; at most `height` lanes of pods, the latest ones.
pub fn lanes(entries: &[Entry], width: usize, height: usize) -> Vec<String> {
    let Some((first, last)) = span(entries) else { return Vec::new() };
    let name_width = 22;
    let columns = width.saturating_sub(name_width + 2).max(20);
    let column = |at: Duration| {
        let share = (at.saturating_sub(first)).as_secs_f64() / (last - first).as_secs_f64().max(1e-9);
        ((share * (columns - 1) as f64) as usize).min(columns - 1)
    };
    let mut pods: Vec<(String, Vec<(Duration, State)>)> = Vec::new();
    for entry in entries {
        let Some(name) = entry.subject.strip_prefix("pods/") else { continue };
        let Some(state) = pod_state(entry) else { continue };
        match pods.iter_mut().find(|(known, _)| known == name) {
            Some((_, states)) => {
                if states.last().is_none_or(|(_, last)| *last != state) {
                    states.push((entry.at, state));
                }
            }
            None => pods.push((name.to_owned(), vec![(entry.at, state)])),
        }
    }
    let skipped = pods.len().saturating_sub(height);
    let mut lines: Vec<String> = pods[skipped..]
        .iter()
        .map(|(name, states)| {
            let mut cells = vec![' '; columns];
            for (index, (at, state)) in states.iter().enumerate() {
                let (mark, fill) = state.signs();
                let from = column(*at);
                let to = states.get(index + 1).map_or(columns, |(next, _)| column(*next).max(from + 1));
                cells[from] = mark;
                cells.iter_mut().take(to.min(columns)).skip(from + 1).for_each(|cell| *cell = fill);
            }
            lane(&format!("pod {}", short(name)), name_width, &cells)
        })
        .collect();
    for (queue, cells) in queues(entries, columns, &column) {
        lines.push(lane(&format!("queue {queue}"), name_width, &cells));
    }
    lines
}

/// The meaning of the signs of [`lanes`].
pub const LEGEND: &str = "P pending  S scheduled  C creating  R running  ✕ terminating  ○ gone   queue: · key added  ▓ merged  █ sync  x retried";

/// The part of the log that is worth showing: from the first thing said about a pod to the last.
fn span(entries: &[Entry]) -> Option<(Duration, Duration)> {
    let about_pods = || entries.iter().filter(|entry| entry.subject.starts_with("pods/"));
    Some((about_pods().next()?.at, about_pods().next_back()?.at))
}

fn pod_state(entry: &Entry) -> Option<State> {
    let word = |name: &str| entry.data.get(name).and_then(serde_json::Value::as_str).unwrap_or("");
    match entry.stage {
        Stage::StoreCommit => match word("op") {
            "create" => Some(State::Pending),
            "delete" => Some(State::Gone),
            _ => None,
        },
        Stage::SchedulerPick if !word("node").is_empty() => Some(State::Scheduled),
        Stage::KubeletTransition => match word("to") {
            "Running" | "Ready" => Some(State::Running),
            "Creating" | "ContainerCreating" => Some(State::Creating),
            "Terminating" | "Stopping" => Some(State::Terminating),
            _ => None,
        },
        Stage::ApiRequest if word("verb") == "delete" => Some(State::Terminating),
        _ => None,
    }
}

fn queues(entries: &[Entry], columns: usize, column: &impl Fn(Duration) -> usize) -> BTreeMap<String, Vec<char>> {
    let mut queues: BTreeMap<String, Vec<char>> = BTreeMap::new();
    let Some((first, last)) = span(entries) else { return queues };
    for entry in entries.iter().filter(|entry| (first..=last).contains(&entry.at)) {
        let how = entry.data.get("how").and_then(serde_json::Value::as_str).unwrap_or("");
        let why = entry.data.get("why").and_then(serde_json::Value::as_str).unwrap_or("");
        let sign = match entry.stage {
            Stage::QueueAdd if how == "merged" => '▓',
            Stage::QueueAdd => '·',
            Stage::QueueDelay if why == "rate-limited" => 'x',
            Stage::SyncStart => '█',
            _ => continue,
        };
        let name = entry.actor.rsplit('/').next().unwrap_or(&entry.actor);
        if !matches!(name, "replicaset" | "deployment" | "scheduler" | "garbagecollector" | "garbage-collector") {
            continue;
        }
        let cells = queues.entry(name.to_owned()).or_insert_with(|| vec![' '; columns]);
        let cell = &mut cells[column(entry.at)];
        if rank(sign) > rank(*cell) {
            *cell = sign;
        }
    }
    queues
}

/// Which of two signs in one place is shown.
fn rank(sign: char) -> u8 {
    match sign {
        'x' => 4,
        '▓' => 3,
        '█' => 2,
        '·' => 1,
        _ => 0,
    }
}

fn lane(name: &str, name_width: usize, cells: &[char]) -> String {
    let text: String = cells.iter().collect();
    format!(" {name:<name_width$} {}", text.trim_end())
}

/// `default/web-x2` without its namespace if that is `default`.
fn short(name: &str) -> &str {
    name.strip_prefix("default/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, EntryId, Recorder};

    #[test]
    fn a_pod_goes_through_its_states_from_left_to_right() {
        let recorder = Recorder::ring(100);
        let about = || Detail::about("pods/default/web-a");
        recorder.record("store", Stage::StoreCommit, || about().with("op", "create"));
        recorder.record("scheduler", Stage::SchedulerPick, || about().with("node", "node-1"));
        recorder.record("kubelet/node-1", Stage::KubeletTransition, || about().with("to", "Running"));
        recorder.record("store", Stage::StoreCommit, || about().with("op", "delete"));
        let mut entries = recorder.entries(EntryId(0));
        for (index, entry) in entries.iter_mut().enumerate() {
            entry.at = Duration::from_millis(index as u64 * 10);
        }
        let drawn = lanes(&entries, 54, 8);
        assert_eq!(drawn, [" pod web-a              P────────S─────────R━━━━━━━━━○"]);
    }
}
