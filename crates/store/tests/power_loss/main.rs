//! The power goes at any moment, and the store is opened again; or its writes and syncs fail.
//!
//! ```text
//! writer (a process) --files, with recorder.c preloaded--> History --cut anywhere--> Platter --states--> opened, judged
//! ```
//! Killing a process says nothing of a loss of power, because what the kernel holds survives it. Here every write, sync
//! and rename is recorded below the store, and the states are made that a disk may be in when the power goes: only what was
//! synced; everything up to there with the last write torn; and any sectors of what was not synced.
//! `CORACLE_POWER_LOSSES` sets how many states are opened, `CORACLE_FAULTS` how many times a write or sync fails.
#![cfg(all(feature = "sled", target_os = "linux"))]

mod history;
mod platter;
mod promises;
mod writer;

use std::path::{Path, PathBuf};

use coracle_ambient::Random;
use history::{Entry, History, Recorder, Trouble};
use platter::{Loss, Platter};
use promises::Promises;

/// About how much a store does until it is open.
const OPENING: u64 = 60;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A folder in memory where there is one: thousands of states are written, and no disk is asked to keep them.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// Where the power may go: everywhere alike, right after something was acknowledged, and while the store is opened.
fn cuts(history: &History, count: u64, random: &Random) -> Vec<usize> {
    let told: Vec<usize> = (0..history.entries.len())
        .filter(|at| matches!(&history.entries[*at], Entry::Said(line) if line.starts_with("done")))
        .collect();
    let mut cuts: Vec<usize> = (0..count)
        .map(|number| match (number % 4, told.is_empty()) {
            (0, false) => told[random.below(told.len() as u64) as usize] + 1,
            (1, _) => random.below(OPENING.min(history.entries.len() as u64)) as usize,
            _ => random.below(history.entries.len() as u64 + 1) as usize,
        })
        .collect();
    cuts.sort_unstable();
    cuts
}

/// What became of the states of a history.
struct Outcome {
    /// One of them for the writer to go on from, with what has to be there.
    chosen: Option<(tempfile::TempDir, Promises)>,
    /// Which promises were broken, and when.
    broken: Vec<String>,
}

/// Opens `count` states of a history.
fn lose_power(mut platter: Platter, mut promises: Promises, history: &History, count: u64, random: &Random) -> Outcome {
    let mut next = 0;
    let mut outcome = Outcome { chosen: None, broken: Vec::new() };
    let keep = random.below(count);
    for (number, cut) in (0..).zip(cuts(history, count, random)) {
        for entry in &history.entries[next..cut] {
            platter.apply(entry, random);
            promises.hear(entry);
        }
        next = cut;
        let loss = [Loss::OnlySynced, Loss::TornAtTheEnd, Loss::AnySectors][number as usize % 3];
        let state = platter.after(loss, random);
        let folder = scratch();
        state.write(folder.path());
        match promises.check(folder.path()) {
            Ok(kept) if number == keep => {
                let folder = scratch();
                state.write(folder.path());
                outcome.chosen = Some((folder, kept));
            }
            Ok(_) => {}
            Err(why) => outcome.broken.push(format!("{loss:?} after entry {cut} of {}: {why}", history.entries.len())),
        }
    }
    outcome
}

#[test]
fn nothing_acknowledged_is_lost_and_no_store_is_refused_when_the_power_goes() {
    let Some(recorder) = Recorder::build() else { return };
    let states = number("CORACLE_POWER_LOSSES", 180);
    let rounds = (states / 60).max(1);
    let random = Random::from_seed(number("CORACLE_SEED", 11));
    let (mut folder, mut promises) = (scratch(), Promises::default());
    for round in 0..rounds {
        let platter = Platter::load(folder.path());
        let history = recorder.run(folder.path(), random.bits(), Trouble::None);
        promises.begin_again();
        let mut heard = promises.clone();
        history.entries.iter().for_each(|entry| heard.hear(entry));
        assert!(heard.acknowledged() > 50, "round {round}: the writer wrote");
        let Outcome { chosen, broken } = lose_power(platter, promises, &history, states / rounds, &random);
        assert!(broken.is_empty(), "round {round}: {}", broken.join("\n"));
        (folder, promises) = chosen.expect("no state was refused");
    }
}

#[test]
fn a_write_or_sync_that_fails_loses_nothing_acknowledged_also_when_the_power_goes_later() {
    let Some(recorder) = Recorder::build() else { return };
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    let random = Random::from_seed(number("CORACLE_SEED", 12));
    for run in 0..number("CORACLE_FAULTS", 6) {
        let first = random.below(300);
        let fault = match run % 3 {
            0 => format!("sync {EIO} {first} 1"),
            1 => format!("write {EIO} {first} 1"),
            _ => format!("write {ENOSPC} {first} {}", 1 + random.below(30)),
        };
        let folder = scratch();
        let platter = Platter::load(folder.path());
        let history = recorder.run(folder.path(), random.bits(), Trouble::Fault(&fault));
        let promises = Promises::default();
        let mut heard = promises.clone();
        history.entries.iter().for_each(|entry| heard.hear(entry));
        assert!(heard.wrote_after_a_refusal() || !heard.refused(), "{fault}: the store takes writes again");
        let broken = lose_power(platter, promises, &history, 9, &random).broken;
        assert!(broken.is_empty(), "{fault}: {}", broken.join("\n"));
    }
}

#[test]
fn a_store_that_does_not_sync_is_seen_to_lose_what_it_acknowledged() {
    let Some(recorder) = Recorder::build() else { return };
    let random = Random::from_seed(13);
    let folder = scratch();
    let platter = Platter::load(folder.path());
    let history = recorder.run(folder.path(), random.bits(), Trouble::NoSyncs);
    assert!(!lose_power(platter, Promises::default(), &history, 12, &random).broken.is_empty());
}

fn path_of(name: &str, folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(name);
    path.into()
}
