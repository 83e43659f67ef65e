use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;

use coracle_meta::ObjectKey;

use crate::Indexer;

/// Of so many objects of a kind the names are noted.
const NOTED: usize = 32;

/// What was read in caches: of each resource, up to which revision its cache held everything when it was read last, and which
/// objects were looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads(BTreeMap<String, Read>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Read {
    revision: i64,
    /// Each once, in the order in which they were looked at.
    looked_at: Vec<String>,
}

/// What is looked at in a cache.
#[derive(Clone, Copy)]
pub(crate) enum Look<'a> {
    /// Nothing of any object: how many there are, the values of an index.
    Around,
    /// One object, which may not be there.
    One(&'a ObjectKey),
    /// Those of a namespace.
    Namespace(&'a str),
    /// All.
    All,
}

tokio::task_local! {
    static READS: RefCell<Reads>;
}

/// Does `work`, and says what it has read in caches through a [`Lister`](crate::Lister), wherever it got that from.
pub async fn noting_reads<F: Future>(work: F) -> (F::Output, Reads) {
    let noting = async {
        let output = work.await;
        (output, READS.with(RefCell::take))
    };
    READS.scope(RefCell::default(), noting).await
}

/// Notes that a cache is read, if somebody wants to know.
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

/// Notes an object that was found by an index.
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
    // Nobody wants to know outside of `noting_reads`.
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
    /// Resource to the revision up to which its cache held everything.
    pub fn revisions(&self) -> BTreeMap<&str, i64> {
        self.0.iter().map(|(resource, read)| (resource.as_str(), read.revision)).collect()
    }

    /// Resource to what was looked at, in that order: the key of an object, `default/web`; `default/*` for all of a namespace, `*`
    /// for all. The first 32 of them.
    pub fn looked_at(&self) -> BTreeMap<&str, &[String]> {
        let looked = self.0.iter().filter(|(_, read)| !read.looked_at.is_empty());
        looked.map(|(resource, read)| (resource.as_str(), &*read.looked_at)).collect()
    }
}
