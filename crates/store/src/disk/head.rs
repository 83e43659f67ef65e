use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use bytes::{Buf, BufMut};
use tokio::time::Instant;

use crate::Revision;

/// The slots are in different sectors, so that a torn write damages at most one of them.
const SLOT_DISTANCE: u64 = 4096;
const SLOT_BYTES: usize = 40;
const MAGIC: u32 = 0x636f_7265;
/// How often the head itself is synced.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The minimum end of the acknowledged log: a log that ends earlier is not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of writes of the head; the slot with the greater one is valid.
    generation: u64,
    pub(crate) sequence: u64,
    pub(crate) revision: Revision,
    pub(crate) crc: u32,
}

impl Head {
    /// The head for a record that must exist.
    pub(crate) fn at(sequence: u64, crc: u32) -> Self {
        Self { sequence, crc, ..Self::default() }
    }
}

/// The file of the head, with two slots that are overwritten in turn.
#[derive(Debug)]
pub(crate) struct HeadFile {
    file: File,
    head: Head,
    synced: Instant,
}

impl HeadFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(path)?;
        file.set_len(2 * SLOT_DISTANCE)?;
        let mut created = Self { file, head: Head::default(), synced: Instant::now() };
        created.write(Head::default())?;
        created.sync()?;
        Ok(created)
    }

    /// Opens the file; `None` if neither slot is valid.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let slots = [0, SLOT_DISTANCE].map(|offset| {
            let mut bytes = [0; SLOT_BYTES];
            file.read_exact_at(&mut bytes, offset).ok().and_then(|()| decode(&bytes))
        });
        let newest = slots.into_iter().flatten().max_by_key(|head| head.generation);
        Ok(newest.map(|head| Self { file, head, synced: Instant::now() }))
    }

    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// Overwrites the older slot; syncs the file if the last sync was more than a second ago.
    pub(crate) fn advance(&mut self, sequence: u64, revision: Revision, crc: u32) -> io::Result<()> {
        self.write(Head { generation: 0, sequence, revision, crc })?;
        if self.synced.elapsed() >= SYNC_INTERVAL { self.sync() } else { Ok(()) }
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced = Instant::now();
        Ok(())
    }

    fn write(&mut self, head: Head) -> io::Result<()> {
        let head = Head { generation: self.head.generation + 1, ..head };
        self.file.write_all_at(&encode(&head), (head.generation % 2) * SLOT_DISTANCE)?;
        self.head = head;
        Ok(())
    }
}

fn encode(head: &Head) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SLOT_BYTES);
    bytes.put_u32_le(MAGIC);
    bytes.put_u64_le(head.generation);
    bytes.put_u64_le(head.sequence);
    bytes.put_i64_le(head.revision);
    bytes.put_u32_le(head.crc);
    bytes.put_u32_le(0);
    bytes.put_u32_le(crc32c::crc32c(&bytes));
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<Head> {
    let (body, crc) = bytes.split_at_checked(SLOT_BYTES - 4)?;
    if crc32c::crc32c(body) != u32::from_le_bytes(crc.try_into().ok()?) || bytes.get_u32_le() != MAGIC {
        return None;
    }
    let generation = bytes.get_u64_le();
    Some(Head { generation, sequence: bytes.get_u64_le(), revision: bytes.get_i64_le(), crc: bytes.get_u32_le() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_survives_the_loss_of_either_slot_as_one_of_the_last_two() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("head");
        let mut file = HeadFile::create(&path).unwrap();
        for sequence in 1..=6 {
            file.advance(sequence, 10, 7).unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        for slot in [0, SLOT_DISTANCE as usize] {
            for byte in slot..slot + SLOT_BYTES {
                let mut damaged = whole.clone();
                damaged[byte] ^= 1;
                std::fs::write(&path, damaged).unwrap();
                let head = HeadFile::open(&path).unwrap().unwrap().head();
                assert!((5..=6).contains(&head.sequence));
            }
        }
        std::fs::write(&path, vec![0; 100]).unwrap();
        assert!(HeadFile::open(&path).unwrap().is_none());
    }
}
