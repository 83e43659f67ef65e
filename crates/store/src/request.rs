//! Validates requests, independently of the store's data. In Kubernetes: etcd's `v3rpc/key.go`.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::{Error, KeyRange, Operation, RangeRequest, Txn};

/// The limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of keys and values in one transaction. In etcd: `--max-request-bytes`.
    pub request_bytes: usize,
    /// Operations in one branch of a transaction. In etcd: `--max-txn-ops`.
    pub txn_operations: usize,
}

impl Default for Limits {
    /// etcd's: 1.5 MiB and 128 operations.
    fn default() -> Self {
        Self { request_bytes: 3 * 512 * 1024, txn_operations: 128 }
    }
}

const EMPTY_KEY: Error = Error::Invalid("etcdserver: key is not provided");
const DUPLICATE_KEY: Error = Error::Invalid("etcdserver: duplicate key given in txn request");
const TOO_MANY_OPERATIONS: Error = Error::Invalid("etcdserver: too many operations in txn request");
const VALUE_PROVIDED: Error = Error::Invalid("etcdserver: value is provided");
const LEASE_PROVIDED: Error = Error::Invalid("etcdserver: lease is provided");

/// Checks a range.
pub(crate) fn check_range(request: &RangeRequest) -> Result<(), Error> {
    check_key(&request.range.start)
}

/// Checks a transaction: sizes, keys, and that no key is written twice.
pub(crate) fn check_txn(txn: &Txn, limits: Limits) -> Result<(), Error> {
    check_operations(txn, limits.txn_operations)?;
    for branch in [&txn.success, &txn.failure] {
        Written::of(branch)?;
    }
    if size(txn) > limits.request_bytes { Err(Error::TooLarge) } else { Ok(()) }
}

fn check_key(key: &[u8]) -> Result<(), Error> {
    if key.is_empty() { Err(EMPTY_KEY) } else { Ok(()) }
}

fn check_operations(txn: &Txn, allowed: usize) -> Result<(), Error> {
    let most = txn.compare.len().max(txn.success.len()).max(txn.failure.len());
    let left = allowed.checked_sub(most).ok_or(TOO_MANY_OPERATIONS)?;
    for compare in &txn.compare {
        check_key(&compare.range.start)?;
    }
    for operation in txn.success.iter().chain(&txn.failure) {
        match operation {
            Operation::Range(range) => check_range(range)?,
            Operation::Put { key, value, lease, ignore_value, ignore_lease, .. } => {
                check_key(key)?;
                if *ignore_value && !value.is_empty() {
                    return Err(VALUE_PROVIDED);
                }
                if *ignore_lease && *lease != 0 {
                    return Err(LEASE_PROVIDED);
                }
            }
            Operation::Delete { range, .. } => check_key(&range.start)?,
            Operation::Txn(inner) => check_operations(inner, left)?,
        }
    }
    Ok(())
}

fn size(txn: &Txn) -> usize {
    let compares = txn.compare.iter().map(|compare| match &compare.target {
        crate::CompareTarget::Value(value) => compare.range.start.len() + value.len(),
        _ => compare.range.start.len(),
    });
    let operations = txn.success.iter().chain(&txn.failure).map(|operation| match operation {
        Operation::Range(request) => request.range.start.len() + request.range.end.len(),
        Operation::Put { key, value, .. } => key.len() + value.len(),
        Operation::Delete { range, .. } => range.start.len() + range.end.len(),
        Operation::Txn(inner) => size(inner),
    });
    compares.chain(operations).sum()
}

/// The writes of one list of operations: keys put, ranges deleted.
#[derive(Default)]
struct Written {
    puts: BTreeSet<Bytes>,
    deletes: Vec<KeyRange>,
}

impl Written {
    /// In Kubernetes: etcd's `checkIntervals`, with its order: a deletion conflicts with puts of the same list and
    /// with puts of inner transactions; the two branches of an inner transaction are exclusive.
    fn of(operations: &[Operation]) -> Result<Self, Error> {
        let mut written = Self::default();
        for operation in operations {
            if let Operation::Delete { range, .. } = operation {
                written.deletes.push(range.clone());
            }
        }
        for operation in operations {
            if let Operation::Txn(inner) = operation {
                let then = Self::of(&inner.success)?;
                let other = Self::of(&inner.failure)?;
                let only_other: Vec<Bytes> = other.puts.difference(&then.puts).cloned().collect();
                let both: Vec<Bytes> = other.puts.intersection(&then.puts).cloned().collect();
                for key in then.puts.into_iter().chain(only_other) {
                    written.put(key)?;
                }
                if both.iter().any(|key| written.deletes_key(key)) {
                    return Err(DUPLICATE_KEY);
                }
                written.deletes.extend(then.deletes.into_iter().chain(other.deletes));
            }
        }
        for operation in operations {
            if let Operation::Put { key, .. } = operation {
                written.put(key.clone())?;
            }
        }
        Ok(written)
    }

    fn put(&mut self, key: Bytes) -> Result<(), Error> {
        if self.deletes_key(&key) || !self.puts.insert(key) { Err(DUPLICATE_KEY) } else { Ok(()) }
    }

    fn deletes_key(&self, key: &[u8]) -> bool {
        // etcd's interval tree does not see a deletion without an upper bound, so etcd accepts it together with a
        // put.
        self.deletes.iter().any(|range| range.end[..] != [0] && range.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn txn(success: Vec<Operation>) -> Txn {
        Txn { success, ..Txn::default() }
    }

    fn check(success: Vec<Operation>) -> Result<(), Error> {
        check_txn(&txn(success), Limits::default())
    }

    fn delete_prefix(prefix: &'static str) -> Operation {
        Operation::Delete { range: KeyRange::prefix(prefix), prev_kv: false }
    }

    #[test]
    fn a_key_is_written_once_in_a_transaction() {
        assert_eq!(check(vec![Operation::put("a", "1"), Operation::put("b", "1")]), Ok(()));
        assert_eq!(check(vec![Operation::put("a", "1"), Operation::put("a", "2")]), Err(DUPLICATE_KEY));
        assert_eq!(check(vec![Operation::put("ab", "1"), delete_prefix("a")]), Err(DUPLICATE_KEY));
    }

    #[test]
    fn the_branches_of_an_inner_transaction_exclude_each_other() {
        let inner =
            Txn { success: vec![Operation::put("a", "1")], failure: vec![Operation::put("a", "2")], ..Txn::default() };
        let inner = Operation::Txn(Box::new(inner));
        assert_eq!(check(vec![inner.clone()]), Ok(()));
        assert_eq!(check(vec![inner.clone(), Operation::put("a", "3")]), Err(DUPLICATE_KEY));
        assert_eq!(check(vec![inner.clone(), inner.clone()]), Err(DUPLICATE_KEY));
        assert_eq!(check(vec![delete_prefix("a"), inner]), Err(DUPLICATE_KEY));
    }

    #[test]
    fn inner_transactions_share_the_number_of_operations() {
        let inner = Operation::Txn(Box::new(txn(vec![Operation::get("a"); 100])));
        assert_eq!(check(vec![inner.clone()]), Ok(()));
        let mut outer = vec![Operation::get("a"); 28];
        outer.push(inner);
        assert_eq!(check(outer), Err(TOO_MANY_OPERATIONS));
        assert_eq!(check(vec![Operation::get("a"); 129]), Err(TOO_MANY_OPERATIONS));
    }

    #[test]
    fn an_empty_key_and_a_large_value_are_refused() {
        assert_eq!(check(vec![Operation::put("", "1")]), Err(EMPTY_KEY));
        assert_eq!(check(vec![Operation::put("a", vec![0; 2 << 20])]), Err(Error::TooLarge));
    }
}
