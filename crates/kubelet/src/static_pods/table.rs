use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coracle_ambient::Timestamp;
use coracle_api::core_v1::Pod;
use coracle_meta::{ApiObject, ObjectKey, format_time};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The annotation with the time when the node first saw a pod.
const SEEN: &str = "kubernetes.io/config.seen";

/// The static pods of a machine: those of its manifests, and those whose manifests were removed or changed.
#[derive(Debug, Default)]
pub(crate) struct StaticPods {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    wanted: BTreeMap<ObjectKey, Arc<Pod>>,
    /// The pods that are being stopped.
    ending: BTreeMap<ObjectKey, Arc<Pod>>,
    /// When the manifests are read next.
    next: Option<Instant>,
    /// What was wrong with them.
    faults: Vec<String>,
}

/// The static pod of a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Called {
    /// A pod to run.
    Wanted(Arc<Pod>),
    /// A pod that has to end first.
    Ending(Arc<Pod>),
}

impl StaticPods {
    /// The static pod of a key, if it has one.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Called> {
        let table = self.table.lock();
        let ending = table.ending.get(key).cloned().map(Called::Ending);
        ending.or_else(|| table.wanted.get(key).cloned().map(Called::Wanted))
    }

    /// The keys of all static pods.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        let table = self.table.lock();
        let keys: BTreeSet<&ObjectKey> = table.wanted.keys().chain(table.ending.keys()).collect();
        keys.into_iter().cloned().collect()
    }

    /// When the manifests are read next; none if they were never read.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.table.lock().next
    }

    /// Sets when the manifests are read next.
    pub(crate) fn read_again(&self, at: Instant) {
        self.table.lock().next = Some(at);
    }

    /// What is wrong with the manifests and was not reported before.
    pub(crate) fn new_faults(&self, faults: Vec<String>) -> Vec<String> {
        let known = std::mem::replace(&mut self.table.lock().faults, faults.clone());
        faults.into_iter().filter(|fault| !known.contains(fault)).collect()
    }

    /// Sets the pods to run; returns the keys that have changed. A removed or changed pod is stopped.
    pub(crate) fn replace(&self, pods: Vec<Pod>, now: Timestamp) -> Vec<ObjectKey> {
        let table = &mut *self.table.lock();
        let mut before = std::mem::take(&mut table.wanted);
        let mut changed = BTreeSet::new();
        for mut pod in pods {
            let key = pod.object_key();
            match before.remove(&key) {
                Some(known) if known.metadata.uid == pod.metadata.uid => {
                    table.wanted.insert(key, known);
                    continue;
                }
                Some(known) => table.end(&key, &known, now),
                None => {}
            }
            pod.metadata.annotations.insert(SEEN.to_owned(), now.to_string());
            table.wanted.insert(key.clone(), Arc::new(pod));
            changed.insert(key);
        }
        for (key, known) in before {
            table.end(&key, &known, now);
            changed.insert(key);
        }
        changed.into_iter().collect()
    }

    /// Removes a pod that has ended.
    pub(crate) fn ended(&self, key: &ObjectKey) {
        self.table.lock().ending.remove(key);
    }
}

impl Table {
    fn end(&mut self, key: &ObjectKey, pod: &Pod, now: Timestamp) {
        self.ending.entry(key.clone()).or_insert_with(|| {
            let mut ending = pod.clone();
            ending.metadata.deletion_timestamp = Some(format_time(now));
            ending.metadata.deletion_grace_period_seconds = pod.spec.termination_grace_period_seconds;
            Arc::new(ending)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coracle_meta::parse_time;

    fn pod(name: &str, uid: &str) -> Pod {
        let mut pod = Pod::default();
        (pod.metadata.name, pod.metadata.uid) = (Some(name.to_owned()), Some(uid.to_owned()));
        pod.spec.termination_grace_period_seconds = Some(5);
        pod
    }

    #[test]
    fn removed_or_changed_pods_end_before_their_replacements_start_and_equal_ones_stay() {
        let (table, now) = (StaticPods::default(), parse_time("2026-01-01T00:00:00.5Z").unwrap());
        let keys = |names: &[&str]| names.iter().map(|name| ObjectKey::cluster(*name)).collect::<Vec<_>>();
        assert_eq!(table.replace(vec![pod("a", "1"), pod("b", "1")], now), keys(&["a", "b"]));
        let Some(Called::Wanted(a)) = table.get(&ObjectKey::cluster("a")) else { panic!("it is wanted") };
        assert_eq!(a.metadata.annotations[SEEN], "2026-01-01T00:00:00.5Z");
        let later = now + jiff::SignedDuration::from_secs(20);
        assert_eq!(table.replace(vec![pod("a", "1"), pod("b", "2")], later), keys(&["b"]));
        assert_eq!(table.get(&ObjectKey::cluster("a")), Some(Called::Wanted(a)));
        let Some(Called::Ending(b)) = table.get(&ObjectKey::cluster("b")) else { panic!("it ends first") };
        assert_eq!((b.metadata.uid.as_deref(), b.metadata.deletion_grace_period_seconds), (Some("1"), Some(5)));
        assert_eq!(table.replace(vec![pod("b", "3")], later), keys(&["a", "b"]));
        table.ended(&ObjectKey::cluster("b"));
        let Some(Called::Wanted(b)) = table.get(&ObjectKey::cluster("b")) else { panic!("it is its turn") };
        assert_eq!((b.metadata.uid.as_deref(), table.keys()), (Some("3"), keys(&["a", "b"])));
    }

    #[test]
    fn an_error_is_reported_as_new_once() {
        let table = StaticPods::default();
        let told = |faults: &[&str]| table.new_faults(faults.iter().map(|fault| (*fault).to_owned()).collect());
        assert_eq!(
            (told(&["a"]).len(), told(&["a", "b"]), told(&[]).len(), told(&["a"]).len()),
            (1, vec!["b".to_owned()], 0, 1)
        );
    }
}
