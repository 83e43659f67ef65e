//! Bad input: what fuzzing has collected, and valid input with something changed. Nothing panics.
#![cfg(feature = "sled")]

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
    corpus("backup").iter().for_each(|bytes| fuzzed::backup(bytes));
    corpus("head").iter().for_each(|bytes| fuzzed::head(bytes));
    corpus("segment").iter().for_each(|bytes| fuzzed::segment(bytes));
    corpus("floor").iter().for_each(|bytes| fuzzed::floor(bytes));
    corpus("transactions").iter().for_each(|bytes| fuzzed::transactions(bytes));
}

/// Something of `corpus`, changed in a few places, and cut or made longer.
fn changed(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let edits = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..6);
    (prop::sample::select(corpus(target)), edits).prop_map(|(mut bytes, edits)| {
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len() + 1);
            match edit {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => bytes.push(byte),
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn a_changed_backup_is_whole_or_refused(bytes in changed("backup")) {
        fuzzed::backup(&bytes);
    }

    #[test]
    fn changed_transactions_keep_the_rules_of_the_store(bytes in changed("transactions")) {
        fuzzed::transactions(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_changed_head_opens_an_empty_store_or_is_refused(bytes in changed("head")) {
        fuzzed::head(&bytes);
    }

    #[test]
    fn a_changed_segment_opens_or_is_refused(bytes in changed("segment")) {
        fuzzed::segment(&bytes);
    }

    #[test]
    fn a_changed_floor_opens_or_is_refused(bytes in changed("floor")) {
        fuzzed::floor(&bytes);
    }
}
