use std::time::Duration;

use coracle_journal::{Entry, EntryId, Stage};

use crate::sentence::word;
use crate::struck::is_fault;

/// The time in which a fault applied, or a component or a node did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) what: BandKind,
    /// The fault, or the component or node.
    pub(crate) name: String,
    pub(crate) from: Duration,
    /// `None` if it has not ended in the log.
    pub(crate) to: Option<Duration>,
}

/// What a band shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BandKind {
    /// A fault applies.
    Fault,
    /// A component or a node does not run.
    Stopped,
}

impl Band {
    /// The word that begins the name of its lane.
    pub(crate) fn word(&self) -> &'static str {
        match self.what {
            BandKind::Fault => "fault",
            BandKind::Stopped => "down",
        }
    }
}

/// The faults of a log, and the components and nodes that did not run, in the order in which they began. Components that
/// stop at `end` stop because the run is over.
pub(crate) fn bands(entries: &[Entry], end: Duration) -> Vec<Band> {
    let mut open: Vec<(usize, &Entry)> = Vec::new();
    let mut bands: Vec<Band> = Vec::new();
    let faults: Vec<EntryId> = entries.iter().filter(|entry| is_fault(entry)).map(|entry| entry.id).collect();
    let is_of_a_fault = |entry: &Entry| entry.causes.iter().any(|cause| faults.binary_search(cause).is_ok());
    for entry in entries {
        match entry.stage {
            Stage::FaultOn => begin(&mut bands, &mut open, entry, BandKind::Fault, word(entry, "fault")),
            // A kill is drawn as the fault, and the end of a double stops the double alone.
            Stage::ComponentStop if entry.at < end && !is_of_a_fault(entry) => {
                let name = entry.actor.strip_prefix("kubelet/").unwrap_or(&entry.actor);
                begin(&mut bands, &mut open, entry, BandKind::Stopped, name.to_owned());
            }
            Stage::FaultOff | Stage::ComponentStart => {
                if let Some(place) = open.iter().position(|(_, began)| is_end_of(began, entry)) {
                    let (band, _) = open.remove(place);
                    bands[band].to = Some(entry.at);
                }
            }
            _ => {}
        }
    }
    bands
}

fn begin<'e>(
    bands: &mut Vec<Band>,
    open: &mut Vec<(usize, &'e Entry)>,
    entry: &'e Entry,
    what: BandKind,
    name: String,
) {
    open.push((bands.len(), entry));
    bands.push(Band { what, name, from: entry.at, to: None });
}

fn is_end_of(began: &Entry, entry: &Entry) -> bool {
    match (began.stage, entry.stage) {
        (Stage::FaultOn, Stage::FaultOff) => {
            began.subject == entry.subject && word(began, "fault") == word(entry, "fault")
        }
        (Stage::ComponentStop, Stage::ComponentStart) => began.actor == entry.actor,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use coracle_journal::{Detail, Recorder};

    use super::*;

    /// The bands of a log whose entries are a millisecond apart, up to its last entry.
    fn drawn(record: impl Fn(&Recorder)) -> Vec<(&'static str, String, u128, Option<u128>)> {
        let recorder = Recorder::ring(100);
        record(&recorder);
        let mut entries = recorder.entries(EntryId(0));
        for (at, entry) in (0..).zip(&mut entries) {
            entry.at = Duration::from_millis(at);
        }
        let end = entries.last().unwrap().at;
        let bands = bands(&entries, end).into_iter();
        bands.map(|band| (band.word(), band.name, band.from.as_millis(), band.to.map(|to| to.as_millis()))).collect()
    }

    #[test]
    fn a_fault_lasts_until_its_own_end() {
        let fault = |about: &str, name: &str| Detail::about(about).with("fault", name);
        let drawn = drawn(|recorder| {
            recorder.record("wire", Stage::FaultOn, || fault("a", "late"));
            recorder.record("wire", Stage::FaultOn, || fault("b", "late"));
            recorder.record("wire", Stage::FaultOff, || fault("b", "late"));
            recorder.record("wire", Stage::FaultOff, || fault("a", "late"));
            recorder.record("wire", Stage::FaultOn, || fault("a", "cut"));
        });
        let late = |from, to| ("fault", "late".to_owned(), from, Some(to));
        assert_eq!(drawn, [late(0, 3), late(1, 2), ("fault", "cut".to_owned(), 4, None)]);
    }

    #[test]
    fn a_node_that_stopped_is_down_until_it_starts_and_the_end_of_the_run_stops_nothing() {
        let drawn = drawn(|recorder| {
            recorder.record("kubelet/node-1", Stage::ComponentStart, Detail::default);
            recorder.record("kubelet/node-1", Stage::ComponentStop, Detail::default);
            recorder.record("kubelet/node-2", Stage::ComponentStart, Detail::default);
            recorder.record("kubelet/node-1", Stage::ComponentStart, Detail::default);
            recorder.record("scheduler", Stage::ComponentStop, Detail::default);
        });
        assert_eq!(drawn, [("down", "node-1".to_owned(), 1, Some(3))]);
    }

    #[test]
    fn a_kill_is_drawn_once() {
        let drawn = drawn(|recorder| {
            let kill = || Detail::about("scheduler").with("fault", "kill: scheduler");
            let on = recorder.record("wire", Stage::FaultOn, kill).unwrap();
            recorder.record("scheduler", Stage::ComponentStop, || Detail::default().caused_by([on]));
            recorder.record("wire", Stage::FaultOff, kill);
            recorder.record("scheduler", Stage::ComponentStart, Detail::default);
        });
        assert_eq!(drawn, [("fault", "kill: scheduler".to_owned(), 0, Some(2))]);
    }
}
