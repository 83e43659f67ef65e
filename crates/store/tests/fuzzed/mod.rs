//! What the targets of `fuzz` do with their bytes, and the tests with those of `fuzz/corpus`.
#![allow(clippy::allow_attributes, dead_code, reason = "each target uses one of these")]

use std::path::Path;

use coracle_ambient::Ambient;
use coracle_journal::Recorder;
use coracle_store::disk::{self, Disk, Syncing};
use coracle_store::{
    Compare, CompareOperator, CompareTarget, Engine, Error, KeyRange, Operation, OperationResult, Options,
    RangeRequest, Store, Txn,
};

const FORMAT_LINE: &[u8] = b"coracle backup, format 1\n";
const FLOOR_BYTES: usize = 36;
const CRC_BYTES: usize = 4;
/// Where a frame says which record came before, and its own number.
const PREVIOUS: std::ops::Range<usize> = 5..9;
const SEQUENCE: std::ops::Range<usize> = 9..17;

/// Reads a backup: as it is, with right checksums, and with records that follow each other. No fuzzer guesses these.
pub(crate) fn backup(bytes: &[u8]) {
    let name = Path::new("fuzzed");
    let _ = disk::check_backup(bytes, name);
    for chained in [false, true] {
        let _ = disk::check_backup(&sealed(bytes, chained)[..], name);
    }
}

fn sealed(bytes: &[u8], chained: bool) -> Vec<u8> {
    let mut rest = bytes.strip_prefix(FORMAT_LINE).unwrap_or(bytes);
    let mut take = |length: usize| {
        let (taken, left) = rest.split_at(length.min(rest.len()));
        rest = left;
        taken.to_vec()
    };
    let mut floor = take(FLOOR_BYTES);
    floor.resize(FLOOR_BYTES, 0);
    take(CRC_BYTES);
    let mut out = [FORMAT_LINE, &floor, &crc32c::crc32c(&floor).to_le_bytes()].concat();
    let (mut sequence, mut previous) = (u64::from_le_bytes(floor[8..16].try_into().unwrap()), floor[16..20].to_vec());
    loop {
        let length = take(4).try_into().map_or(0, u32::from_le_bytes);
        let mut frame = take(length as usize);
        if frame.len() < SEQUENCE.end {
            break;
        }
        sequence = sequence.wrapping_add(1);
        if chained {
            frame[PREVIOUS].copy_from_slice(&previous);
            frame[SEQUENCE].copy_from_slice(&sequence.to_le_bytes());
        }
        previous = crc32c::crc32c(&frame[CRC_BYTES..]).to_le_bytes().to_vec();
        frame[..CRC_BYTES].copy_from_slice(&previous);
        out.extend((frame.len() as u32).to_le_bytes());
        out.extend(frame);
    }
    out.extend(0_u32.to_le_bytes());
    let crc = crc32c::crc32c(&out);
    out.extend(crc.to_le_bytes());
    out
}

/// Opens an empty store whose head is these bytes: it opens at revision 1, or is refused.
pub(crate) fn head(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    drop(Disk::open(folder.path(), Syncing::Never).unwrap());
    std::fs::write(folder.path().join("head"), bytes).unwrap();
    let opened = Disk::open(folder.path(), Syncing::Never)
        .and_then(|disk| Engine::open(Box::new(disk), Options::new(Ambient::seeded(1), Recorder::off())));
    match opened {
        Ok((engine, _)) => assert_eq!(engine.revision(), 1),
        Err(error) => assert!(matches!(error, Error::Corrupt(_) | Error::Unavailable(_)), "{error}"),
    }
}

/// Opens an empty store whose only segment is these bytes: as they are, with right checksums, and with records that
/// follow each other.
pub(crate) fn segment(bytes: &[u8]) {
    const NAME: &str = "log/00000000000000000001";
    opens_the_same_or_is_refused(NAME, bytes);
    for chained in [false, true] {
        opens_the_same_or_is_refused(NAME, &sealed_segment(bytes, chained));
    }
}

/// Opens an empty store whose floor is these bytes: as they are, and with right checksums.
pub(crate) fn floor(bytes: &[u8]) {
    const NAME: &str = "log/floor";
    opens_the_same_or_is_refused(NAME, bytes);
    let (floor, rest) = bytes.split_at(FLOOR_BYTES.min(bytes.len()));
    let numbers = &rest[rest.len().min(CRC_BYTES)..rest.len().saturating_sub(CRC_BYTES).max(rest.len().min(CRC_BYTES))];
    let mut sealed = [floor, &crc32c::crc32c(floor).to_le_bytes(), numbers].concat();
    sealed.extend(crc32c::crc32c(&sealed).to_le_bytes());
    opens_the_same_or_is_refused(NAME, &sealed);
}

fn opens_the_same_or_is_refused(name: &str, bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    drop(Disk::open(folder.path(), Syncing::Never).unwrap());
    std::fs::write(folder.path().join(name), bytes).unwrap();
    match disk::check(folder.path()) {
        Ok(report) => assert_eq!(disk::check(folder.path()), Ok(report), "opening it changes nothing that is read"),
        Err(Error::Corrupt(why)) => assert!(why.contains(&folder.path().display().to_string()), "{why}"),
        Err(other) => panic!("{other}"),
    }
}

fn sealed_segment(bytes: &[u8], chained: bool) -> Vec<u8> {
    const SEGMENT: u64 = 1;
    let (mut out, mut rest): (Vec<u8>, _) = (Vec::new(), bytes);
    let (mut number, mut previous) = (0_u64, vec![0; CRC_BYTES]);
    while let Some((header, after)) = rest.split_first_chunk::<16>() {
        let length = (u32::from_le_bytes(header[..4].try_into().unwrap()) as usize).min(after.len());
        let (frame, after) = after.split_at(length);
        rest = after;
        let mut frame = frame.to_vec();
        number = if chained { number + 1 } else { u64::from_le_bytes(header[4..12].try_into().unwrap()) };
        if chained && frame.len() >= SEQUENCE.end {
            frame[PREVIOUS].copy_from_slice(&previous);
            frame[SEQUENCE].copy_from_slice(&number.to_le_bytes());
        }
        if frame.len() >= CRC_BYTES {
            previous = crc32c::crc32c(&frame[CRC_BYTES..]).to_le_bytes().to_vec();
            frame[..CRC_BYTES].copy_from_slice(&previous);
        }
        let header = [&(frame.len() as u32).to_le_bytes()[..], &number.to_le_bytes()].concat();
        let place = out.len() as u64;
        let checked = [&header[..], &SEGMENT.to_le_bytes(), &place.to_le_bytes()].concat();
        out.extend(&header);
        out.extend(crc32c::crc32c(&checked).to_le_bytes());
        out.extend(&frame);
    }
    out
}

/// Performs transactions that the bytes describe, with compactions and reads of the past between them.
pub(crate) fn transactions(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(perform(&mut Script(bytes)));
}

async fn perform(script: &mut Script<'_>) {
    let engine = Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off()));
    while !script.0.is_empty() {
        let before = engine.revision();
        match script.below(8) {
            0 => drop(engine.compact(script.number()).await),
            1 => {
                let request = script.range();
                let (limit, counts) = (request.limit, request.count_only);
                if let Ok(response) = engine.range(request).await {
                    assert!(response.kvs.len() as i64 <= response.count, "no more keys than are counted");
                    assert!(limit <= 0 || counts || response.kvs.len() as i64 <= limit);
                    assert_eq!(response.revision, before);
                }
            }
            2 => drop(engine.lease_grant(script.number(), script.number()).await),
            3 => drop(engine.lease_revoke(script.number()).await),
            _ => {
                let txn = script.txn(2);
                if let Ok(response) = engine.txn(txn).await {
                    let changed = response.results.iter().any(changes);
                    assert_eq!(response.revision, before + i64::from(changed), "a change makes exactly one revision");
                }
            }
        }
        assert!((before..=before + 1).contains(&engine.revision()));
    }
    let (hash, status) = (engine.history_hash(0).await.unwrap(), engine.status().await.unwrap());
    assert_eq!((hash.revision, hash.compacted), (status.revision, status.compacted));
}

fn changes(result: &OperationResult) -> bool {
    match result {
        OperationResult::Put { .. } => true,
        OperationResult::Delete { deleted, .. } => *deleted > 0,
        OperationResult::Txn(inner) => inner.results.iter().any(changes),
        OperationResult::Range(_) => false,
    }
}

/// Reads requests out of bytes; when they end, everything is zero.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    /// Mostly a small one.
    fn number(&mut self) -> i64 {
        match self.byte() {
            255 => i64::MAX,
            254 => i64::MIN,
            253 => -1,
            small => i64::from(small % 64),
        }
    }

    fn key(&mut self) -> Vec<u8> {
        let length = self.below(4);
        (0..length).map(|_| b'a' + self.below(3)).collect()
    }

    fn key_range(&mut self) -> KeyRange {
        let start = self.key();
        let end = match self.below(4) {
            0 | 1 => Vec::new(),
            2 => vec![0],
            _ => self.key(),
        };
        KeyRange { start: start.into(), end: end.into() }
    }

    fn range(&mut self) -> RangeRequest {
        RangeRequest {
            range: self.key_range(),
            revision: self.number(),
            limit: self.number(),
            keys_only: self.below(2) == 1,
            count_only: self.below(4) == 1,
            min_mod_revision: self.number(),
            max_create_revision: self.number(),
            ..RangeRequest::default()
        }
    }

    fn txn(&mut self, depth: u8) -> Txn {
        let compare = (0..self.below(3)).map(|_| self.compare()).collect();
        let success = (0..self.below(5)).map(|_| self.operation(depth)).collect();
        let failure = (0..self.below(3)).map(|_| self.operation(depth)).collect();
        Txn { compare, success, failure, cause: None }
    }

    fn compare(&mut self) -> Compare {
        let operator = match self.below(4) {
            0 => CompareOperator::Equal,
            1 => CompareOperator::NotEqual,
            2 => CompareOperator::Less,
            _ => CompareOperator::Greater,
        };
        let target = match self.below(5) {
            0 => CompareTarget::Value(self.key().into()),
            1 => CompareTarget::Version(self.number()),
            2 => CompareTarget::Create(self.number()),
            3 => CompareTarget::Mod(self.number()),
            _ => CompareTarget::Lease(self.number()),
        };
        Compare { range: self.key_range(), operator, target }
    }

    fn operation(&mut self, depth: u8) -> Operation {
        match self.below(6) {
            0 => Operation::Range(self.range()),
            1 => Operation::Delete { range: self.key_range(), prev_kv: self.below(2) == 1 },
            2 if depth > 0 => Operation::Txn(Box::new(self.txn(depth - 1))),
            _ => Operation::Put {
                key: self.key().into(),
                value: self.key().into(),
                lease: self.number() % 4,
                prev_kv: self.below(2) == 1,
                ignore_value: self.below(8) == 1,
                ignore_lease: self.below(8) == 1,
            },
        }
    }
}
