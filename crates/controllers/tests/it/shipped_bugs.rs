//! Bugs that kube-controller-manager was shipped with: each sequence is repeated here.

use std::time::Duration;

use coracle_api::apps_v1::{ReplicaSet, StatefulSet};
use coracle_api::batch_v1::Job;
use coracle_api::core_v1::{Pod, ServiceAccount};
use coracle_api::resource_v1::{ResourceClaim, ResourceClaimTemplate};
use coracle_client::{Api, Client, DeleteParams, ListParams, Patch, Propagation};
use coracle_cluster::Cluster;
use coracle_journal::{Entry, EntryId, Recorder, Stage};
use coracle_meta::ObjectKey;
use coracle_release::Release;
use coracle_sim::{Effect, Rule, Selector, Senders, Turns, Wire};
use serde_json::{Value, json};

use crate::stale_caches::web;
use crate::world::until;

/// A cluster in which an effect acts on requests and watches of the controllers.
struct Slowed {
    cluster: Cluster,
    client: Client,
    recorder: Recorder,
}

impl Slowed {
    async fn start(nodes: usize, rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::in_release(Release::default(), nodes, rules).await
    }

    async fn in_release(release: Release, nodes: usize, rules: impl IntoIterator<Item = Rule>) -> Self {
        let recorder = Recorder::ring(1_000_000);
        let builder = Cluster::builder().kubernetes(release).nodes(nodes).recorder(recorder.clone());
        let cluster = builder.transport_layer(Wire::with(rules).layer()).start().await.unwrap();
        let client = Client::new(cluster.service(), cluster.ambient());
        let accounts: Api<ServiceAccount> = Api::of(&client);
        let account = ObjectKey::new("default", "default");
        until("pods are admitted", async || accounts.find(&account).await.unwrap().is_some()).await;
        Self { cluster, client, recorder }
    }

    fn api<K: coracle_meta::Resource>(&self) -> Api<K> {
        Api::of(&self.client).within("default")
    }

    async fn pods(&self) -> Vec<Pod> {
        self.api().list(&ListParams::default()).await.unwrap().items
    }

    /// How many pods a controller has created.
    fn creations_by(&self, controller: &str) -> usize {
        let is_creation = |entry: &&Entry| {
            entry.stage == Stage::SyncWrite && entry.data["resource"] == "pods" && entry.data["verb"] == "create"
        };
        let entries = self.recorder.entries(EntryId(0));
        entries.iter().filter(is_creation).filter(|entry| entry.actor == controller).count()
    }
}

/// Of what the controllers send and receive: the selected part.
fn of_controllers(selector: Selector) -> Selector {
    Selector { from: Senders::Named("controller-manager".to_owned()), ..selector }
}

fn late_pods(lag: Duration) -> Rule {
    let selector = of_controllers(Selector { resource: Some("pods".to_owned()), ..Selector::default() });
    Rule { selector, effect: Effect::Lag(lag) }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn job(spec: &Value) -> Job {
    let mut spec = spec.clone();
    spec["template"] = json!({
        "metadata": {"annotations": {"coracle.dev/exit-code": "0", "coracle.dev/exit-after": "1s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "work:1"}]},
    });
    serde_json::from_value(json!({"metadata": {"name": "work", "namespace": "default"}, "spec": spec})).unwrap()
}

fn is_complete(job: &Job) -> bool {
    job.status.conditions.iter().any(|one| one.type_ == "Complete" && one.status == "True")
}

/// kubernetes/kubernetes#129795: an expectation of new pods expires after five minutes, and they are created again. A
/// controller that waits for its own writes creates them once.
#[tokio::test(start_paused = true)]
async fn pods_that_are_seen_after_ten_minutes_are_created_twice_unless_the_controller_waits_for_its_own_writes() {
    const LAG: Duration = Duration::from_secs(600);
    let waits = Release::named("1.36").unwrap();
    for (release, created) in [(waits, 3), (Release::named("1.35").unwrap(), 6)] {
        let world = Slowed::in_release(release, 0, [late_pods(LAG)]).await;
        world.api::<ReplicaSet>().create(&web()).await.unwrap();
        until("three pods are there", async || world.pods().await.len() == 3).await;
        tokio::time::sleep(LAG / 4).await;
        // A change of the set is a reason to sync it before its pods are seen.
        let change = async |seconds: i32| {
            let patch = Patch::Merge(json!({"spec": {"minReadySeconds": seconds}}));
            world.api::<ReplicaSet>().patch(&key("web"), &patch).await.unwrap();
            tokio::time::sleep(Duration::from_secs(5)).await;
        };
        change(1).await;
        assert_eq!(world.creations_by("controller-manager/replicaset"), 3, "nothing has expired yet");
        tokio::time::sleep(LAG / 2).await;
        change(2).await;
        assert_eq!(world.creations_by("controller-manager/replicaset"), created);
        tokio::time::sleep(LAG * 2).await;
        let set = world.api::<ReplicaSet>().get(&key("web")).await.unwrap();
        let left = world.pods().await.into_iter().filter(Pod::is_active).count();
        assert_eq!((set.status.replicas, left), (3, 3), "the pods were seen in the end");
    }
}

/// The same for a Job, which starts its work a second time.
#[tokio::test(start_paused = true)]
async fn a_job_whose_pods_are_seen_after_ten_minutes_starts_them_twice_unless_it_waits_for_its_own_writes() {
    const LAG: Duration = Duration::from_secs(600);
    let waits = Release::named("1.36").unwrap();
    for (release, created) in [(waits, 2), (Release::named("1.35").unwrap(), 4)] {
        let world = Slowed::in_release(release, 0, [late_pods(LAG)]).await;
        let jobs = world.api::<Job>();
        jobs.create(&job(&json!({"completions": 2, "parallelism": 2}))).await.unwrap();
        until("two pods are there", async || world.pods().await.len() == 2).await;
        tokio::time::sleep(LAG * 3 / 4).await;
        let patch = Patch::Merge(json!({"spec": {"backoffLimit": 5}}));
        jobs.patch(&key("work"), &patch).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(world.creations_by("controller-manager/job"), created);
    }
}

/// A StatefulSet names its pods, so that a late cache makes nothing twice; it tries to.
#[tokio::test(start_paused = true)]
async fn a_stateful_set_with_a_late_cache_tries_to_create_a_pod_again_unless_it_waits_for_its_own_writes() {
    let waits = Release::named("1.36").unwrap();
    for (release, tries_once) in [(waits, true), (Release::named("1.35").unwrap(), false)] {
        let world = Slowed::in_release(release, 1, [late_pods(Duration::from_secs(20))]).await;
        let set = json!({"metadata": {"name": "db"}, "spec": {
            "replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        }});
        world.api::<StatefulSet>().create(&serde_json::from_value(set).unwrap()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(world.pods().await.len(), 1);
        let tries = world.creations_by("controller-manager/statefulset");
        assert!((tries == 1) == tries_once, "{tries}");
    }
}

/// kubernetes/kubernetes#105200: the Job's own status is seen before the pod without its finalizer, which is counted
/// again.
#[tokio::test(start_paused = true)]
async fn a_finished_pod_is_counted_once_by_a_job_that_sees_itself_before_its_pods() {
    for lag in [20, 300, 1500, 20_000] {
        let world = Slowed::start(1, [late_pods(Duration::from_millis(lag))]).await;
        let jobs = world.api::<Job>();
        jobs.create(&job(&json!({"completions": 3, "parallelism": 2}))).await.unwrap();
        let counted = async || {
            let job = jobs.get(&key("work")).await.unwrap();
            let ended = world.pods().await.into_iter().filter(|pod| pod.phase() == "Succeeded").count();
            let uncounted = job.status.uncounted_terminated_pods.as_deref().map_or(0, |pods| pods.succeeded.len());
            let counted = usize::try_from(job.status.succeeded).unwrap() + uncounted;
            assert!(counted <= ended, "{counted} pods are counted, and {ended} have succeeded, with {lag} ms");
            is_complete(&job)
        };
        until("the Job is complete", counted).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(jobs.get(&key("work")).await.unwrap().status.succeeded, 3, "{lag} ms");
        assert_eq!(world.creations_by("controller-manager/job"), 3, "{lag} ms");
    }
}

/// kubernetes/kubernetes#142142: what was expected of a deleted Job is expected of another with its name.
#[tokio::test(start_paused = true)]
async fn a_job_that_replaces_one_whose_pod_is_still_being_created_gets_its_own_pod() {
    let turns = Some(Turns { first: 1, count: Some(1) });
    let verb = Some("create".to_owned());
    let selector = of_controllers(Selector { verb, resource: Some("pods".to_owned()), turns, ..Selector::default() });
    for [there, back] in [[1, 0], [0, 1]].map(|way| way.map(Duration::from_secs)) {
        let slow = Rule { selector: selector.clone(), effect: Effect::Slow { there, back } };
        let world = Slowed::start(1, [slow]).await;
        let jobs = world.api::<Job>();
        let first = jobs.create(&job(&json!({}))).await.unwrap();
        until("the first pod is being created", async || world.creations_by("controller-manager/job") == 1).await;
        jobs.delete(&key("work"), &DeleteParams::propagating(Propagation::Background)).await.unwrap();
        let second = jobs.create(&job(&json!({}))).await.unwrap();
        assert_ne!(first.metadata.uid, second.metadata.uid);
        until("the second is complete", async || is_complete(&jobs.get(&key("work")).await.unwrap())).await;
        let of_first = async || {
            world.pods().await.iter().any(|pod| pod.controller().map(|owner| &owner.uid) == first.metadata.uid.as_ref())
        };
        until("no pod of the first is left", async || !of_first().await).await;
        assert_eq!(jobs.get(&key("work")).await.unwrap().status.succeeded, 1);
    }
}

/// kubernetes/kubernetes#132334: after a restart, claims and pods that terminate in the first list are skipped.
#[tokio::test(start_paused = true)]
async fn claims_that_are_deleted_while_no_controller_runs_lose_their_finalizers_after_its_start() {
    let world = Slowed::start(1, []).await;
    let (claims, pods) = (world.api::<ResourceClaim>(), world.api::<Pod>());
    let device = json!({"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}});
    let template = json!({"metadata": {"name": "template"}, "spec": {"spec": device}});
    let template: ResourceClaimTemplate = serde_json::from_value(template).unwrap();
    world.api().create(&template).await.unwrap();
    let own = json!({"metadata": {"name": "own"}, "spec": device});
    claims.create(&serde_json::from_value(own).unwrap()).await.unwrap();
    let entries = json!([
        {"name": "made", "resourceClaimTemplateName": "template"}, {"name": "own", "resourceClaimName": "own"},
    ]);
    // It is bound by hand, so the controller reserves the claims.
    let spec = json!({"schedulerName": "none", "containers": [{"name": "c", "image": "i"}], "resourceClaims": entries});
    pods.create(&serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()).await.unwrap();
    let all = async || claims.list(&ListParams::default()).await.unwrap().items;
    until("both claims are there", async || all().await.len() == 2).await;
    for claim in all().await {
        allocate(&claims, claim.metadata.name.as_deref().unwrap_or_default()).await;
    }
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-1"},
    });
    let _: Value = pods.create_subresource(&key("p"), "binding", &binding).await.unwrap();
    let reserved = async || all().await.iter().all(|claim| claim.status.reserved_for.len() == 1);
    until("both are reserved", reserved).await;

    assert!(world.cluster.kill_component("controller-manager"));
    for claim in all().await {
        claims
            .delete(&key(claim.metadata.name.as_deref().unwrap_or_default()), &DeleteParams::default())
            .await
            .unwrap();
    }
    pods.delete(&key("p"), &DeleteParams::default()).await.unwrap();
    until("the pod is gone", async || world.pods().await.is_empty()).await;
    let terminating = all().await.iter().filter(|claim| claim.metadata.is_terminating()).count();
    assert_eq!(terminating, 2, "the finalizers hold them");
    assert!(world.cluster.start_component("controller-manager"));
    until("both claims are gone", async || all().await.is_empty()).await;
}

/// Writes the allocation of a claim and its finalizer, as the scheduler does.
async fn allocate(claims: &Api<ResourceClaim>, name: &str) {
    let finalizer = json!({"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}});
    claims.patch(&key(name), &Patch::Merge(finalizer)).await.unwrap();
    let result = json!({"request": "r", "driver": "gpu.example.com", "pool": "pool", "device": "one"});
    let status = json!({"status": {"allocation": {"devices": {"results": [result]}}}});
    claims.patch_status(&key(name), &Patch::Merge(status)).await.unwrap();
}
