use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coracle_journal::{Entry, Stage};

use crate::bands::{Band, BandKind, bands};
use crate::sentence::word;
use crate::struck::is_fault;

/// The minimum width of the names of lanes.
const NAMES: usize = 22;
/// The controllers whose queues and syncs have lanes.
const CONTROLLERS: [&str; 5] = ["replicaset", "deployment", "scheduler", "garbagecollector", "garbage-collector"];

/// The most lanes of faults.
const FAULTS: usize = 6;
/// What fills the time of a fault, and the time in which a component does not run.
const FAULT: char = '▒';
const STOPPED: char = '░';

/// The legend, by type of lane. If several signs share a cell, the one that is listed last is shown.
const SIGNS: [(&str, &[(char, &str)]); 4] = [
    ("fault", &[(STOPPED, "does not run"), (FAULT, "applies")]),
    (
        "pod",
        &[
            ('P', "pending"),
            ('S', "scheduled"),
            ('C', "creating"),
            ('R', "running"),
            ('B', "backing off"),
            ('E', "ended"),
            ('✕', "terminating"),
            ('○', "gone"),
        ],
    ),
    ("queue", &[('·', "key added"), ('▓', "merged"), ('x', "retried")]),
    ("sync", &[('│', "begins"), ('█', "writes")]),
];

/// The state of a pod from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Scheduled,
    Creating,
    Running,
    BackingOff,
    Ended,
    Terminating,
    Gone,
}

impl State {
    /// The sign at the moment of the change, and the sign that fills the time after it.
    fn signs(self) -> (char, char) {
        match self {
            Self::Pending => ('P', '─'),
            Self::Scheduled => ('S', '─'),
            Self::Creating => ('C', '═'),
            Self::Running => ('R', '━'),
            Self::BackingOff => ('B', '┄'),
            Self::Ended => ('E', '┄'),
            Self::Terminating => ('✕', '╌'),
            Self::Gone => ('○', ' '),
        }
    }

    /// Whether this state can lead to another one.
    fn leads_to(self, next: Self) -> bool {
        match self {
            Self::Gone => next == Self::Pending,
            Self::Terminating => next == Self::Gone,
            _ => self != next,
        }
    }
}

/// A log as lanes over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
    /// The meaning of the signs in it.
    pub legend: String,
}

/// One line of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Its name, as wide as all names. The name of a fault that is wider has a line without cells.
    pub name: String,
    /// A sign for each moment.
    pub cells: String,
}

impl std::fmt::Display for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(format!("{}{}", self.name, self.cells).trim_end())
    }
}

/// Draws a log as lanes over time: one for each pod, one for each fault, and two for each busy controller, for its queue
/// and its syncs.
///
/// Only the log is read. At most `height` lanes of pods are drawn, the latest ones. Changes of a pod at one moment are
/// drawn next to each other.
pub fn lanes(entries: &[Entry], width: usize, height: usize) -> Picture {
    let Some((first, last)) = span(entries) else { return Picture::default() };
    let pods = pods(entries);
    let pods = &pods[pods.len().saturating_sub(height)..];
    let busy = busy(entries, first, last);
    let faults = by_name(bands(entries, last));
    let faults = &faults[faults.len().saturating_sub(FAULTS)..];
    let names = pods.iter().map(|(name, _)| format!("pod {}", short(name))).chain(busy.keys().map(ToString::to_string));
    let names: Vec<String> = names.collect();
    // The long name of a fault has a line of its own, and leaves the others their room.
    let short_faults = faults.iter().map(|(name, _)| name.chars().count()).filter(|count| *count <= width / 4);
    let widths = names.iter().map(|name| name.chars().count()).chain(short_faults);
    let name_width = widths.fold(NAMES, usize::max).min(width / 2);
    let columns = width.saturating_sub(name_width + 2).max(1);
    let column = |at: Duration| {
        let share = (at.saturating_sub(first)).as_secs_f64() / last.saturating_sub(first).as_secs_f64().max(1e-9);
        ((share * (columns - 1) as f64) as usize).min(columns - 1)
    };
    let of_pods = pods.iter().map(|(_, states)| pod_cells(states, columns, &column));
    let of_controllers = busy.values().map(|signs| sign_cells(signs, columns, &column));
    let lane = |name: &str, cells: &[char]| Lane {
        name: format!(" {:<name_width$} ", cut(name, name_width)),
        cells: cells.iter().collect::<String>().trim_end().to_owned(),
    };
    let cells: Vec<Vec<char>> = of_pods.chain(of_controllers).collect();
    let mut lanes: Vec<Lane> = names.iter().zip(&cells).map(|(name, cells)| lane(name, cells)).collect();
    let mut used: BTreeSet<char> = cells.iter().flatten().copied().collect();
    let mut of_faults = Vec::new();
    for (name, bands) in faults {
        let cells = band_cells(bands, columns, &column);
        used.extend(&cells);
        if name.chars().count() > name_width {
            of_faults.push(Lane { name: format!(" {}", cut(name, width.saturating_sub(1))), cells: String::new() });
            of_faults.push(lane("", &cells));
        } else {
            of_faults.push(lane(name, &cells));
        }
    }
    lanes.splice(pods.len()..pods.len(), of_faults);
    Picture { lanes, legend: legend(&used) }
}

/// Bands with the same name share a lane.
fn by_name(bands: Vec<Band>) -> Vec<(String, Vec<Band>)> {
    let mut named: Vec<(String, Vec<Band>)> = Vec::new();
    for band in bands {
        let name = format!("{} {}", band.word(), band.name);
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, bands)) => bands.push(band),
            None => named.push((name, vec![band])),
        }
    }
    named
}

/// Each band fills its time, and at least one cell. What has not ended fills the rest.
fn band_cells(bands: &[Band], columns: usize, column: &impl Fn(Duration) -> usize) -> Vec<char> {
    let mut cells = vec![' '; columns];
    for Band { what, from, to, .. } in bands {
        let to = to.map_or(columns - 1, column);
        let sign = match what {
            BandKind::Fault => FAULT,
            BandKind::Stopped => STOPPED,
        };
        cells[column(*from)..=to].fill(sign);
    }
    cells
}

/// A name that is not wider than `width`; its end distinguishes pods of one owner, so its middle is left out.
fn cut(name: &str, width: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= width {
        return name.to_owned();
    }
    let end = width.saturating_sub(1) / 2;
    let start = width.saturating_sub(end + 1);
    let (start, end) = (&letters[..start], &letters[letters.len() - end..]);
    format!("{}…{}", start.iter().collect::<String>(), end.iter().collect::<String>())
}

fn legend(used: &BTreeSet<char>) -> String {
    let groups = SIGNS.iter().filter_map(|(what, signs)| {
        let signs = signs.iter().filter(|(sign, _)| used.contains(sign));
        let said: Vec<String> = signs.map(|(sign, meaning)| format!("{sign} {meaning}")).collect();
        (!said.is_empty()).then(|| format!("{what}: {}", said.join("  ")))
    });
    groups.collect::<Vec<_>>().join("   ")
}

/// The time range to draw: from the first entry about a pod or a fault to the last.
fn span(entries: &[Entry]) -> Option<(Duration, Duration)> {
    let is_drawn = |entry: &&Entry| entry.subject.starts_with("pods/") || is_fault(entry);
    let drawn = || entries.iter().filter(is_drawn);
    Some((drawn().next()?.at, drawn().next_back()?.at))
}

/// The pods with their states, in the order of their creation.
fn pods(entries: &[Entry]) -> Vec<(&str, Vec<(Duration, State)>)> {
    let mut pods: Vec<(&str, Vec<(Duration, State)>)> = Vec::new();
    for entry in entries {
        let Some(name) = entry.subject.strip_prefix("pods/") else { continue };
        let Some(state) = pod_state(entry) else { continue };
        match pods.iter_mut().find(|(known, _)| *known == name) {
            Some((_, states)) => {
                if states.last().is_none_or(|(_, last)| last.leads_to(state)) {
                    states.push((entry.at, state));
                }
            }
            None => pods.push((name, vec![(entry.at, state)])),
        }
    }
    pods
}

fn pod_state(entry: &Entry) -> Option<State> {
    let is_marked =
        |how: &str| entry.data.get(how).is_some_and(|object| !object["metadata"]["deletionTimestamp"].is_null());
    match entry.stage {
        Stage::StoreCommit => match &*word(entry, "op") {
            "create" => Some(State::Pending),
            "delete" => Some(State::Gone),
            _ => None,
        },
        Stage::ObjectChange if is_marked("patch") || is_marked("whole") => Some(State::Terminating),
        Stage::SchedulerPick if !word(entry, "node").is_empty() => Some(State::Scheduled),
        Stage::KubeletTransition => match &*word(entry, "to") {
            "Running" | "Ready" => Some(State::Running),
            "BackingOff" => Some(State::BackingOff),
            "Ended" => Some(State::Ended),
            "Starting" | "Sandbox" | "Pulling" => Some(State::Creating),
            other => other.starts_with("Initializing").then_some(State::Creating),
        },
        _ => None,
    }
}

/// Each sign gets a cell of its own, as near to its moment as possible.
fn pod_cells(states: &[(Duration, State)], columns: usize, column: &impl Fn(Duration) -> usize) -> Vec<char> {
    let states = &states[states.len().saturating_sub(columns)..];
    let mut places = Vec::with_capacity(states.len());
    for (index, (at, _)) in states.iter().enumerate() {
        let free = places.last().map_or(0, |before: &usize| before + 1);
        places.push(column(*at).max(free).min(columns - (states.len() - index)));
    }
    let mut cells = vec![' '; columns];
    for (index, (_, state)) in states.iter().enumerate() {
        let (mark, fill) = state.signs();
        let to = places.get(index + 1).copied().unwrap_or(columns);
        cells[places[index]] = mark;
        cells[places[index] + 1..to].fill(fill);
    }
    cells
}

/// What a lane of a controller shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    controller: String,
    what: &'static str,
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.controller)
    }
}

/// What controllers did between two moments, by lane.
fn busy(entries: &[Entry], first: Duration, last: Duration) -> BTreeMap<Work, Vec<(Duration, char)>> {
    let mut lanes: BTreeMap<Work, Vec<(Duration, char)>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| (first..=last).contains(&entry.at)) {
        let (what, sign) = match entry.stage {
            Stage::QueueAdd if word(entry, "how") == "merged" => ("queue", '▓'),
            Stage::QueueAdd => ("queue", '·'),
            Stage::QueueDelay if word(entry, "why") == "rate-limited" => ("queue", 'x'),
            Stage::SyncStart => ("sync", '│'),
            Stage::SyncWrite => ("sync", '█'),
            _ => continue,
        };
        let controller = entry.actor.rsplit('/').next().unwrap_or(&entry.actor);
        if CONTROLLERS.contains(&controller) {
            let lane = Work { controller: controller.to_owned(), what };
            lanes.entry(lane).or_default().push((entry.at, sign));
        }
    }
    lanes
}

fn sign_cells(signs: &[(Duration, char)], columns: usize, column: &impl Fn(Duration) -> usize) -> Vec<char> {
    let rank = |sign: char| SIGNS.iter().flat_map(|(_, signs)| *signs).position(|(known, _)| *known == sign);
    let mut cells = vec![' '; columns];
    for (at, sign) in signs {
        let cell = &mut cells[column(*at)];
        if rank(*sign) > rank(*cell) {
            *cell = *sign;
        }
    }
    cells
}

/// The name without the namespace `default/`.
fn short(name: &str) -> &str {
    name.strip_prefix("default/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_journal::{Detail, EntryId, Recorder};
    use serde_json::json;

    /// A log whose entries are so many milliseconds apart.
    fn log(apart: u64, record: impl Fn(&Recorder)) -> Vec<Entry> {
        let recorder = Recorder::ring(100);
        record(&recorder);
        let mut entries = recorder.entries(EntryId(0));
        for (index, entry) in entries.iter_mut().enumerate() {
            entry.at = Duration::from_millis(index as u64 * apart);
        }
        entries
    }

    fn a_pod_s_life(recorder: &Recorder) {
        let about = || Detail::about("pods/default/web-a");
        recorder.record("store", Stage::StoreCommit, || about().with("op", "create"));
        recorder.record("scheduler", Stage::SchedulerPick, || about().with("node", "node-1"));
        recorder.record("kubelet/node-1", Stage::KubeletTransition, || about().with("to", "Running"));
        recorder.record("store", Stage::ObjectChange, || {
            about().with("patch", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))
        });
        recorder.record("kubelet/node-1", Stage::KubeletTransition, || about().with("to", "Ended"));
        recorder.record("store", Stage::StoreCommit, || about().with("op", "delete"));
    }

    fn lines(picture: &Picture) -> Vec<String> {
        picture.lanes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pod_goes_through_its_states_from_left_to_right() {
        let drawn = lanes(&log(10, a_pod_s_life), 54, 8);
        assert_eq!(lines(&drawn), [" pod web-a              P────S─────R━━━━━✕╌╌╌╌╌╌╌╌╌╌╌○"]);
        assert_eq!(drawn.legend, "pod: P pending  S scheduled  R running  ✕ terminating  ○ gone");
    }

    #[test]
    fn states_of_one_moment_stand_side_by_side_and_a_pod_that_is_gone_stays_so() {
        let drawn = lanes(&log(0, a_pod_s_life), 54, 8);
        assert_eq!(lines(&drawn), [" pod web-a              PSR✕○"]);
        let again = |recorder: &Recorder| {
            a_pod_s_life(recorder);
            let late = || Detail::about("pods/default/web-a").with("to", "Ended");
            recorder.record("kubelet/node-1", Stage::KubeletTransition, late);
        };
        let drawn = lines(&lanes(&log(10, again), 54, 8));
        assert!(drawn[0].ends_with("✕╌╌╌╌╌╌╌╌╌○"), "{drawn:?}");
    }

    #[test]
    fn a_sync_that_writes_is_seen_among_merged_additions_and_the_legend_says_what_is_drawn_alone() {
        let drawn = lanes(
            &log(0, |recorder| {
                recorder
                    .record("store", Stage::StoreCommit, || Detail::about("pods/default/web-a").with("op", "create"));
                let of =
                    |stage: Stage, detail: Detail| recorder.record("controller-manager/replicaset", stage, || detail);
                of(Stage::SyncStart, Detail::about("default/web"));
                of(Stage::SyncWrite, Detail::about("default/web").with("verb", "create"));
                of(Stage::QueueAdd, Detail::about("default/web").with("how", "merged"));
                of(Stage::SyncStart, Detail::about("default/web"));
            }),
            54,
            8,
        );
        assert_eq!(lines(&drawn)[1..], [" queue replicaset       ▓", " sync replicaset        █"]);
        assert_eq!(drawn.legend, "pod: P pending   queue: ▓ merged   sync: █ writes");
    }
    #[test]
    fn a_fault_is_a_band_below_the_pods_from_its_beginning_to_its_end() {
        let drawn = lanes(
            &log(10, |recorder| {
                let about = || Detail::about("pods/default/web-a");
                let fault = |name: &'static str| move || Detail::about("kubelet/node-1").with("fault", name);
                recorder.record("store", Stage::StoreCommit, || about().with("op", "create"));
                recorder.record("wire", Stage::FaultOn, fault("late"));
                recorder.record("cm/replicaset", Stage::SyncStart, || Detail::about("default/web"));
                recorder.record("wire", Stage::FaultOff, fault("late"));
                recorder.record("wire", Stage::FaultOn, fault("the watch of the scheduler is late"));
                recorder.record("store", Stage::ComponentStop, Detail::default);
                recorder.record("store", Stage::StoreCommit, || about().with("op", "delete"));
            }),
            54,
            8,
        );
        assert_eq!(
            lines(&drawn),
            [
                " pod web-a              P────────────────────────────○",
                " fault late                 ▒▒▒▒▒▒▒▒▒▒▒",
                " fault the watch of the scheduler is late",
                "                                           ▒▒▒▒▒▒▒▒▒▒▒",
                " down store                                     ░░░░░░",
                " sync replicaset                 │",
            ]
        );
        assert_eq!(drawn.legend, "fault: ░ does not run  ▒ applies   pod: P pending  ○ gone   sync: │ begins");
    }

    #[test]
    fn a_fault_is_drawn_even_if_there_is_no_pod() {
        let entries = log(10, |recorder| {
            let fault = || Detail::about("store").with("fault", "store: compact");
            recorder.record("wire", Stage::FaultOn, fault);
            recorder.record("wire", Stage::FaultOff, fault);
        });
        assert_eq!(lines(&lanes(&entries, 34, 8)), [" fault store: compact", "                   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒"]);
    }
}
