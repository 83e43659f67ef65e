use crate::Error;
use crate::disk::entry::Group;
use crate::disk::segment_log::SegmentLog;

/// How many bytes are written at once.
const GROUP_BYTES: usize = 4 << 20;

/// Writes many frames to a log.
pub(crate) struct FrameWriter<'a> {
    log: &'a mut SegmentLog,
    group: Group,
    outcome: Result<(), Error>,
}

impl<'a> FrameWriter<'a> {
    pub(crate) fn new(log: &'a mut SegmentLog) -> Self {
        Self { log, group: Group::default(), outcome: Ok(()) }
    }

    /// Adds a frame. After an error it does nothing.
    pub(crate) fn add(&mut self, number: u64, frame: &[u8]) {
        self.group.add_frame(number, frame);
        if self.group.len() >= GROUP_BYTES {
            self.write();
        }
    }

    /// Returns when all frames are durable.
    ///
    /// # Errors
    /// The first error of all writes.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.write();
        self.outcome?;
        self.log.sync()
    }

    fn write(&mut self) {
        if self.outcome.is_ok() {
            self.outcome = self.log.append(&mut self.group);
        }
        self.group.clear();
    }
}
