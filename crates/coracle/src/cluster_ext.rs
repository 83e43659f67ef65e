use std::fmt::Display;
use std::time::Duration;

use coracle_client::Api;
use coracle_cluster::Cluster;
use coracle_meta::{ApiObject, ObjectKey, Resource};
use coracle_sim::{NotMet, NotSettled, Settle, Settled};

/// What a test does with a [`Cluster`] besides requests: it waits, and connects kube-rs.
///
/// All waits are on the cluster's clock. In virtual time they take no longer than the work that happens meanwhile.
pub trait ClusterExt {
    /// Waits until `look` succeeds, and returns its result. `look` may use any client. It is called at once, after each
    /// change of an object in the cluster, each second in the cluster's time, and a last time at the end of `within`.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::api::core_v1::Node;
    /// use coracle::prelude::*;
    /// use coracle::runtime::{Api, ListParams};
    /// use std::time::Duration;
    ///
    /// let nodes = Api::<Node>::of(&cluster.api_client());
    /// let two = async || match nodes.list(&ListParams::default()).await {
    ///     Ok(list) if list.items.len() == 2 => Ok(list.items),
    ///     Ok(list) => Err(format!("{} nodes", list.items.len())),
    ///     Err(error) => Err(error.to_string()),
    /// };
    /// assert_eq!(cluster.until(Duration::from_secs(60), two).await.unwrap().len(), 2);
    ///
    /// let error = cluster.until(Duration::from_secs(60), async || Err::<(), _>("no third node")).await.unwrap_err();
    /// assert_eq!(error.to_string(), "the condition did not hold after 60s; last seen: no third node");
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If `look` fails for the time `within`, on the cluster's clock, or if the cluster ends. The error contains the
    /// last error of `look`.
    fn until<T, E: Display>(
        &self,
        within: Duration,
        look: impl AsyncFnMut() -> Result<T, E>,
    ) -> impl Future<Output = Result<T, NotMet>>;

    /// Waits until `holds` returns true for an object, and returns the object; `None` stands for an object that does
    /// not exist. Otherwise like [`until`](Self::until).
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::api::core_v1::ServiceAccount;
    /// use coracle::meta::ObjectKey;
    /// use coracle::prelude::*;
    /// use std::time::Duration;
    ///
    /// let default = ObjectKey::new("default", "default");
    /// let minute = Duration::from_secs(60);
    /// let account = cluster.until_object::<ServiceAccount>(&default, minute, |account| account.is_some()).await;
    /// assert!(account.unwrap().is_some());
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If `holds` returns false for the time `within`, on the cluster's clock, or if the cluster ends. The error
    /// contains the object as it was seen last; of a Secret, only its metadata.
    fn until_object<K: Resource>(
        &self,
        key: &ObjectKey,
        within: Duration,
        holds: impl FnMut(Option<&K>) -> bool,
    ) -> impl Future<Output = Result<Option<K>, NotMet>>;

    /// Advances the cluster until nothing moves. [`Settle`] defines what that means.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::prelude::*;
    /// use tokio::time::Instant;
    ///
    /// let settled = cluster.settle().await.unwrap();
    /// assert!(cluster.settle().await.unwrap().revision >= settled.revision);
    /// assert!(settled.at < Instant::now(), "the last change was a minute ago");
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the cluster does not settle within an hour of its time, or if it ends. A cluster with a CronJob for each
    /// minute does not settle, and neither does one with a controller that fails for ever.
    fn settle(&self) -> impl Future<Output = Result<Settled, NotSettled>>;

    /// Like [`settle`](Self::settle), with other times.
    ///
    /// # Errors
    /// If the cluster does not settle in time, or if it ends.
    fn settle_with(&self, options: Settle) -> impl Future<Output = Result<Settled, NotSettled>>;

    /// A `kube::Client` of this cluster, with the identity of an administrator; its default namespace is `default`.
    ///
    /// ```
    /// # coracle::run_virtual(1, async |cluster| {
    /// use coracle::prelude::*;
    ///
    /// let client: kube::Client = cluster.client();
    /// assert_eq!(client.apiserver_version().await.unwrap().minor, "37");
    /// # }).unwrap();
    /// ```
    ///
    /// # Panics
    /// Outside a tokio runtime. The client stops working when the runtime that created it ends.
    #[cfg(feature = "kube")]
    fn client(&self) -> kube::Client;
}

impl ClusterExt for Cluster {
    fn until<T, E: Display>(
        &self,
        within: Duration,
        look: impl AsyncFnMut() -> Result<T, E>,
    ) -> impl Future<Output = Result<T, NotMet>> {
        coracle_sim::until(self, within, look)
    }

    async fn until_object<K: Resource>(
        &self,
        key: &ObjectKey,
        within: Duration,
        mut holds: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>, NotMet> {
        let objects = Api::<K>::of(&self.api_client());
        let look = async || match objects.find(key).await {
            Ok(object) if holds(object.as_ref()) => Ok(object),
            Ok(object) => Err(shown(key, object)),
            Err(error) => Err(error.to_string()),
        };
        coracle_sim::until(self, within, look).await
    }

    fn settle(&self) -> impl Future<Output = Result<Settled, NotSettled>> {
        self.settle_with(Settle::default())
    }

    fn settle_with(&self, options: Settle) -> impl Future<Output = Result<Settled, NotSettled>> {
        coracle_sim::settle(self, options)
    }

    #[cfg(feature = "kube")]
    fn client(&self) -> kube::Client {
        kube::Client::new(self.service(), "default")
    }
}

/// An object for an error message, without its field managers.
fn shown<K: Resource>(key: &ObjectKey, object: Option<K>) -> String {
    let Some(mut object) = object else { return format!("no {} {key}", K::KIND) };
    object.meta_mut().managed_fields = Vec::new();
    if (K::GROUP, K::KIND) == ("", "Secret") {
        return format!("Secret {key}: {:?}", object.meta());
    }
    let json = object.write_json().map_err(|error| error.to_string());
    let json = json.and_then(|json| String::from_utf8(json).map_err(|error| error.to_string()));
    format!("{} {key}: {}", K::KIND, json.unwrap_or_else(|error| error))
}

#[cfg(test)]
mod tests {
    use coracle_api::apiextensions_v1::CustomResourceDefinition;
    use coracle_api::apps_v1::ReplicaSet;
    use coracle_api::batch_v1::CronJob;
    use coracle_api::core_v1::{ConfigMap, Namespace, Pod, Secret};
    use coracle_client::{DeleteParams, ListParams};
    use coracle_cluster::{Component, Delays};
    use coracle_controller_runtime::{Action, Controller, Pass, Process, ReconcileError, Reconciler, key_of};
    use coracle_journal::Recorder;
    use coracle_sim::Latency;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::{BuilderExt, run_virtual};

    const MINUTE: Duration = Duration::from_secs(60);

    async fn create_set(cluster: &Cluster, replicas: i32) {
        let containers = json!([{"name": "web", "image": "nginx"}]);
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
        let set = json!({
            "metadata": {"namespace": "default", "name": "web"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        });
        let set: ReplicaSet = serde_json::from_value(set).unwrap();
        Api::of(&cluster.api_client()).create(&set).await.unwrap();
    }

    async fn ready_pods(cluster: &Cluster) -> Vec<Pod> {
        let pods = Api::<Pod>::of(&cluster.api_client()).list(&ListParams::default()).await.unwrap().items;
        pods.into_iter().filter(|pod| pod.is_ready() && !pod.metadata.is_terminating()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_settled_cluster_has_pods_that_become_ready_later_than_it_must_be_quiet() {
        let delays = Delays { ready: 5 * MINUTE, ..Delays::default() };
        let cluster = Cluster::builder().nodes(2).pod_delays(delays).start().await.unwrap();
        create_set(&cluster, 3).await;
        let start = Instant::now();
        let settled = cluster.settle().await.unwrap();
        assert_eq!(ready_pods(&cluster).await.len(), 3);
        assert!(settled.at - start >= 5 * MINUTE, "the last change is a pod that becomes ready");

        let now = Instant::now();
        let again = cluster.settle().await.unwrap();
        assert_eq!(again.at, now, "nothing has changed since the call");
        assert!(Instant::now() - now >= MINUTE && Instant::now() - now <= 10 * MINUTE + MINUTE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_settled_cluster_has_caches_that_show_the_last_change_however_late_events_arrive() {
        let second = Duration::from_secs(1);
        let latency = Latency { request: second, watch: 3 * second };
        let cluster = Cluster::builder().latency(latency).start().await.unwrap();
        create_set(&cluster, 2).await;
        // No change arrives while the cluster must be quiet.
        cluster.settle_with(Settle { quiet: second, ..Settle::default() }).await.unwrap();
        let set = Api::<ReplicaSet>::of(&cluster.api_client()).get(&ObjectKey::new("default", "web")).await.unwrap();
        assert_eq!(set.status.replicas, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_settled_cluster_has_replaced_the_pods_of_a_dead_node() {
        let cluster = Cluster::builder().nodes(2).start().await.unwrap();
        create_set(&cluster, 4).await;
        cluster.settle().await.unwrap();
        let on = |pods: &[Pod], node: &str| pods.iter().filter(|pod| pod.node_name() == Some(node)).count();
        assert_eq!(on(&ready_pods(&cluster).await, "node-1"), 2);
        cluster.kubelet().stop_node("node-1");
        cluster.settle().await.unwrap();
        assert_eq!(on(&ready_pods(&cluster).await, "node-2"), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_without_controllers_settles_and_one_whose_controllers_come_back_settles_later() {
        let cluster = Cluster::builder().nodes(1).start().await.unwrap();
        cluster.settle().await.unwrap();
        cluster.kill_component(Component::ControllerManager);
        create_set(&cluster, 2).await;
        cluster.settle().await.unwrap();
        assert_eq!(ready_pods(&cluster).await.len(), 0);
        cluster.start_component(Component::ControllerManager);
        cluster.settle().await.unwrap();
        assert_eq!(ready_pods(&cluster).await.len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn the_work_of_a_killed_component_does_not_count() {
        for (component, ready) in
            [(Component::ControllerManager, 2), (Component::Scheduler, 2), (Component::Kubelet, 0)]
        {
            let delays = Delays { ready: 5 * MINUTE, ..Delays::default() };
            let cluster = Cluster::builder().nodes(1).pod_delays(delays).start().await.unwrap();
            create_set(&cluster, 2).await;
            tokio::time::sleep(MINUTE).await;
            assert!(cluster.kill_component(component), "it runs, and has keys in its queues");
            cluster.settle().await.unwrap();
            assert_eq!(ready_pods(&cluster).await.len(), ready, "{component:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_settles_after_a_custom_kind_is_gone() {
        let cluster = Cluster::builder().start().await.unwrap();
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({
            "metadata": {"name": "boats.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
        });
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        let definitions = Api::of(&cluster.api_client());
        definitions.create(&definition).await.unwrap();
        cluster.settle().await.unwrap();
        let boats: serde_json::Value = cluster.api_client().get_path("/apis/example.com/v1/boats").await.unwrap();
        assert_eq!(boats["kind"], "BoatList");
        definitions.delete(&definition.key(), &DeleteParams::default()).await.unwrap();
        cluster.settle().await.unwrap();
        assert!(definitions.find(&definition.key()).await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_without_its_store_does_not_settle_and_settles_when_it_is_back() {
        let cluster = Cluster::builder().api_server_only().start().await.unwrap();
        cluster.kill_store().unwrap();
        let options = Settle { within: 5 * MINUTE, ..Settle::default() };
        let error = cluster.settle_with(options).await.unwrap_err();
        assert_eq!(error.pending, ["store: it does not answer"]);
        cluster.start_store().unwrap();
        cluster.settle().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_with_a_cron_job_for_each_minute_does_not_settle() {
        let cluster = Cluster::builder().nodes(1).start().await.unwrap();
        let containers = json!([{"name": "tick", "image": "busybox", "command": ["true"]}]);
        let template = json!({"spec": {"restartPolicy": "Never", "containers": containers}});
        let job = json!({
            "metadata": {"namespace": "default", "name": "tick"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
        });
        let job: CronJob = serde_json::from_value(job).unwrap();
        Api::of(&cluster.api_client()).create(&job).await.unwrap();
        let options = Settle { within: 15 * MINUTE, ..Settle::default() };
        let error = cluster.settle_with(options).await.unwrap_err();
        assert_eq!(error.after, 15 * MINUTE);
        assert!(error.last_change.as_ref().is_some_and(|change| change.contains("default/tick")), "{error}");
    }

    /// Makes a ConfigMap `later` after a while, or fails for ever.
    struct Late(Option<Duration>, Instant);

    impl Reconciler for Late {
        async fn reconcile(&self, pass: &Pass, key: &ObjectKey) -> Result<Action, ReconcileError> {
            let Some(delay) = self.0 else { return Err(ReconcileError::Object("no boat".to_owned())) };
            if key.name != "default" {
                return Ok(Action::Done);
            }
            let left = (self.1 + delay).saturating_duration_since(Instant::now());
            if !left.is_zero() {
                return Ok(Action::RequeueAfter(left));
            }
            let later = ObjectKey::new("default", "later");
            if pass.api::<ConfigMap>().find(&later).await?.is_none() {
                let mut map = ConfigMap::default();
                (map.metadata.namespace, map.metadata.name) = (Some(later.namespace), Some(later.name));
                pass.api().create(&map).await?;
            }
            Ok(Action::Done)
        }
    }

    /// Settles an API server with that controller; the result, and whether the ConfigMap exists.
    async fn settle_with_late(delay: Option<Duration>) -> (Result<Settled, NotSettled>, bool) {
        let cluster = Cluster::builder().api_server_only().start().await.unwrap();
        let process = Process::new("late", &cluster.api_client(), cluster.ambient(), &Recorder::off());
        let namespaces = process.informers.informer::<Namespace>();
        let controller = Controller::new(&process, "late", Late(delay, Instant::now()));
        tokio::spawn(controller.watches(&namespaces, key_of).run());
        tokio::spawn(async move { process.run().await });
        let settled = cluster.settle().await;
        let later = Api::<ConfigMap>::of(&cluster.api_client()).find(&ObjectKey::new("default", "later")).await;
        (settled, later.unwrap().is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn delayed_keys_count_within_the_horizon_and_failing_keys_always() {
        let (settled, exists) = settle_with_late(Some(9 * MINUTE)).await;
        assert!(settled.is_ok() && exists);
        let (settled, exists) = settle_with_late(Some(11 * MINUTE)).await;
        assert!(settled.is_ok() && !exists, "it is further ahead than the horizon");
        let (settled, _) = settle_with_late(None).await;
        let error = settled.unwrap_err();
        assert_eq!(error.after, 60 * MINUTE);
        assert!(error.pending.iter().any(|left| left.starts_with("queue late:")), "{error}");
    }

    #[test]
    fn a_wait_ends_with_the_cluster_and_says_what_was_seen_last() {
        run_virtual(1, async |cluster| {
            let key = ObjectKey::new("default", "token");
            let error = cluster.until_object::<Secret>(&key, MINUTE, |secret| secret.is_some()).await.unwrap_err();
            assert_eq!((error.after, &*error.last_seen), (MINUTE, "no Secret default/token"));

            let secret = json!({"metadata": {"namespace": "default", "name": "token"}, "stringData": {"key": "mark"}});
            let secret: Secret = serde_json::from_value(secret).unwrap();
            Api::of(&cluster.api_client()).create(&secret).await.unwrap();
            let error = cluster.until_object::<Secret>(&key, MINUTE, |secret| secret.is_none()).await.unwrap_err();
            assert!(error.last_seen.contains("token") && !error.last_seen.contains("bWFyaw"), "{error}");
        })
        .unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_at_the_change_that_it_waits_for() {
        let cluster = Cluster::builder().api_server_only().start().await.unwrap();
        let client = cluster.api_client();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            let map = json!({"metadata": {"namespace": "default", "name": "map"}});
            Api::of(&client).create(&serde_json::from_value::<ConfigMap>(map).unwrap()).await.unwrap();
        });
        let start = Instant::now();
        let key = ObjectKey::new("default", "map");
        cluster.until_object::<ConfigMap>(&key, MINUTE, |map| map.is_some()).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_millis(1500));
        cluster.kill_store().unwrap();
        let error = cluster.until_object::<ConfigMap>(&key, MINUTE, |map| map.is_none()).await.unwrap_err();
        assert!(error.after >= MINUTE && error.after <= MINUTE + Duration::from_secs(1), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_a_task_of_the_cluster_panics() {
        let cluster = Cluster::builder().api_server_only().start().await.unwrap();
        cluster.spawn("made-up", async { panic!("no sail") });
        let error = cluster.settle().await.unwrap_err();
        assert_eq!(error.to_string(), "the cluster ended: the task made-up panicked: no sail");
        let error = cluster.until(MINUTE, async || Err::<(), _>("nothing")).await.unwrap_err();
        assert_eq!(error.to_string(), "the cluster ended: the task made-up panicked: no sail; last seen: nothing");
    }
}
