use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;

use coracle_meta::ObjectKey;

use crate::Indexer;

/// How many names of objects are noted for each resource.
const NOTED: usize = 32;

/// The reads of caches: for each resource, the revision of its cache at the last read, and the objects that were
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads(BTreeMap<String, Read>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Read {
    revision: i64,
    /// Without duplicates, in the order of the first read.
    looked_at: Vec<String>,
}

/// What is read from a cache.
#[derive(Clone, Copy)]
pub(crate) enum Look<'a> {
    /// No objects: their number, or the values of an index.
    Around,
    /// One object, which may not exist.
    One(&'a ObjectKey),
    /// Those in a namespace.
    Namespace(&'a str),
    /// All.
    All,
}

tokio::task_local! {
    static READS: RefCell<Reads>;
}

/// Runs `work`, and returns which caches it read through a [`Lister`](crate::Lister), wherever the lister came from.
pub async fn noting_reads<F: Future>(work: F) -> (F::Output, Reads) {
    let noting = async {
        let output = work.await;
        (output, READS.with(RefCell::take))
    };
    READS.scope(RefCell::default(), noting).await
}

/// Notes a read of a cache, inside of `noting_reads`.
pub(crate) fn note(resource: &str, indexer: &Indexer, look: Look<'_>) {
    with_read(resource, |read| {
        read.revision = indexer.revision();
        match look {
            Look::Around => {}
            Look::One(key) => read.look_at(key.to_string()),
            Look::Namespace(namespace) => read.look_at(format!("{namespace}/*")),
            Look::All => read.look_at("*".to_owned()),
        }
    });
}

/// Notes the objects that were found by an index.
pub(crate) fn found(resource: &str, keys: impl Iterator<Item = ObjectKey>) {
    with_read(resource, |read| {
        for key in keys {
            if read.looked_at.len() == NOTED {
                break;
            }
            read.look_at(key.to_string());
        }
    });
}

fn with_read(resource: &str, note: impl FnOnce(&mut Read)) {
    // Outside of `noting_reads` nothing is noted.
    let _ = READS.try_with(|reads| note(reads.borrow_mut().0.entry(resource.to_owned()).or_default()));
}

impl Read {
    fn look_at(&mut self, name: String) {
        if self.looked_at.len() < NOTED && !self.looked_at.contains(&name) {
            self.looked_at.push(name);
        }
    }
}

impl Reads {
    /// The revision of each resource's cache at its last read.
    pub fn revisions(&self) -> BTreeMap<&str, i64> {
        self.0.iter().map(|(resource, read)| (resource.as_str(), read.revision)).collect()
    }

    /// What was read of each resource, in that order: the key of an object, `default/web`; `default/*` for all of a
    /// namespace, `*` for all. Only the first 32 entries.
    pub fn looked_at(&self) -> BTreeMap<&str, &[String]> {
        let looked = self.0.iter().filter(|(_, read)| !read.looked_at.is_empty());
        looked.map(|(resource, read)| (resource.as_str(), &*read.looked_at)).collect()
    }
}
