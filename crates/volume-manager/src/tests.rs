//! The worlds, the reconciler and the executor by themselves, without an API.

use std::sync::Arc;
use std::time::Duration;

use coracle_meta::ObjectKey;
use proptest::prelude::*;
use tokio::time::Instant;

use crate::operation::executor::{OperationExecutor, Turn};
use crate::operation::outcome::{OperationOutcome, Performed};
use crate::reconciler::{VolumeOperation, Work, reconcile};
use crate::world::actual_state::{ActualStateOfWorld, Mount};
use crate::world::desired_state::DesiredStateOfWorld;
use crate::world::disk::Disk;
use crate::world::spec::{CsiVolume, Driver, PodUid, UniqueName, VolumeSource, VolumeSpec};

fn csi(name: &str) -> Arc<VolumeSpec> {
    let volume = CsiVolume {
        driver: Driver { name: "d".to_owned(), annotations: Default::default() },
        handle: name.to_owned(),
        is_attachable: true,
        is_for_one_pod: false,
        is_block: false,
        is_reachable: true,
        claim: ObjectKey::new("default", name),
        growth: None,
    };
    let unique_name = UniqueName(format!("kubernetes.io/csi/d^{name}").into());
    Arc::new(VolumeSpec { name: name.to_owned(), unique_name, source: VolumeSource::Csi(Box::new(volume)) })
}

fn local(pod: &str, name: &str) -> Arc<VolumeSpec> {
    let unique_name = UniqueName(format!("kubernetes.io/empty-dir/{pod}-{name}").into());
    Arc::new(VolumeSpec { name: name.to_owned(), unique_name, source: VolumeSource::Local })
}

fn uid(number: usize) -> PodUid {
    format!("uid-{number}").into()
}

fn key(number: usize) -> ObjectKey {
    ObjectKey::new("default", format!("pod-{number}"))
}

/// A node whose operations succeed or fail as they are told.
#[derive(Default)]
struct Node {
    desired: DesiredStateOfWorld,
    actual: ActualStateOfWorld,
    executor: OperationExecutor,
    term: u64,
    disk: Disk,
    /// What was done, in its order.
    log: Vec<(VolumeOperation, String)>,
}

impl Node {
    fn wants(&mut self, pod: usize, volumes: &[Arc<VolumeSpec>]) {
        let volumes = volumes.iter().map(|spec| (spec.name.clone(), spec.clone())).collect();
        self.desired.put(&uid(pod), &key(pod), volumes, Vec::new());
    }

    fn restart(&mut self) {
        (self.term, self.actual) = self.disk.reconstruct();
        self.desired = DesiredStateOfWorld::default();
        self.executor = OperationExecutor::default();
    }

    /// Goes as far as it goes for these pods at a moment; each operation goes as `succeeds` says.
    fn go(&mut self, pods: &[usize], now: Instant, mut succeeds: impl FnMut() -> bool) {
        let uids: Vec<PodUid> = pods.iter().map(|pod| uid(*pod)).collect();
        let key_of = |wanted: &PodUid| key(pods.iter().copied().find(|pod| uid(*pod) == *wanted).unwrap_or_default());
        loop {
            let mut has_moved = false;
            for work in reconcile(&self.desired, &self.actual, &uids) {
                if !matches!(self.executor.turn(&work, now), Turn::Begin) {
                    continue;
                }
                let succeeded = succeeds();
                self.executor.performs(&work, Performed::at_once(OperationOutcome::Done), now);
                self.executor.ends(&work, !succeeded, now);
                has_moved = true;
                if succeeded {
                    self.done(&work, &key_of);
                }
            }
            if !has_moved {
                return;
            }
        }
    }

    fn done(&mut self, work: &Work, key_of: &dyn Fn(&PodUid) -> ObjectKey) {
        let (spec, name) = (&work.spec, &work.spec.unique_name);
        self.log.push((work.operation, spec.name.clone()));
        match (work.operation, &work.pod) {
            (VolumeOperation::VerifyControllerAttachedVolume, _) => self.actual.mark_attached(spec),
            (VolumeOperation::MountDevice, _) => self.actual.mark_device(spec, Some(Mount::Mounted)),
            (VolumeOperation::UnmountDevice, _) => self.actual.mark_device(spec, None),
            (VolumeOperation::MountVolume, Some(pod)) => {
                self.actual.mark_mounted(spec, pod, &key_of(pod), Mount::Mounted)
            }
            (VolumeOperation::UnmountVolume, Some(pod)) => self.actual.mark_unmounted(name, pod),
            (VolumeOperation::MarkVolumeAsDetached, _) => self.actual.mark_detached(name),
            _ => {}
        }
        let volume = self.actual.volume(name);
        let pods = volume.map(|volume| volume.pods.iter().map(|(uid, (key, _))| (uid.clone(), key.clone())).collect());
        let is_staged = volume.is_some_and(|volume| volume.device.is_some());
        self.disk.write(self.term, spec, is_staged, pods.unwrap_or_default());
    }

    fn steps(&self) -> Vec<VolumeOperation> {
        self.log.iter().map(|(operation, _)| *operation).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_attached_staged_and_mounted_and_all_of_it_undone_in_turn() {
    let mut node = Node::default();
    node.restart();
    node.wants(1, &[csi("v")]);
    node.go(&[1], Instant::now(), || true);
    node.desired.remove(&uid(1));
    node.go(&[1], Instant::now(), || true);
    use VolumeOperation::*;
    let all =
        [VerifyControllerAttachedVolume, MountDevice, MountVolume, UnmountVolume, UnmountDevice, MarkVolumeAsDetached];
    assert_eq!(node.steps(), all);
    assert_eq!(node.actual.volumes().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_volume_stays_staged_while_another_pod_of_the_node_has_it() {
    let mut node = Node::default();
    node.restart();
    node.wants(1, &[csi("v")]);
    node.wants(2, &[csi("v"), local("uid-2", "tmp")]);
    node.go(&[1, 2], Instant::now(), || true);
    node.desired.remove(&uid(1));
    node.go(&[1], Instant::now(), || true);
    assert_eq!(node.steps().last(), Some(&VolumeOperation::UnmountVolume));
    assert_eq!(node.actual.of_pod(&uid(2)).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn failed_operations_are_retried_with_exponential_backoff() {
    let mut node = Node::default();
    node.restart();
    node.wants(1, &[local("uid-1", "map")]);
    let begun = Instant::now();
    let mut tries = Vec::new();
    while begun.elapsed() < Duration::from_secs(600) {
        node.go(&[1], Instant::now(), || {
            tries.push(begun.elapsed());
            tries.len() == 1
        });
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let pauses: Vec<u64> = tries[1..].windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(pauses[..10], [0, 1, 2, 4, 8, 16, 32, 64, 122, 122]);
}

#[tokio::test(start_paused = true)]
async fn volumes_found_after_a_restart_are_mounted_again_or_cleaned_up() {
    let mut node = Node::default();
    node.restart();
    node.wants(1, &[csi("v")]);
    node.wants(2, &[csi("w")]);
    node.go(&[1, 2], Instant::now(), || true);
    node.restart();
    assert_eq!(node.actual.mount(&csi("v").unique_name, &uid(1)), Some(Mount::Uncertain));
    node.log.clear();
    node.wants(1, &[csi("v")]);
    node.go(&[1, 2], Instant::now(), || true);
    let of = |name: &str| node.log.iter().filter(|(_, own)| own == name).map(|(step, _)| *step).collect::<Vec<_>>();
    use VolumeOperation::*;
    assert_eq!(of("v"), [VerifyControllerAttachedVolume, MountDevice, MountVolume]);
    assert_eq!(of("w"), [UnmountVolume, UnmountDevice, MarkVolumeAsDetached]);
}

#[test]
fn writes_of_a_stopped_kubelet_are_lost() {
    let disk = Disk::default();
    let (term, _) = disk.reconstruct();
    disk.end(term);
    assert!(!disk.write(term, &csi("v"), true, [(uid(1), key(1))].into()));
    assert_eq!(disk.reconstruct().1.volumes().count(), 0);
}

/// What happens to a node.
#[derive(Clone, Debug)]
enum Happens {
    Wants(usize, Vec<usize>),
    Goes(usize),
    Restarts,
    Passes(u64, u8),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (0..4_usize, proptest::collection::vec(0..4_usize, 0..3))
            .prop_map(|(pod, volumes)| Happens::Wants(pod, volumes)),
        (0..4_usize).prop_map(Happens::Goes),
        Just(Happens::Restarts),
        (0..300_u64, any::<u8>()).prop_map(|(seconds, luck)| Happens::Passes(seconds, luck)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn exactly_the_wanted_volumes_are_mounted_in_the_end(
        all in proptest::collection::vec(happens(), 0..40)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut node = Node::default();
            node.restart();
            let mut wanted: [Vec<usize>; 4] = Default::default();
            let specs = |volumes: &[usize]| volumes.iter().map(|volume| csi(&format!("v{volume}"))).collect::<Vec<_>>();
            for one in all {
                match one {
                    Happens::Wants(pod, mut volumes) => {
                        volumes.sort_unstable();
                        volumes.dedup();
                        node.wants(pod, &specs(&volumes));
                        wanted[pod] = volumes;
                    }
                    Happens::Goes(pod) => {
                        node.desired.remove(&uid(pod));
                        wanted[pod].clear();
                    }
                    Happens::Restarts => {
                        node.restart();
                        (0..4).for_each(|pod| node.wants(pod, &specs(&wanted[pod])));
                    }
                    Happens::Passes(seconds, luck) => {
                        let mut luck = luck;
                        node.go(&[0, 1, 2, 3], Instant::now(), || { luck = luck.rotate_left(1); luck & 1 == 1 });
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                    }
                }
            }
            for _ in 0..20 {
                node.go(&[0, 1, 2, 3], Instant::now(), || true);
                tokio::time::sleep(Duration::from_secs(122)).await;
            }
            for (pod, wanted) in wanted.iter().enumerate() {
                let mounted: Vec<_> = node.actual.of_pod(&uid(pod)).cloned().collect();
                let expected: Vec<_> = specs(wanted).iter().map(|spec| spec.unique_name.clone()).collect();
                assert_eq!(mounted, expected);
            }
            let staged = node.actual.volumes().filter(|(_, volume)| volume.device.is_some()).count();
            let distinct: std::collections::BTreeSet<_> = wanted.iter().flatten().collect();
            assert_eq!(staged, distinct.len());
        });
    }
}
