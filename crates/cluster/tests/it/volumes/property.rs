//! Whatever is killed, started again or not answered: no volume for one node is mounted on two, and in the end none is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use coracle_ambient::Random;
use coracle_api::apps_v1::StatefulSet;
use coracle_api::core_v1::{Node, PersistentVolumeClaim, Pod};
use coracle_api::storage_v1::VolumeAttachment;
use coracle_client::{DeleteParams, ListParams, Patch};
use coracle_cluster::{Body, BoxError, Cluster, Component, Requester, Transport, TransportLayer};
use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_meta::ObjectKey;
use http::{Request, Response};
use proptest::prelude::*;
use serde_json::json;
use tokio::time::sleep;
use tower::service_fn;

use super::world::{World, key, until};

const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];
const COMPONENTS: [Component; 3] = [Component::ControllerManager, Component::Kubelet, Component::CsiDriver];

/// What happens, and for how long nothing else does.
#[derive(Clone, Debug)]
enum Happens {
    LosesPower(usize),
    HasPower(usize),
    IsOutOfService(usize),
    Deleted(usize),
    DeletedByForce(usize),
    Killed(usize),
    Faults(u64),
}

fn happens() -> impl Strategy<Value = (Happens, u64)> {
    let one = prop_oneof![
        3 => (0..3_usize).prop_map(Happens::LosesPower),
        3 => (0..3_usize).prop_map(Happens::HasPower),
        1 => (0..3_usize).prop_map(Happens::IsOutOfService),
        2 => (0..2_usize).prop_map(Happens::Deleted),
        2 => (0..2_usize).prop_map(Happens::DeletedByForce),
        2 => (0..3_usize).prop_map(Happens::Killed),
        1 => (0..40_u64).prop_map(Happens::Faults),
    ];
    // Often in the midst of something, now and then long after.
    (one, prop_oneof![0..50_u64, 0..20_000_u64, 300_000..500_000_u64])
}

/// Of a hundred requests of the components so many get lost on their way there, and as many answers on their way back.
fn faults(percent: &Arc<AtomicU64>, seed: u64) -> TransportLayer {
    let percent = percent.clone();
    let random = Arc::new(Random::from_seed(seed).split("faults"));
    Arc::new(move |_: &Requester, transport: Transport| {
        let (percent, random) = (percent.clone(), random.clone());
        Transport::to(service_fn(move |request: Request<Body>| {
            let (transport, percent) = (transport.clone(), percent.load(Ordering::Relaxed));
            let (there, back) = (random.below(100) < percent, random.below(100) < percent);
            async move {
                // A request takes a while, so that things happen in between.
                sleep(Duration::from_millis(1)).await;
                if there {
                    return Err::<Response<Body>, BoxError>("lost on its way there".into());
                }
                let answer = transport.send(request).await?;
                if back { Err("lost on its way back".into()) } else { Ok(answer) }
            }
        }))
    })
}

/// What is mounted where, as the event log tells it: volumes by node, with how often each.
#[derive(Debug, Default)]
struct Mounts {
    staged: BTreeMap<String, BTreeSet<String>>,
    published: BTreeSet<(String, String, String)>,
    /// How often anything was mounted for a pod.
    count: usize,
}

impl Mounts {
    fn note(&mut self, entry: &Entry) {
        let word = |name: &str| entry.data.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        if entry.stage != Stage::KubeletVolume || entry.data.contains_key("error") {
            return;
        }
        let (volume, node) = (word("volume"), word("node"));
        let of_pod = (volume.clone(), node.clone(), entry.subject.clone());
        match word("step").as_str() {
            "MountDevice" => {
                self.staged.entry(volume).or_default().insert(node);
            }
            "UnmountDevice" => {
                self.staged.entry(volume).or_default().remove(&node);
            }
            "MountVolume" => {
                self.count += 1;
                self.published.insert(of_pod);
            }
            "UnmountVolume" => {
                self.published.remove(&of_pod);
            }
            _ => {}
        }
    }

    /// A node without power has nothing mounted, though it will find the traces.
    fn lose(&mut self, node: &str) {
        for nodes in self.staged.values_mut() {
            nodes.remove(node);
        }
    }

    fn check(&self) {
        for (volume, nodes) in &self.staged {
            assert!(nodes.len() <= 1, "{volume} is mounted on {nodes:?}");
        }
    }
}

struct Watcher {
    recorder: Recorder,
    seen: EntryId,
    mounts: Mounts,
}

impl Watcher {
    /// Looks at what was done since it last looked.
    fn look(&mut self) {
        for entry in self.recorder.entries(EntryId(self.seen.0 + 1)) {
            self.seen = entry.id;
            self.mounts.note(&entry);
            self.mounts.check();
        }
    }
}

async fn happen(world: &World, watcher: &mut Watcher, percent: &AtomicU64, one: &Happens) {
    let pod = |number: &usize| key(&format!("db-{number}"));
    match one {
        Happens::LosesPower(number) => {
            watcher.look();
            world.cluster.kubelet().kill_node(NODES[*number]);
            watcher.look();
            watcher.mounts.lose(NODES[*number]);
        }
        Happens::HasPower(number) => {
            let untainted = Patch::Merge(json!({"spec": {"taints": null}}));
            let _ = world.api::<Node>().patch(&ObjectKey::cluster(NODES[*number]), &untainted).await;
            world.cluster.kubelet().start_node(NODES[*number]);
        }
        Happens::IsOutOfService(number) => {
            // Whoever says so has to have cut the power.
            watcher.look();
            world.cluster.kubelet().kill_node(NODES[*number]);
            watcher.look();
            watcher.mounts.lose(NODES[*number]);
            let taint = json!({"spec": {"taints": [
                {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}]}});
            let _ = world.api::<Node>().patch(&ObjectKey::cluster(NODES[*number]), &Patch::Strategic(taint)).await;
        }
        Happens::Deleted(number) => {
            let _ = world.api::<Pod>().delete(&pod(number), &DeleteParams::default()).await;
        }
        Happens::DeletedByForce(number) => {
            let _ = world.api::<Pod>().delete(&pod(number), &DeleteParams::now()).await;
        }
        Happens::Killed(number) => {
            // What was mounted stays mounted: machines go on without their kubelets.
            world.cluster.kill_component(COMPONENTS[*number]);
            sleep(Duration::from_secs(1)).await;
            world.cluster.start_component(COMPONENTS[*number]);
        }
        Happens::Faults(share) => percent.store(*share, Ordering::Relaxed),
    }
}

async fn live(all: Vec<(Happens, u64)>, seed: u64) {
    let percent = Arc::new(AtomicU64::new(0));
    let recorder = Recorder::ring(2_000_000);
    let builder = Cluster::builder().nodes(3).seed(seed).csi_driver().recorder(recorder.clone());
    let world = World::of(builder.transport_layer(faults(&percent, seed)).start().await.unwrap()).await;
    let mut watcher = Watcher { recorder, seen: EntryId(0), mounts: Mounts::default() };
    world.stateful_set("db", 2).await;
    for (one, millis) in &all {
        happen(&world, &mut watcher, &percent, one).await;
        sleep(Duration::from_millis(*millis)).await;
        watcher.look();
    }
    percent.store(0, Ordering::Relaxed);
    for number in 0..3 {
        happen(&world, &mut watcher, &percent, &Happens::HasPower(number)).await;
    }
    let ready = async || world.is_ready("db-0").await && world.is_ready("db-1").await;
    until("all is well again", ready).await;
    watcher.look();
    world.api::<StatefulSet>().delete(&key("db"), &DeleteParams::default()).await.unwrap();
    until("no pod is left", async || world.node_of("db-0").await.is_none() && world.node_of("db-1").await.is_none())
        .await;
    let claims = world.api::<PersistentVolumeClaim>().list(&ListParams::default()).await.unwrap().items.len();
    assert_eq!(claims, 2, "claims outlive their set");
    until("nothing is attached nor in use", async || {
        let attached = world.api::<VolumeAttachment>().list(&ListParams::default()).await.unwrap().items;
        let nodes = world.api::<Node>().list(&ListParams::default()).await.unwrap().items;
        attached.is_empty() && nodes.iter().all(|node| node.status.volumes_in_use.is_empty())
    })
    .await;
    watcher.look();
    assert!(watcher.mounts.count >= 2, "what is in no log is not looked at");
    assert!(watcher.mounts.published.is_empty(), "{:?}", watcher.mounts.published);
    assert!(watcher.mounts.staged.values().all(BTreeSet::is_empty), "{:?}", watcher.mounts.staged);
}

#[test]
fn volumes_in_use_are_reported_again_if_the_report_fails() {
    let all = vec![
        (Happens::Deleted(1), 389_547),
        (Happens::HasPower(2), 3),
        (Happens::DeletedByForce(0), 14_913),
        (Happens::Deleted(0), 19_037),
        (Happens::Faults(22), 4956),
        (Happens::HasPower(2), 2614),
        (Happens::DeletedByForce(0), 824),
        (Happens::HasPower(0), 475_789),
    ];
    run_live(all, 9_332_251_820_019_134_831);
}

fn run_live(all: Vec<(Happens, u64)>, seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(live(all, seed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn no_volume_is_mounted_on_two_nodes_and_all_are_unmounted_in_the_end(
        all in proptest::collection::vec(happens(), 1..12),
        seed in any::<u64>(),
    ) {
        run_live(all, seed);
    }
}
