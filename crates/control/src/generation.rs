use std::sync::Arc;

use coracle_cluster::{Cluster, Transport};
use coracle_journal::{EntryId, Header, Recorder};
use coracle_scenario::RunningFaults;

use crate::end_signal::EndSignal;
use crate::start::Started;

/// One start of a controlled cluster: a reset ends it, and begins the next.
pub struct Generation {
    /// The cluster.
    pub cluster: Cluster,
    /// Its faults.
    pub faults: RunningFaults,
    pub(crate) front: Transport,
    pub(crate) log: GenerationLog,
    ended: EndSignal,
}

/// The part of the event log that is about a generation.
#[derive(Clone)]
pub(crate) struct GenerationLog {
    pub(crate) recorder: Recorder,
    /// The last entry before it.
    pub(crate) begins: EntryId,
    pub(crate) header: Header,
}

impl Generation {
    pub(crate) fn new(started: Started, log: GenerationLog) -> Arc<Self> {
        let Started { cluster, faults, front } = started;
        Arc::new(Self { cluster, faults, front, log, ended: EndSignal::default() })
    }

    /// Ends the requests that wait for an answer, and the watches.
    pub(crate) fn end(&self) {
        self.ended.end();
    }

    /// A signal of the end.
    pub(crate) fn ended(&self) -> EndSignal {
        self.ended.clone()
    }
}
