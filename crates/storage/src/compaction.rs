use std::sync::Arc;
use std::time::Duration;

use coracle_store::{
    Compare, CompareOperator, CompareTarget, Error, KeyRange, Operation, OperationResult, Revision, Store, Txn,
};

/// The key by which API servers agree on the one that compacts. Its version counts rounds. In Kubernetes:
/// `compactRevKey`.
const KEY: &str = "compact_rev_key";

/// The state of an API server's rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    /// The last known version of the key.
    number: i64,
    /// The newest revision at that time; 0 before the first round.
    revision: Revision,
}

/// Compacts an etcd that several API servers share: history is kept for one to two intervals. In each round the
/// server that writes the key first compacts. Runs until the future is dropped. In Kubernetes:
/// `storage/etcd3/compact.go`.
pub async fn compact_together(store: Arc<dyn Store>, interval: Duration) {
    let mut round = Round::default();
    loop {
        tokio::time::sleep(interval).await;
        // An unreachable store is retried in the next round.
        if let Ok(next) = compact(&*store, round).await {
            round = next;
        }
    }
}

async fn compact(store: &dyn Store, round: Round) -> Result<Round, Error> {
    let is_ours = Compare {
        range: KeyRange::key(KEY),
        operator: CompareOperator::Equal,
        target: CompareTarget::Version(round.number),
    };
    let txn = Txn {
        compare: vec![is_ours],
        success: vec![Operation::put(KEY, round.revision.to_string())],
        failure: vec![Operation::get(KEY)],
        cause: None,
    };
    let response = store.txn(txn).await?;
    let revision = response.revision;
    if !response.succeeded {
        let found = response.results.into_iter().find_map(|result| match result {
            OperationResult::Range(range) => range.kvs.into_iter().next(),
            _ => None,
        });
        return Ok(Round { number: found.map_or(0, |kv| kv.version), revision });
    }
    if round.revision > 0 {
        match store.compact(round.revision).await {
            Ok(()) | Err(Error::Compacted { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Round { number: round.number + 1, revision })
}

#[cfg(test)]
mod tests {
    use coracle_ambient::Ambient;
    use coracle_journal::Recorder;
    use coracle_store::{Engine, Options};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn of_several_one_compacts_in_each_round_up_to_where_the_round_before_was() {
        let store: Arc<dyn Store> = Arc::new(Engine::in_memory(Options::new(Ambient::seeded(1), Recorder::off())));
        let interval = Duration::from_secs(300);
        let compactors: Vec<_> = (0..3).map(|_| tokio::spawn(compact_together(Arc::clone(&store), interval))).collect();
        let put = || Txn { success: vec![Operation::put("a", "1")], ..Txn::default() };
        let mut before = 0;
        // A second behind the compactors: what is due at one moment has no order.
        tokio::time::sleep(Duration::from_secs(1)).await;
        for round in 1..6_i64 {
            for _ in 0..10 {
                store.txn(put()).await.unwrap();
            }
            tokio::time::sleep(interval).await;
            let status = store.status().await.unwrap();
            // Ten writes, and one that says whose round it was.
            assert_eq!(status.revision, 1 + 11 * round);
            assert_eq!(status.compacted, if round > 1 { before } else { -1 });
            before = status.revision;
        }
        compactors.into_iter().for_each(|compactor| compactor.abort());
    }
}
