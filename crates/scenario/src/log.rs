use std::sync::OnceLock;

use coracle_journal::{EntryId, Events, Header, Recorder};
use coracle_viewer::Counts;

/// The event log of a run. It is read on demand, because reading it costs as much as writing it.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    header: Header,
    recorder: Recorder,
    read: OnceLock<Events>,
}

impl Log {
    pub(crate) fn new(header: Header, recorder: Recorder) -> Self {
        Self { header, recorder, read: OnceLock::new() }
    }

    pub(crate) fn counts(&self) -> Counts {
        match self.read.get() {
            Some(events) => Counts::of(&events.entries),
            None => Counts::of(&self.recorder.entries_of(EntryId(0), Counts::STAGES)),
        }
    }

    pub(crate) fn events(&self) -> &Events {
        self.read.get_or_init(|| Events { header: self.header.clone(), entries: self.recorder.entries(EntryId(0)) })
    }

    pub(crate) fn into_events(self) -> Events {
        self.events();
        self.read.into_inner().expect("it was read just now")
    }
}

impl From<Events> for Log {
    fn from(events: Events) -> Self {
        Self { header: events.header.clone(), recorder: Recorder::off(), read: events.into() }
    }
}
