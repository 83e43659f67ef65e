//! Where two runs part is where their files first differ, whatever is in them.

use std::time::Duration;

use coracle_journal::{Detail, Entry, EntryId, Events, Header, Recorder, Stage};
use coracle_viewer::{Act, Divergence, RunPair, differ};
use proptest::prelude::*;
use serde_json::json;

fn events(entries: Vec<Entry>) -> Events {
    let header = Header::new("2026-01-01T00:00:00Z").of_scenario("web", "sha256:ab").run("virtual", 7);
    Events { header, entries }
}

/// Entries as alike as possible: two drawn runs share much, and not all.
fn drawn() -> impl Strategy<Value = Events> {
    let one = (0..3_usize, 0..3_usize, 0..2_u64, prop::option::of(0..2_i64), 0..3_usize, 0..3_u64);
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let stages = [Stage::ApiRequest, Stage::StoreCommit, Stage::SyncEnd];
        let entries = all.into_iter().enumerate().map(|(place, (stage, actor, at, revision, about, word))| Entry {
            id: EntryId(place as u64 + 1),
            at: Duration::from_nanos(at),
            actor: ["store", "cm/replicaset", "scheduler"][actor].to_owned(),
            stage: stages[stage],
            subject: ["", "pods/default/a", "pods/default/b"][about].to_owned(),
            causes: if place > 0 && word > 0 { vec![EntryId(place as u64)] } else { Vec::new() },
            revision,
            data: json!({"user": "me", "patch": {"spec": {"replicas": word}}}).as_object().unwrap().clone(),
        });
        events(entries.collect())
    })
}

/// As the file has it.
fn line(entry: &Entry) -> String {
    serde_json::to_string(entry).unwrap()
}

fn count(events: &Events, what: Act) -> i64 {
    let stage = match what {
        Act::Requests => Stage::ApiRequest,
        Act::Writes => Stage::StoreCommit,
        Act::Syncs => Stage::SyncEnd,
    };
    i64::try_from(events.entries.iter().filter(|entry| entry.stage == stage).count()).unwrap()
}

proptest! {
    #[test]
    fn the_common_prefix_is_equal_byte_for_byte_and_the_next_entry_differs(one in drawn(), other in drawn()) {
        let divergence = Divergence::of(&one, &other);
        for (first, second) in one.entries.iter().zip(&other.entries).take(divergence.same) {
            prop_assert_eq!(line(first), line(second));
        }
        let (first, second) = (one.entries.get(divergence.same), other.entries.get(divergence.same));
        prop_assert_eq!(divergence.is_same(), first.is_none() && second.is_none());
        prop_assert_eq!(divergence.is_same(), one.entries == other.entries);
        let Some(parted) = divergence.first else { return Ok(()) };
        prop_assert_eq!((parted.one, parted.other), (first.map(|entry| entry.id), second.map(|entry| entry.id)));
        if let (Some(first), Some(second)) = (first, second) {
            prop_assert_ne!(line(first), line(second));
            prop_assert!(!parted.differences.is_empty(), "two lines differ and no word of them");
            prop_assert!(parted.differences.iter().all(|difference| difference.one != difference.other));
        }
    }

    #[test]
    fn a_run_equals_itself_and_swapped_runs_swap_the_text(one in drawn(), other in drawn()) {
        prop_assert!(Divergence::of(&one, &one).is_same());
        let (there, back) = (Divergence::of(&one, &other), Divergence::of(&other, &one));
        prop_assert_eq!(there.same, back.same);
        let turned: Vec<_> = back.counts.iter().map(|one| (one.what, &one.actor, one.other, one.one)).collect();
        prop_assert_eq!(there.counts.iter().map(|one| (one.what, &one.actor, one.one, one.other)).collect::<Vec<_>>(), turned);
    }

    #[test]
    fn the_counts_add_up_to_the_whole_difference(one in drawn(), other in drawn()) {
        let divergence = Divergence::of(&one, &other);
        for what in [Act::Requests, Act::Writes, Act::Syncs] {
            let counted = divergence.counts.iter().filter(|count| count.what == what);
            let counted: i64 = counted.map(|count| count.other as i64 - count.one as i64).sum();
            prop_assert_eq!(counted, count(&other, what) - count(&one, what));
        }
    }
}

/// A controller that wants this many and asks for them, after a start that is always the same.
fn run(wanted: usize, seed: u64) -> Events {
    let recorder = Recorder::ring(100);
    let say = |actor: &str, stage, detail: Detail| recorder.record(actor, stage, || detail).unwrap();
    let start = say("cm/replicaset", Stage::SyncStart, Detail::about("default/web"));
    for _ in 0..wanted {
        let write = Detail::about("default/web").caused_by([start]).with("verb", "create").with("audit", "a");
        let write = write.with("resource", "pods").with("name", "");
        let write = say("cm/replicaset", Stage::SyncWrite, write);
        let request = Detail::about("pods/default").caused_by([write]).with("user", "robot").with("verb", "create");
        let request = say("apiserver", Stage::ApiRequest, request);
        say(
            "store",
            Stage::StoreCommit,
            Detail::about("pods/default/a").at(2).caused_by([request]).with("op", "create"),
        );
    }
    say("cm/replicaset", Stage::SyncEnd, Detail::about("default/web").caused_by([start]).with("result", "done"));
    let mut entries = recorder.entries(EntryId(0));
    entries.iter_mut().for_each(|entry| entry.at = Duration::from_millis(entry.id.0));
    Events { header: Header::new("2026-01-01T00:00:00Z").run("virtual", seed), entries }
}

#[test]
fn a_comparison_names_the_event_its_text_its_causes_and_the_busier_actors() {
    let (one, other) = (run(1, 7), run(2, 7));
    let said = differ(&RunPair::of(&one, &other, ["first", "second"]));
    for line in [
        "the same up to #4: 4 events, byte for byte",
        "  first        #5        5.0 ms         cm/replicaset                      sync of default/web ends: done",
        "  second       #5        5.0 ms         cm/replicaset                      writes for default/web: create pods",
        "  stage     sync.end  sync.write",
        "why, second",
        "      #1        1.0 ms         cm/replicaset                      sync of default/web",
        "from there on              first second",
        "  requests  cm/replicaset      0      1",
        "  writes    cm/replicaset      0      1",
    ] {
        assert!(said.contains(line), "no `{line}` in\n{said}");
    }
}

#[test]
fn another_seed_is_reported_separately_from_event_differences() {
    let (one, other) = (run(1, 7), run(1, 8));
    assert!(Divergence::of(&one, &other).is_same());
    let said = differ(&RunPair::of(&one, &other, ["first", "second"]));
    assert!(said.starts_with("of the runs themselves\n        first  second\n  seed  7      8\n"), "{said}");
    assert!(said.ends_with("the same: 5 events, byte for byte\n"), "{said}");
}

#[test]
fn a_run_that_continues_after_the_end_of_the_other_is_reported() {
    let (one, mut other) = (run(1, 7), run(1, 7));
    other.entries.pop();
    let divergence = Divergence::of(&one, &other);
    let parted = divergence.first.clone().unwrap();
    assert_eq!((parted.one, parted.other), (Some(EntryId(5)), None));
    assert!(differ(&RunPair::of(&one, &other, ["first", "second"])).contains("  second ends here\n"));
}
