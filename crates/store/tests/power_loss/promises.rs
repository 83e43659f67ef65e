use std::collections::BTreeMap;
use std::path::Path;

use coracle_store::{Engine, KeyRange, RangeRequest, Store};

use crate::history::Entry;
use crate::writer;

/// What the writer was promised, and what it has asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promises {
    /// Of each key, up to where its writes were acknowledged.
    done: BTreeMap<String, u64>,
    /// Of each key, its newest write that was begun.
    begun: BTreeMap<String, u64>,
    revision: i64,
    compacted: Option<i64>,
    compacting: Option<i64>,
    lease: Option<i64>,
    acknowledged: u64,
    refused: bool,
    wrote_after_a_refusal: bool,
}

impl Promises {
    /// Nothing more is asked for by the process that has lost its power.
    pub(crate) fn begin_again(&mut self) {
        self.acknowledged = 0;
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn refused(&self) -> bool {
        self.refused
    }

    pub(crate) fn wrote_after_a_refusal(&self) -> bool {
        self.wrote_after_a_refusal
    }

    pub(crate) fn hear(&mut self, entry: &Entry) {
        let Entry::Said(line) = entry else { return };
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<i64>().unwrap();
        match words[..] {
            ["begin", key, count] => drop(self.begun.insert(key.to_owned(), count.parse().unwrap())),
            ["done", key, count, _] => {
                self.done.insert(key.to_owned(), count.parse().unwrap());
                self.revision = self.revision.max(number(3));
                self.acknowledged += 1;
                self.wrote_after_a_refusal |= self.refused;
            }
            ["compacting", _] => self.compacting = Some(number(1)),
            ["compacted", _] => self.compacted = Some(number(1)),
            ["leased", _] => self.lease = Some(number(1)),
            ["refused"] => self.refused = true,
            _ => panic!("the writer does not say {line:?}"),
        }
    }

    /// Opens a state of the disk and holds the store to what was promised; returns what it has as promises.
    ///
    /// # Errors
    /// Which promise was broken.
    pub(crate) fn check(&self, folder: &Path) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (engine, owner) = writer::open(folder).map_err(|error| format!("the store is refused: {error}"))?;
        let outcome = runtime.block_on(self.check_opened(&engine));
        engine.close();
        owner.join().unwrap();
        outcome
    }

    async fn check_opened(&self, engine: &Engine) -> Result<Self, String> {
        let (revision, compacted) = (engine.revision(), Some(engine.compacted()).filter(|compacted| *compacted >= 0));
        hold(revision >= self.revision, || format!("{revision} is before {}", self.revision))?;
        let right = compacted >= self.compacted && compacted <= self.compacting;
        hold(right, || format!("compacted at {compacted:?}, not {:?} to {:?}", self.compacted, self.compacting))?;
        let everything = KeyRange { start: "\0".into(), end: "\0".into() };
        let found = engine.range(RangeRequest { range: everything, ..RangeRequest::default() }).await.unwrap().kvs;
        let found: BTreeMap<String, &[u8]> =
            found.iter().map(|kv| (String::from_utf8_lossy(&kv.key).into_owned(), &kv.value[..])).collect();
        let mut counts = BTreeMap::new();
        for (key, begun) in &self.begun {
            let value = found.get(key).copied();
            let count = value.map_or(0, writer::count_in);
            let done = self.done.get(key).copied().unwrap_or(0);
            hold((done..=*begun).contains(&count), || format!("{key}: {done} acknowledged, {count} found"))?;
            let twin = found.get(&format!("twin/{key}")).copied();
            hold(value == twin, || format!("{key}: a transaction is not whole"))?;
            if let Some(value) = value {
                hold(value == writer::value(key, count), || format!("{key} has another value than was written"))?;
                counts.insert(key.clone(), count);
            }
        }
        hold(found.len() == 2 * counts.len(), || "there are keys that were not written".to_owned())?;
        let leases = engine.leases().await.unwrap();
        hold(self.lease.is_none_or(|lease| leases.contains(&lease)), || "the lease is gone".to_owned())?;
        let (done, begun) = (counts.clone(), counts);
        Ok(Self { done, begun, revision, compacted, compacting: compacted, lease: self.lease, ..Self::default() })
    }
}

fn hold(held: bool, broken: impl FnOnce() -> String) -> Result<(), String> {
    if held { Ok(()) } else { Err(broken()) }
}
