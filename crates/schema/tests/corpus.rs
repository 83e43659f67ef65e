//! Bad input: what fuzzing has collected, and valid input with something changed. Nothing panics, and what is taken is
//! taken the same way twice.

mod fuzzed;

use std::path::{Path, PathBuf};

use proptest::prelude::*;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there is a corpus for {target}");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn what_fuzzing_has_collected_is_answered_or_refused() {
    corpus("bodies").iter().for_each(|bytes| fuzzed::body(bytes));
    corpus("patches").iter().for_each(|bytes| fuzzed::patch(bytes));
    corpus("applies").iter().for_each(|bytes| fuzzed::apply(bytes));
    corpus("selectors").iter().for_each(|bytes| fuzzed::selectors(bytes));
}

/// Words that change more of a document than a byte does.
const WORDS: [&[u8]; 16] = [
    b"null",
    b"{}",
    b"[]",
    b"\"\"",
    b"-1",
    b"1.0",
    b"1e9",
    b"true",
    b"$patch",
    b"$retainKeys",
    b"delete",
    b"metadata",
    b"spec",
    b"name",
    b"\\u0000",
    b"99999999999999999999",
];

/// Something of `corpus`, changed in a few places, and cut or made longer.
fn changed(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..6), 0..6);
    (prop::sample::select(corpus(target)), edits).prop_map(|(mut bytes, edits)| {
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len() + 1);
            match edit {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 | 3 => drop(bytes.splice(at..at, WORDS[usize::from(byte) % WORDS.len()].iter().copied())),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => bytes.push(byte),
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn a_changed_body_is_stored_the_same_twice_or_refused(bytes in changed("bodies")) {
        fuzzed::body(&bytes);
    }

    #[test]
    fn a_changed_patch_applies_or_is_refused(bytes in changed("patches")) {
        fuzzed::patch(&bytes);
    }

    #[test]
    fn a_changed_configuration_is_applied_once_or_refused(bytes in changed("applies")) {
        fuzzed::apply(&bytes);
    }

    #[test]
    fn a_changed_selector_prints_as_it_is_read_or_is_refused(bytes in changed("selectors")) {
        fuzzed::selectors(&bytes);
    }
}
