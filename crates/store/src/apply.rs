//! Applies a transaction to a snapshot: pure, synchronous, all or nothing. In Kubernetes: etcd's `apply/txn`.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use crate::commit::{Commit, KeyChange};
use crate::snapshot::{Lease, Snapshot};
use crate::version::{History, Version};
use crate::{
    Cause, Compare, CompareOperator, CompareTarget, Error, EventKind, KeyRange, KeyValue, LeaseId, Operation,
    OperationResult, Revision, Txn, TxnResponse,
};

/// The branches that a transaction and its inner transactions take. All comparisons see the state before the
/// transaction.
struct Plan {
    succeeded: bool,
    /// One for each inner transaction of the branch, in order.
    inner: Vec<Plan>,
}

/// Applies a transaction to `snapshot`. On an error the snapshot is unchanged.
pub(crate) fn apply(snapshot: &mut Snapshot, txn: &Txn) -> Result<(TxnResponse, Commit), Error> {
    let plan = plan(snapshot, txn);
    // In etcd's order, so that of several errors the same one is returned.
    check(snapshot, txn, &plan, check_put)?;
    check(snapshot, txn, &plan, check_range)?;
    let mut writer = Writer::new(snapshot);
    let response = writer.txn(txn, &plan);
    let commit = writer.finish(txn.cause.clone());
    Ok((TxnResponse { revision: snapshot.revision, ..response }, commit))
}

/// Ends a lease and deletes its keys, in one revision if there are any.
pub(crate) fn end_lease(snapshot: &mut Snapshot, id: LeaseId) -> Result<Commit, Error> {
    let lease = snapshot.leases.remove(&id).ok_or(Error::LeaseNotFound)?;
    let mut writer = Writer::new(snapshot);
    for key in &lease.keys {
        writer.delete(key);
    }
    let mut commit = writer.finish(None);
    snapshot.sequence += 1;
    snapshot.ended_leases.push_back((lease.sequence, snapshot.sequence));
    commit.lease = Some((snapshot.sequence, crate::durable::LeaseChange::Ended { id }));
    Ok(commit)
}

/// Grants a lease.
pub(crate) fn grant_lease(snapshot: &mut Snapshot, id: LeaseId, ttl_seconds: i64) -> Result<Commit, Error> {
    if snapshot.leases.contains_key(&id) {
        return Err(Error::LeaseExists);
    }
    snapshot.sequence += 1;
    let sequence = snapshot.sequence;
    snapshot.leases.insert(id, Lease { ttl_seconds, sequence, keys: imbl::OrdSet::new() });
    let mut commit = Writer::new(snapshot).finish(None);
    commit.lease = Some((sequence, crate::durable::LeaseChange::Granted { id, ttl_seconds }));
    Ok(commit)
}

fn plan(snapshot: &Snapshot, txn: &Txn) -> Plan {
    let succeeded = txn.compare.iter().all(|compare| holds(snapshot, compare));
    let inner = branch(txn, succeeded).iter().filter_map(|operation| match operation {
        Operation::Txn(inner) => Some(plan(snapshot, inner)),
        _ => None,
    });
    Plan { succeeded, inner: inner.collect() }
}

fn branch(txn: &Txn, succeeded: bool) -> &[Operation] {
    if succeeded { &txn.success } else { &txn.failure }
}

fn holds(snapshot: &Snapshot, compare: &Compare) -> bool {
    if compare.range.end.is_empty()
        && let Some(version) = snapshot.get(&compare.range.start)
    {
        return fulfils(&version.kv, compare);
    }
    let mut found = snapshot.live(&compare.range).peekable();
    if found.peek().is_none() {
        // The value of a missing key fulfils no comparison; its numbers count as zero.
        return !matches!(compare.target, CompareTarget::Value(_)) && fulfils(&KeyValue::default(), compare);
    }
    found.all(|version| fulfils(&version.kv, compare))
}

fn fulfils(kv: &KeyValue, compare: &Compare) -> bool {
    let order = match &compare.target {
        CompareTarget::Value(value) => kv.value.cmp(value),
        CompareTarget::Version(version) => kv.version.cmp(version),
        CompareTarget::Create(revision) => kv.create_revision.cmp(revision),
        CompareTarget::Mod(revision) => kv.mod_revision.cmp(revision),
        CompareTarget::Lease(lease) => kv.lease.cmp(lease),
    };
    match compare.operator {
        CompareOperator::Equal => order == Ordering::Equal,
        CompareOperator::NotEqual => order != Ordering::Equal,
        CompareOperator::Less => order == Ordering::Less,
        CompareOperator::Greater => order == Ordering::Greater,
    }
}

type Check = fn(&Snapshot, &Operation) -> Result<(), Error>;

/// Whether the chosen operations are valid, given the state before the transaction.
fn check(snapshot: &Snapshot, txn: &Txn, plan: &Plan, check_one: Check) -> Result<(), Error> {
    let mut inner = plan.inner.iter();
    branch(txn, plan.succeeded).iter().try_for_each(|operation| match operation {
        Operation::Txn(txn) => {
            check(snapshot, txn, inner.next().expect("a plan for each inner transaction"), check_one)
        }
        operation => check_one(snapshot, operation),
    })
}

fn check_put(snapshot: &Snapshot, operation: &Operation) -> Result<(), Error> {
    let Operation::Put { key, lease, ignore_value, ignore_lease, .. } = operation else { return Ok(()) };
    if (*ignore_value || *ignore_lease) && snapshot.get(key).is_none() {
        return Err(Error::Invalid("etcdserver: key not found"));
    }
    if *lease != 0 && !snapshot.leases.contains_key(lease) {
        return Err(Error::LeaseNotFound);
    }
    Ok(())
}

fn check_range(snapshot: &Snapshot, operation: &Operation) -> Result<(), Error> {
    let Operation::Range(request) = operation else { return Ok(()) };
    // Outside of a transaction etcd treats a negative revision as the newest; inside it does not.
    if request.revision < 0 && request.revision < snapshot.compacted {
        return Err(Error::Compacted { compacted: snapshot.compacted });
    }
    snapshot.check_readable(request.revision)
}

/// Changes a snapshot in one revision.
struct Writer<'a> {
    snapshot: &'a mut Snapshot,
    /// The revision of the changes; the first change sets it in the snapshot.
    revision: Revision,
    changes: Vec<KeyChange>,
}

impl<'a> Writer<'a> {
    fn new(snapshot: &'a mut Snapshot) -> Self {
        let revision = snapshot.revision + 1;
        Self { snapshot, revision, changes: Vec::new() }
    }

    fn finish(self, cause: Option<Cause>) -> Commit {
        Commit { revision: self.snapshot.revision, changes: self.changes, lease: None, cause }
    }

    fn txn(&mut self, txn: &Txn, plan: &Plan) -> TxnResponse {
        let mut inner = plan.inner.iter();
        let mut results = Vec::with_capacity(branch(txn, plan.succeeded).len());
        for operation in branch(txn, plan.succeeded) {
            results.push(match operation {
                Operation::Range(request) => {
                    OperationResult::Range(self.snapshot.range(request).expect("its revision was checked"))
                }
                Operation::Put { prev_kv, .. } => {
                    let before = self.put(operation);
                    OperationResult::Put { prev_kv: before.filter(|_| *prev_kv).map(|version| version.kv.clone()) }
                }
                Operation::Delete { range, prev_kv } => self.delete_range(range, *prev_kv),
                Operation::Txn(txn) => {
                    OperationResult::Txn(self.txn(txn, inner.next().expect("a plan for each inner transaction")))
                }
            });
        }
        TxnResponse { revision: self.snapshot.revision, succeeded: plan.succeeded, results }
    }

    fn put(&mut self, operation: &Operation) -> Option<Arc<Version>> {
        let Operation::Put { key, value, lease, ignore_value, ignore_lease, .. } = operation else {
            unreachable!("only called with a put");
        };
        let older = self.snapshot.keys.get(&key[..]).cloned();
        let before = older.as_ref().and_then(|history| history.live()).cloned();
        let old = before.as_ref().map(|version| &version.kv);
        let kept_value = old.filter(|_| *ignore_value).map(|kv| kv.value.clone());
        let kept_lease = old.filter(|_| *ignore_lease).map(|kv| kv.lease);
        let kv = KeyValue {
            key: old.map_or_else(|| key.clone(), |kv| kv.key.clone()),
            value: kept_value.unwrap_or_else(|| value.clone()),
            create_revision: old.map_or(self.revision, |kv| kv.create_revision),
            mod_revision: self.revision,
            version: old.map_or(1, |kv| kv.version + 1),
            lease: kept_lease.unwrap_or(*lease),
        };
        self.move_lease(&kv.key, old.map_or(0, |kv| kv.lease), kv.lease);
        self.append(kv, EventKind::Put, older);
        before
    }

    fn delete_range(&mut self, range: &KeyRange, prev_kv: bool) -> OperationResult {
        let doomed: Vec<Arc<Version>> = self.snapshot.live(range).cloned().collect();
        for version in &doomed {
            self.delete(&version.kv.key);
        }
        let deleted = i64::try_from(doomed.len()).unwrap_or(i64::MAX);
        let prev_kvs = doomed.into_iter().filter(|_| prev_kv).map(|version| version.kv.clone()).collect();
        OperationResult::Delete { deleted, prev_kvs }
    }

    fn delete(&mut self, key: &Bytes) {
        let older = self.snapshot.keys.get(&key[..]).cloned();
        let Some(before) = older.as_ref().and_then(|history| history.live()).cloned() else { return };
        self.move_lease(key, before.kv.lease, 0);
        let kv = KeyValue { key: before.kv.key.clone(), mod_revision: self.revision, ..KeyValue::default() };
        self.append(kv, EventKind::Delete, older);
    }

    /// Adds a version in front of the `older` ones of its key.
    fn append(&mut self, kv: KeyValue, kind: EventKind, older: Option<Arc<History>>) {
        self.snapshot.revision = self.revision;
        self.snapshot.sequence += 1;
        let sub = u32::try_from(self.changes.len()).expect("a transaction changes fewer than 2^32 keys");
        let version = Arc::new(Version { kv, kind, sub, sequence: self.snapshot.sequence });
        let before = older.as_ref().and_then(|history| history.live());
        // The state of the key before this revision, even if the transaction changed it twice.
        let prev = older.as_ref().and_then(|history| history.at(self.revision - 1)).cloned();
        self.snapshot.size += version.size();
        self.snapshot.live_size -= before.map_or(0, |version| version.size());
        self.snapshot.live_size += if version.is_deletion() { 0 } else { version.size() };
        match (before, version.is_deletion()) {
            (None, false) => self.snapshot.counts.add(&version.kv.key, 1),
            (Some(_), true) => self.snapshot.counts.add(&version.kv.key, -1),
            _ => {}
        }
        let history = History { newest: version.clone(), older };
        self.snapshot.keys.insert(version.kv.key.clone(), Arc::new(history));
        self.changes.push(KeyChange { version, prev });
    }

    fn move_lease(&mut self, key: &Bytes, from: LeaseId, to: LeaseId) {
        if from == to {
            return;
        }
        if let Some(lease) = self.snapshot.leases.get_mut(&from) {
            lease.keys.remove(key);
        }
        if let Some(lease) = self.snapshot.leases.get_mut(&to) {
            lease.keys.insert(key.clone());
        }
    }
}
