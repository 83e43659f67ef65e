//! Converts a folder in format 1, whose log is in sled, when it is opened.

use crate::Error;
use crate::disk::chain::Chain;
use crate::disk::folder::Folder;
use crate::disk::frame;
use crate::disk::frame_writer::write_log;
use crate::disk::head::Head;
use crate::disk::sled_log::SledLog;

/// Replaces a log in sled by segments with the same records.
///
/// The format comes before the new log: a folder with the new format and a log in sled is converted again.
pub(super) fn convert(folder: &Folder, head: Head) -> Result<(), Error> {
    if !folder.is_old()? && !SledLog::is_at(&folder.log()) {
        return Ok(());
    }
    let old = SledLog::open(&folder.log())?;
    let floor = old.floor()?;
    let mut chain = Chain::new(floor, head);
    old.each_frame(&mut |number, bytes| chain.take(number, frame::decode(bytes), &mut |_| {}))?;
    let end = chain.finish().end(&folder.log())?;
    write_log(&folder.make_next_log()?, &floor, head, |take| {
        old.each_frame(&mut |number, frame| {
            if number <= end.sequence {
                take(number, &frame);
            }
        })
    })?;
    drop(old);
    folder.complete()?;
    folder.swap_log()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::disk::chain::Floor;
    use crate::disk::head::HeadFile;
    use crate::disk::sled_log;
    use crate::disk::{Disk, Syncing};
    use crate::durable::{Base, Content, Durable, Record};
    use crate::version::Version;
    use crate::{EventKind, KeyValue};

    /// Puts with values of these sizes, one a revision.
    fn records(sizes: &[usize]) -> Vec<Record> {
        let record = |(sequence, size): (u64, &usize)| {
            let mod_revision = sequence as i64 + 1;
            let value = vec![sequence as u8; *size].into();
            let kv = KeyValue { key: format!("key/{sequence}").into(), value, mod_revision, ..KeyValue::default() };
            let version = Arc::new(Version { kv, kind: EventKind::Put, sub: 0, sequence });
            Record { sequence, content: Content::Version { version, last: true } }
        };
        (1..).zip(sizes).map(record).collect()
    }

    /// A folder in format 1: the records of `gone` were removed up to `floor`, those of `listed` were about to be, and
    /// the head names the record `acknowledged`.
    fn write(path: &Path, records: &[Record], floor: u64, gone: &[u64], listed: &[u64], acknowledged: u64) {
        let folder = Folder::create(path).unwrap();
        folder.complete().unwrap();
        fs::write(path.join("FORMAT"), "coracle store, format 1\n").unwrap();
        fs::remove_dir_all(folder.log()).unwrap();
        let (mut frames, mut crcs) = (Vec::new(), vec![0]);
        for record in records {
            let (frame, crc) = frame::encode(record, crcs[crcs.len() - 1], record.sequence - 1);
            frames.push((record.sequence, frame));
            crcs.push(crc);
        }
        let base = Base { compacted: floor as i64 + 1, sequence: floor };
        let all_gone: Vec<u64> = gone.iter().chain(listed).copied().collect();
        let floor = Floor::NONE.raised(base, crcs[floor as usize], &all_gone);
        frames.retain(|(number, _)| !gone.contains(number));
        sled_log::tests::write(&folder.log(), &floor, &frames, listed);
        let mut head = HeadFile::create(&folder.head()).unwrap();
        head.advance(acknowledged, acknowledged as i64 + 1, crcs[acknowledged as usize]).unwrap();
    }

    fn load(path: &Path) -> Result<(Base, Vec<Record>), Error> {
        let mut disk = Disk::open(path, Syncing::Always)?;
        let mut records = Vec::new();
        let base = disk.load(&mut |record| records.push(record))?;
        Ok((base, records))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_folder_in_the_old_format_opens_with_all_its_records(
            sizes in proptest::collection::vec(prop_oneof![0_usize..2000, 30_000_usize..80_000], 1..30),
            floor in any::<prop::sample::Index>(),
            fates in proptest::collection::vec(0_u8..3, 30),
            interrupted in any::<bool>(),
        ) {
            let whole = records(&sizes);
            let floor = floor.index(whole.len()) as u64;
            let of = |fate: u8| (1..=floor).filter(|number| fates[*number as usize] == fate).collect::<Vec<_>>();
            let (gone, listed) = (of(0), of(1));
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store");
            write(&path, &whole, floor, &gone, &listed, whole.len() as u64);
            if interrupted {
                // The new format is written, and the new log has not replaced the old one.
                fs::write(path.join("FORMAT"), "coracle store, format 2\n").unwrap();
                fs::create_dir(path.join("log.next")).unwrap();
            }
            let mut expected = whole;
            expected.retain(|record| !gone.contains(&record.sequence) && !listed.contains(&record.sequence));
            for _ in 0..2 {
                let (base, found) = load(&path).unwrap();
                prop_assert_eq!(base, Base { compacted: floor as i64 + 1, sequence: floor });
                prop_assert_eq!(&found, &expected);
                prop_assert!(!SledLog::is_at(&path.join("log")));
                prop_assert_eq!(fs::read_to_string(path.join("FORMAT")).unwrap(), "coracle store, format 2\n");
            }
        }
    }

    #[test]
    fn an_old_folder_that_lacks_an_acknowledged_record_is_refused_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let whole = records(&[10; 6]);
        write(&path, &whole, 0, &[], &[], 6);
        fs::remove_dir_all(path.join("log")).unwrap();
        sled_log::tests::write(&path.join("log"), &Floor::NONE, &[], &[]);
        assert!(matches!(load(&path), Err(Error::Corrupt(_))));
        assert_eq!(fs::read_to_string(path.join("FORMAT")).unwrap(), "coracle store, format 1\n");
        assert!(SledLog::is_at(&path.join("log")));
    }
}
