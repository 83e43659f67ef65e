use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;

use crate::Indexer;

/// Which caches were read, by resource, and up to which revision each held everything when it was read last.
pub type Reads = BTreeMap<String, i64>;

tokio::task_local! {
    static READS: RefCell<Reads>;
}

/// Does `work`, and says which caches it has read through a [`Lister`](crate::Lister), wherever it got that from.
pub async fn noting_reads<F: Future>(work: F) -> (F::Output, Reads) {
    let noting = async {
        let output = work.await;
        (output, READS.with(RefCell::take))
    };
    READS.scope(RefCell::default(), noting).await
}

/// Notes that a cache is read, if somebody wants to know.
pub(crate) fn note(resource: &str, indexer: &Indexer) {
    // Nobody does outside of `noting_reads`.
    let _ = READS.try_with(|reads| {
        reads.borrow_mut().insert(resource.to_owned(), indexer.revision());
    });
}
