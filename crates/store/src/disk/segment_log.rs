//! The records in segments: files that are written at their end only, and rewritten only when compaction has removed
//! most of their records.
//!
//! ```text
//! LOG/00000000000000000001   a segment
//! LOG/floor                  how far the log is compacted, and which compacted records the segments still hold
//! LOG/*.new                  a file that replaces another one when it is complete
//! ```
//! A segment is synced before the next one begins: only the last one can lack what was written to it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;

use crate::Error;
use crate::disk::chain::{Chain, Floor, Link};
use crate::disk::cleaning::{self, Fill};
use crate::disk::entry::{self, Group, Placed};
use crate::disk::file_system::io_error;
use crate::disk::floor_file;
use crate::disk::frame;
use crate::disk::head::Head;
use crate::disk::segment::Segment;
use crate::disk::segment_folder::SegmentFolder;
use crate::durable::{Base, Record};

/// The usual length from which a segment is complete: the next records go into another one.
pub(crate) const SEGMENT_BYTES: u64 = 8 << 20;

/// The records of a store in segments.
#[derive(Debug)]
pub(crate) struct SegmentLog {
    folder: SegmentFolder,
    floor: Floor,
    /// The numbers of the compacted records that segments may still hold, in order.
    gone: Vec<u64>,
    /// In the order of their names; the last one is written to.
    segments: Vec<Segment>,
    /// The last segment.
    file: Option<File>,
    /// The length from which a segment is complete.
    segment_bytes: u64,
    /// Whether a sync has failed.
    distrusted: bool,
}

/// What the files of a log hold.
#[derive(Default)]
struct Scan {
    segments: Vec<Segment>,
    /// The compacted records among them.
    gone: Vec<u64>,
    /// Segments that an interrupted cleaning has already copied.
    leftovers: Vec<u64>,
    /// The greatest number of a record.
    last: u64,
}

impl SegmentLog {
    /// Creates an empty log that is compacted as `floor` says.
    pub(crate) fn create(path: &Path, floor: &Floor) -> Result<Self, Error> {
        floor_file::write(path, floor, &[])?;
        Self::open(path, SEGMENT_BYTES)
    }

    /// Opens a log. Its records are known when it was [read](Self::read): before that it cannot be trimmed.
    pub(crate) fn open(path: &Path, segment_bytes: u64) -> Result<Self, Error> {
        let folder = SegmentFolder::new(path);
        folder.remove_unfinished()?;
        folder.sync()?;
        let (floor, gone) = floor_file::read(path)?;
        let segments = folder.segments()?.into_iter().map(Segment::new).collect();
        let mut log = Self { folder, floor, gone, segments, file: None, segment_bytes, distrusted: false };
        log.open_last()?;
        Ok(log)
    }

    /// Replaces the last segment by a copy. Reads return the data of the kernel; after a failed sync that is more than
    /// the disk has, and the kernel writes it only to new files.
    pub(crate) fn copy_last(path: &Path) -> Result<(), Error> {
        let folder = SegmentFolder::new(path);
        folder.segments()?.pop().map_or(Ok(()), |last| folder.replace(last, &folder.read(last)?))
    }

    /// Closes the log; returns whether a sync of it has failed: then readable data may not be on disk, and may never
    /// get there.
    pub(crate) fn close(mut self) -> bool {
        self.sync().is_err() || self.distrusted
    }

    pub(crate) fn set_segment_bytes(&mut self, segment_bytes: u64) {
        self.segment_bytes = segment_bytes;
    }

    pub(crate) fn floor(&self) -> Floor {
        self.floor
    }

    pub(crate) fn size_bytes(&self) -> i64 {
        let size: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        i64::try_from(size).unwrap_or(i64::MAX)
    }

    /// Reads all records of the log; returns the last one.
    pub(crate) fn read(&mut self, head: Head, visit: &mut dyn FnMut(Record)) -> Result<Link, Error> {
        let mut chain = Chain::new(self.floor, head);
        let scan = self.scan(&mut |sequence, bytes| chain.take(sequence, frame::decode(bytes), visit))?;
        let link = chain.finish().end(self.folder.path())?;
        scan.leftovers.iter().try_for_each(|first| self.folder.remove(*first))?;
        self.folder.sync()?;
        self.segments = scan.segments;
        self.gone = scan.gone;
        self.open_last()?;
        Ok(link)
    }

    /// Visits every frame in the order of the numbers.
    pub(crate) fn each_frame(&self, take: &mut dyn FnMut(u64, Bytes)) -> Result<(), Error> {
        self.scan(take).map(drop)
    }

    fn scan(&self, take: &mut dyn FnMut(u64, Bytes)) -> Result<Scan, Error> {
        let mut scan = Scan::default();
        for Segment { first, .. } in &self.segments {
            if *first <= scan.last {
                scan.leftovers.push(*first);
                continue;
            }
            let bytes = self.folder.read(*first)?;
            let mut segment = Segment::new(*first);
            for entry in entry::entries(*first, &bytes) {
                segment.bytes = entry.end;
                scan.last = scan.last.max(entry.number);
                if self.is_gone(entry.number) {
                    scan.gone.push(entry.number);
                    continue;
                }
                segment.add(entry.placed());
                take(entry.number, Bytes::copy_from_slice(entry.frame));
            }
            scan.segments.push(segment);
        }
        Ok(scan)
    }

    fn is_gone(&self, number: u64) -> bool {
        number <= self.floor.base.sequence && self.gone.binary_search(&number).is_ok()
    }

    fn open_last(&mut self) -> Result<(), Error> {
        self.file = self.segments.last().map(|segment| self.folder.open(segment.first)).transpose()?;
        Ok(())
    }

    /// Removes the records after `last`: they were never acknowledged.
    pub(crate) fn cut_after(&mut self, last: u64) -> Result<(), Error> {
        while let Some(segment) = self.segments.pop_if(|segment| segment.first > last) {
            self.folder.remove(segment.first)?;
        }
        self.folder.sync()?;
        self.open_last()?;
        let (Some(segment), Some(file)) = (self.segments.last_mut(), &self.file) else { return Ok(()) };
        let bytes = self.folder.read(segment.first)?;
        let kept = entry::entries(segment.first, &bytes).filter(|entry| entry.number <= last).last();
        segment.bytes = kept.map_or(0, |entry| entry.end);
        segment.retain(|number| number <= last);
        if segment.bytes < bytes.len() as u64 {
            file.set_len(segment.bytes).map_err(|error| io_error(self.folder.path(), &error))?;
        }
        self.sync()
    }

    /// Appends entries, all or nothing.
    pub(crate) fn append(&mut self, group: &mut Group) -> Result<(), Error> {
        let Some(first) = group.placed().first() else { return Ok(()) };
        if self.segments.last().is_none_or(|segment| segment.bytes >= self.segment_bytes) {
            self.begin_segment(first.number)?;
        }
        let (Some(segment), Some(file)) = (self.segments.last_mut(), &self.file) else {
            return Err(Error::Unavailable("the log has no open segment".to_owned()));
        };
        let written = file.write_all_at(group.seal(segment.first, segment.bytes), segment.bytes);
        written.map_err(|error| io_error(self.folder.path(), &error))?;
        segment.bytes += group.len() as u64;
        group.placed().iter().for_each(|placed| segment.add(*placed));
        Ok(())
    }

    /// Checks that the last segment can grow by a number of bytes: it grows by zeros, and shrinks again.
    pub(crate) fn check_space(&self, bytes: usize) -> Result<(), Error> {
        let (Some(segment), Some(file)) = (self.segments.last(), &self.file) else { return Ok(()) };
        let grown = file.write_all_at(&vec![0; bytes], segment.bytes);
        let shrunk = file.set_len(segment.bytes);
        grown.and(shrunk).map_err(|error| io_error(self.folder.path(), &error))
    }

    fn begin_segment(&mut self, first: u64) -> Result<(), Error> {
        self.sync()?;
        self.file = Some(self.folder.create(first)?);
        self.segments.push(Segment::new(first));
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        self.distrusted |= synced.is_err();
        synced.map_err(|error| io_error(self.folder.path(), &error))
    }

    /// Raises the floor, removes records, and frees their space where that is worth its cost.
    pub(crate) fn trim(&mut self, base: Base, gone: &[u64]) -> Result<(), Error> {
        // Without the record there are none since the last compaction.
        let crc = self.find(base.sequence).map_or(self.floor.crc, |placed| placed.crc);
        self.floor = self.floor.raised(base, crc, gone);
        self.gone.extend_from_slice(gone);
        self.gone.sort_unstable();
        floor_file::write(self.folder.path(), &self.floor, &self.gone)?;
        for segment in &mut self.segments {
            let (Some(first), Some(last)) = (segment.live.first(), segment.live.last()) else { continue };
            let gone = within(gone, first.number, last.number);
            if !gone.is_empty() {
                segment.retain(|number| gone.binary_search(&number).is_err());
            }
        }
        self.clean()
    }

    /// Rewrites the segments that compaction has mostly emptied.
    fn clean(&mut self) -> Result<(), Error> {
        let complete = self.segments.len().saturating_sub(1);
        let fills: Vec<Fill> = self.segments[..complete].iter().map(Segment::fill).collect();
        let runs = cleaning::plan(&fills, self.segment_bytes);
        // The last run first: the places of the others stay.
        for run in runs.iter().rev() {
            let merged = self.merge(&self.segments[run.clone()])?;
            let numbers = self.segments[run.start].first..self.segments[run.end].first;
            self.gone.retain(|number| !numbers.contains(number));
            self.segments.splice(run.clone(), merged);
        }
        // If a removed name came back, it would bring records that the next floor does not list.
        if runs.is_empty() { Ok(()) } else { self.folder.sync() }
    }

    /// Copies the live records of neighbours into the first one, and removes the others.
    fn merge(&self, run: &[Segment]) -> Result<Option<Segment>, Error> {
        let first = run[0].first;
        let mut merged = Segment::new(first);
        let mut group = Group::default();
        for segment in run.iter().filter(|segment| segment.live_bytes > 0) {
            segment.live.iter().for_each(|placed| merged.add(*placed));
            let bytes = self.folder.read(segment.first)?;
            for entry in entry::entries(segment.first, &bytes) {
                if segment.find(entry.number).is_some() {
                    group.add_frame(entry.number, entry.frame);
                }
            }
        }
        if group.placed() != merged.live {
            return Err(Error::Corrupt(format!(
                "{}: records have changed since they were read",
                self.folder.path().display()
            )));
        }
        merged.bytes = group.len() as u64;
        let is_empty = merged.live.is_empty();
        if !is_empty {
            self.folder.replace(first, group.seal(first, 0))?;
        }
        run[usize::from(!is_empty)..].iter().try_for_each(|segment| self.folder.remove(segment.first))?;
        Ok((!is_empty).then_some(merged))
    }

    /// Those of `sequences` that exist.
    pub(crate) fn present(&self, sequences: &[u64]) -> Vec<u64> {
        sequences.iter().copied().filter(|sequence| self.find(*sequence).is_some()).collect()
    }

    fn find(&self, number: u64) -> Option<Placed> {
        let after = self.segments.partition_point(|segment| segment.first <= number);
        self.segments[..after].last()?.find(number)
    }
}

/// The part of sorted `numbers` that lies between two numbers.
fn within(numbers: &[u64], first: u64, last: u64) -> &[u64] {
    &numbers[numbers.partition_point(|number| *number < first)..numbers.partition_point(|number| *number <= last)]
}

#[cfg(test)]
mod tests;
