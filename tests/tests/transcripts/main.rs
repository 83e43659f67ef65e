//! What the API answers, word by word: the transcripts in `tests/golden` are replayed and compared.
//!
//! ```text
//! tests/golden/pods.http --transcript--> requests --replay--> a fresh server in virtual time
//!                        <--difference-- answers  <--page---- bodies as YAML, uids and revisions as symbols
//! ```
//! Start at [`replay`]. `make transcripts` writes the answers anew; what changed is then read in review.
//! Not here: what a rule is for; that is said and tested where the rule stands.

mod difference;
mod exchange;
mod messages;
mod ordered;
mod page;
mod properties;
mod replay;
mod transcript;

use std::path::{Path, PathBuf};

use coracle::meta::Scope;
use coracle_schema::{ResourceRow, Table};
use transcript::Transcript;

/// Set to anything, the answers are written instead of compared.
const WRITE: &str = "CORACLE_WRITE_TRANSCRIPTS";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "http")).collect();
    files.sort();
    files
}

/// Replays a file; the difference if there is one, unless it is written.
fn check(path: &Path) -> Option<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).unwrap();
    let before = Transcript::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let after = replay::replay(&before).unwrap_or_else(|error| panic!("{name}: {error}"));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, after.to_string()).unwrap();
        return None;
    }
    difference::between(&before, &after).map(|difference| format!("{name}\n{difference}"))
}

#[test]
fn every_answer_is_the_one_in_the_transcript() {
    let files = files();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut differences: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let turn = || files.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            std::iter::from_fn(turn).filter_map(|path| check(path)).collect::<Vec<_>>()
        };
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    differences.sort();
    assert!(
        differences.is_empty(),
        "answers differ (-: in the transcript, +: given). If they should, `make transcripts` writes them anew.\n\n{}",
        differences.join("\n")
    );
}

/// Where objects of a kind are created, in the namespace `default`.
fn collection(row: &ResourceRow) -> String {
    let root = if row.kind.group.is_empty() { "/api" } else { "/apis" };
    let namespace = if row.scope == Scope::Namespaced { "/namespaces/default" } else { "" };
    format!("{root}/{}{namespace}/{}", row.kind.api_version(), row.plural)
}

#[test]
fn every_kind_is_created_in_a_transcript() {
    let texts = files().into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let transcripts: Vec<_> = texts.map(|text| Transcript::read(&text).unwrap()).collect();
    let created = |row: &ResourceRow| {
        let line = format!("POST {}", collection(row));
        let mut exchanges = transcripts.iter().flat_map(|transcript| &transcript.exchanges);
        exchanges.any(|exchange| {
            exchange.answer.starts_with("HTTP/1.1 201") && exchange.request.lines().any(|own| own == line)
        })
    };
    let kinds = Table::newest().resources().iter().filter(|row| row.verbs.iter().any(|verb| verb == "create"));
    let missing: Vec<_> = kinds.filter(|row| !created(row)).map(collection).collect();
    assert!(missing.is_empty(), "no transcript creates {missing:?}");
}
