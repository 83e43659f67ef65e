//! What is written is read back; what is cut, foreign, newer or broken is refused with its line and what was expected.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use coracle_journal::{Detail, EntryId, Error, Events, Header, Recorder, Stage};
use proptest::prelude::*;
use serde_json::json;

struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("coracle-journal-{}-{number}-{name}", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn header() -> Header {
    Header::new("2026-01-01T00:00:00Z").of_scenario("web", "sha256:ab").run("virtual", 7)
}

fn write(file: &File) -> Recorder {
    let recorder = Recorder::file(&file.0, 100, &header()).unwrap();
    let ask =
        recorder.record("apiserver", Stage::ApiRequest, || Detail::about("pods/default/a\n\u{202e}").with("verb", "x"));
    for revision in 2..40 {
        recorder
            .record("store", Stage::StoreCommit, || Detail::default().at(revision).caused_by(ask).with("op", "put"));
    }
    recorder.close().unwrap();
    recorder.record("late", Stage::SyncEnd, Detail::default);
    recorder
}

fn text() -> Vec<u8> {
    let file = File::new("text.jsonl");
    write(&file);
    std::fs::read(&file.0).unwrap()
}

fn refused(text: &[u8]) -> String {
    Events::read_from("f.jsonl", text).unwrap_err().to_string()
}

/// Some entries in the middle are of stages that this program does not know.
fn lines(entries: &[serde_json::Value]) -> Vec<u8> {
    let mut all = vec![serde_json::to_value(header()).unwrap()];
    all.extend(entries.iter().cloned());
    all.push(json!({"end": entries.last().map_or(json!(0), |entry| entry["i"].clone())}));
    all.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[test]
fn a_file_reads_back_as_it_was_recorded_compressed_or_not() {
    let (plain, small) = (File::new("a.jsonl"), File::new("a.jsonl.gz"));
    let recorder = write(&plain);
    write(&small);
    let read = Events::read(&plain.0).unwrap();
    assert_eq!(read.header, header());
    let mut kept = recorder.entries(EntryId(0));
    assert_eq!(kept.pop().unwrap().actor, "late", "after the end, only memory is written to");
    assert_eq!(read.entries, kept);
    let unpacked = Events::read(&small.0).unwrap();
    assert_eq!((unpacked.header, unpacked.entries.len()), (read.header, read.entries.len()));
    assert!(std::fs::metadata(&small.0).unwrap().len() < std::fs::metadata(&plain.0).unwrap().len() / 3);
}

#[test]
fn wherever_a_file_is_cut_it_is_refused_with_the_line() {
    let whole = text();
    for end in 0..whole.len() {
        let error = Events::read_from("f.jsonl", &whole[..end]).unwrap_err();
        let line = whole[..end].iter().filter(|byte| **byte == b'\n').count() + 1;
        match error {
            Error::Cut { line: found, .. } => assert_eq!(found, line),
            Error::Foreign { .. } => assert_eq!(line, 1),
            other => panic!("{other}"),
        }
    }
    assert!(refused(&whole[..whole.len() - 1]).contains("line 41: it is cut here; expected {\"end\":…}"));
}

#[test]
fn a_compressed_file_that_is_cut_is_refused_as_well() {
    let file = File::new("cut.jsonl.gz");
    write(&file);
    let (whole, read) = (std::fs::read(&file.0).unwrap(), Events::read(&file.0).unwrap());
    std::fs::write(&file.0, &whole[..whole.len() - 12]).unwrap();
    assert!(matches!(Events::read(&file.0), Err(Error::Cut { line: 2.., .. })));
    let (before, cut) = Events::read_as_far_as_it_goes(&file.0).unwrap();
    assert!(matches!(cut, Some(Error::Cut { line, .. }) if line == before.entries.len() + 2));
    assert_eq!(before.entries, read.entries[..before.entries.len()], "what came before is there");
    std::fs::write(&file.0, "no gzip").unwrap();
    assert!(matches!(Events::read(&file.0), Err(Error::Foreign { .. })), "{:?}", Events::read(&file.0));
}

#[test]
fn a_foreign_and_a_newer_file_are_refused_by_their_first_line() {
    for foreign in [
        "",
        "\n",
        "hello\n",
        "{\"log\":\"other\",\"schema\":1}\n",
        "\u{0}\u{1}",
        "{\"i\":1,\"t\":0,\"a\":\"x\",\"s\":\"sync.end\"}\n",
    ] {
        let said = refused(foreign.as_bytes());
        assert!(said.contains("f.jsonl, line 1: expected {\"log\":\"coracle\",\"schema\":1"), "{said}");
    }
    let said = refused(b"{\"log\":\"coracle\",\"schema\":2,\"version\":\"9.0.0\"}\n{\"what\":1}\n");
    assert_eq!(said, "events file f.jsonl, line 1: expected schema 1, found 2, written by coracle 9.0.0");
}

#[test]
fn unknown_stages_and_words_are_passed_over_and_hand_their_causes_on() {
    let file = lines(&[
        json!({"i": 1, "t": 0, "a": "x", "s": "sync.start", "future": [1]}),
        json!({"i": 2, "t": 5, "a": "x", "s": "cache.hold", "c": [1]}),
        json!({"i": 3, "t": 5, "a": "x", "s": "cache.lose", "c": [2]}),
        json!({"i": 4, "t": 9, "a": "x", "s": "sync.end", "c": [1, 3], "d": {"mood": "good"}}),
    ]);
    let read = Events::read_from("f.jsonl", &*file).unwrap();
    assert_eq!(read.entries.iter().map(|entry| entry.id.0).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(read.entries[1].causes, [EntryId(1)]);
}

#[test]
fn entries_out_of_order_and_causes_from_the_future_are_refused_with_their_line() {
    let entry = |i: u64, c: &[u64]| json!({"i": i, "t": 0, "a": "x", "s": "sync.end", "c": c});
    assert!(refused(&lines(&[entry(2, &[]), entry(2, &[])])).contains("line 3: expected an entry: 2 comes after 2"));
    assert!(refused(&lines(&[entry(2, &[2])])).contains("line 2: expected an entry: 2 is caused by 2"));
    let mut short = lines(&[entry(1, &[])]);
    short.truncate(short.len() - b"{\"end\":1}\n".len());
    writeln!(short, "{{\"end\":4}}").unwrap();
    assert!(refused(&short).contains("line 3: expected an entry: the last one is 1, and 4 were written"));
    assert!(refused(&lines(&[json!({"i": 1})])).contains("line 2: expected an entry: missing field"));
}

#[test]
fn the_log_is_followed_from_where_one_stopped_and_entries_take_little_memory() {
    let recorder = Recorder::ring(5_000);
    let mut seen = Vec::new();
    for number in 0..20_000_u64 {
        let subject = format!("pods/default/web-{}", number % 300);
        recorder.record("controller-manager/replicaset", Stage::QueueGet, || {
            Detail::about(subject).caused_by([EntryId(number)]).with("queue", "replicaset").with("waitedNanos", number)
        });
        if number % 3_000 == 0 {
            let from = seen.last().map_or(EntryId(0), |last: &EntryId| EntryId(last.0 + 1));
            seen.extend(recorder.entries(from).iter().map(|entry| entry.id));
        }
    }
    assert_eq!(seen, (1..=18_001).map(EntryId).collect::<Vec<_>>());
    assert_eq!(recorder.entries(EntryId(0)).len(), 5_000);
    assert!(recorder.held_bytes() < 5_000 * 120, "{} bytes an entry", recorder.held_bytes() / 5_000);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(tail in proptest::collection::vec(any::<u8>(), 0..200), at in 0..2_000_usize) {
        let mut bytes = text();
        let at = at.min(bytes.len());
        bytes.splice(at..(at + tail.len()).min(bytes.len()), tail);
        if let Ok(read) = Events::read_from("f.jsonl", &*bytes) {
            prop_assert!(read.entries.is_sorted_by_key(|entry| entry.id));
        }
    }
}

#[test]
fn a_file_on_a_full_disk_ends_with_the_error_and_the_log_continues_in_memory() {
    let recorder =
        Recorder::file(std::path::Path::new("/dev/full"), 10, &Header::new("2026-01-01T00:00:00Z".to_owned())).unwrap();
    recorder.record("a", Stage::SyncStart, || Detail::about("b"));
    recorder.flush();
    let why = "No space left on device (os error 28)";
    assert_eq!(recorder.failure().as_deref(), Some(why));
    recorder.record("a", Stage::SyncEnd, || Detail::about("b"));
    assert_eq!(recorder.entries(EntryId(0)).len(), 2);
    assert_eq!(recorder.close().unwrap_err().to_string(), why);
    assert_eq!(Recorder::off().failure(), None);
}
