use std::path::Path;

use crate::Error;
use crate::disk::chain::{Floor, Link};
use crate::disk::entry::Group;
use crate::disk::head::Head;
use crate::disk::segment_log::SegmentLog;

/// How many bytes are written at once.
const GROUP_BYTES: usize = 4 << 20;

/// Writes a log with the frames that `each_frame` visits, and reads it back. Returns its last record and its size when
/// all of it is durable.
pub(crate) fn write_log(
    path: &Path,
    floor: &Floor,
    head: Head,
    each_frame: impl FnOnce(&mut dyn FnMut(u64, &[u8])) -> Result<(), Error>,
) -> Result<(Link, i64), Error> {
    let mut log = SegmentLog::create(path, floor)?;
    let mut writer = FrameWriter::new(&mut log);
    each_frame(&mut |number, frame| writer.add(number, frame))?;
    writer.finish()?;
    let last = log.read(head, &mut |_| {})?;
    let size_bytes = log.size_bytes();
    if log.close() {
        return Err(Error::Unavailable(format!("{}: the log could not be synced", path.display())));
    }
    Ok((last, size_bytes))
}

/// Writes many frames to a log.
struct FrameWriter<'a> {
    log: &'a mut SegmentLog,
    group: Group,
    outcome: Result<(), Error>,
}

impl<'a> FrameWriter<'a> {
    fn new(log: &'a mut SegmentLog) -> Self {
        Self { log, group: Group::default(), outcome: Ok(()) }
    }

    /// Adds a frame. After an error it does nothing.
    fn add(&mut self, number: u64, frame: &[u8]) {
        self.group.add_frame(number, frame);
        if self.group.len() >= GROUP_BYTES {
            self.write();
        }
    }

    /// Returns when all frames are durable.
    ///
    /// # Errors
    /// The first error of all writes.
    fn finish(mut self) -> Result<(), Error> {
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
