//! An agent of a node starts the containers of the pods of its node. After a restart it lists them, and accepts any
//! version. The API server that it reaches has not seen that its pod was deleted, and that a pod of the same name was
//! created for another node: two containers of one pod run.
//!
//! Found in: kubernetes#59848 (kubelet and StatefulSet).
//! The faults: `stale` of all that the restarted agent reads, as of the moment before the deletion, and `kill` of the
//! agent when the second pod is created.
//! The fix: the first list of an agent asks for the newest state.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle::ControllerCheck;
use coracle::check::Connection;
use coracle::meta::{Object, WatchEvent};
use coracle::runtime::controller::Process;
use coracle::runtime::{Api, Client, DeleteParams, Error, ListParams, WatchParams};
use coracle::simulation::faults::Fault;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;

use super::trial::{
    Bug, SECOND, Searched, Trial, Twin, USER, check, first, key, landed, lasting, object, objects, of_component, pod,
    restarted, when,
};

/// The node of each running container, by the uid of its pod.
type Containers = Arc<Mutex<BTreeMap<String, String>>>;

struct Agent {
    pods: Api<Object>,
    node: &'static str,
    containers: Containers,
    twin: Twin,
}

impl Agent {
    async fn run(self) -> Result<(), Error> {
        let resource_version = match self.twin {
            Twin::Buggy => Some("0".to_owned()),
            Twin::Fixed => None,
        };
        let list = self.pods.list(&ListParams { resource_version, ..ListParams::default() }).await?;
        list.items.iter().for_each(|pod| self.start(pod));
        let resource_version = Some(list.metadata.resource_version);
        let mut watch = self.pods.watch(&WatchParams { resource_version, ..WatchParams::default() }).await?;
        while let Some(event) = watch.next().await? {
            match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => self.start(&pod),
                WatchEvent::Deleted(pod) => drop(self.containers.lock().remove(pod.uid())),
                WatchEvent::Bookmark { .. } | WatchEvent::Error(_) => {}
            }
        }
        Ok(())
    }

    fn start(&self, pod: &Object) {
        if pod.text("spec.nodeName") == self.node && !pod.is_terminating() {
            self.containers.lock().insert(pod.uid().to_owned(), self.node.to_owned());
        }
    }
}

/// The agent of the first node.
const AGENT: &str = "agent-1";

fn pod_on(node: &str) -> Object {
    let mut pod = pod("db-0", json!({}));
    pod.set("spec.nodeName", node);
    pod
}

pub(super) struct Example;

impl Bug for Example {
    const KINDS: &'static [&'static str] = &["Container"];
    const WRONG: &'static str = "two containers of one pod run";

    fn faults() -> Vec<Fault> {
        let mut second = landed(first(USER, "create", "Pod"));
        second.nth = 2;
        let stale = when(first(USER, "delete", "Pod"), restarted(AGENT, "stale"));
        vec![stale, lasting(1, when(second, of_component(AGENT, "kill")))]
    }

    async fn run(trial: &Trial, twin: Twin) -> Result<(), String> {
        let containers = Containers::default();
        let start = |agent: &'static str, node: &'static str| {
            let containers = Arc::clone(&containers);
            trial.component(agent, move |client| {
                let agent = Agent { pods: objects(&client, "Pod"), node, containers: Arc::clone(&containers), twin };
                async move { drop(agent.run().await) }
            });
        };
        start(AGENT, "node-1");
        start("agent-2", "node-2");
        trial.create(pod_on("node-1")).await;
        sleep(SECOND).await;
        trial.delete("Pod", "db-0").await;
        sleep(SECOND).await;
        trial.create(pod_on("node-2")).await;
        sleep(10 * SECOND).await;
        let running: Vec<String> = containers.lock().values().cloned().collect();
        check(running == ["node-2"], Self::WRONG)
    }
}

/// An agent whose containers are objects, which remain when it is restarted. Their names are the uids of the pods.
struct Keeper {
    pods: Api<Object>,
    containers: Api<Object>,
    node: &'static str,
    twin: Twin,
}

impl Keeper {
    async fn run(client: Client, node: &'static str, twin: Twin) {
        let (pods, containers) = (objects(&client, "Pod"), objects(&client, "Container"));
        let keeper = Self { pods, containers, node, twin };
        loop {
            // However a watch ends, the agent waits and lists again.
            let _ = keeper.keep().await;
            sleep(SECOND).await;
        }
    }

    fn runs(&self, pod: &Object) -> bool {
        pod.text("spec.nodeName") == self.node && !pod.is_terminating()
    }

    async fn keep(&self) -> Result<(), Error> {
        let resource_version = match self.twin {
            Twin::Buggy => Some("0".to_owned()),
            Twin::Fixed => None,
        };
        let list = self.pods.list(&ListParams { resource_version, ..ListParams::default() }).await?;
        for container in self.containers.list(&ListParams::default()).await?.items {
            let is_wanted = list.items.iter().any(|pod| self.runs(pod) && pod.uid() == container.name());
            if container.text("spec.node") == self.node && !is_wanted {
                self.stop(container.name()).await?;
            }
        }
        for pod in list.items.iter().filter(|pod| pod.text("spec.nodeName") == self.node) {
            self.act(pod).await?;
        }
        let resource_version = Some(list.metadata.resource_version);
        let mut watch = self.pods.watch(&WatchParams { resource_version, ..WatchParams::default() }).await?;
        while let Some(event) = watch.next().await? {
            match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) if pod.text("spec.nodeName") == self.node => {
                    self.act(&pod).await?;
                }
                WatchEvent::Deleted(pod) if pod.text("spec.nodeName") == self.node => self.stop(pod.uid()).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs the container of a pod. If the pod terminates, it stops the container and then removes the pod.
    async fn act(&self, pod: &Object) -> Result<(), Error> {
        if self.runs(pod) {
            return self.start(pod).await;
        }
        self.stop(pod.uid()).await?;
        match self.pods.delete(&pod.key(), &DeleteParams::now().with_uid(pod.uid())).await {
            Err(error) if !error.is_not_found() && !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    async fn start(&self, pod: &Object) -> Result<(), Error> {
        let container = object("Container", pod.uid(), json!({"spec": {"pod": pod.name(), "node": self.node}}));
        match self.containers.create(&container).await {
            Err(error) if !error.is_already_exists() => Err(error),
            _ => Ok(()),
        }
    }

    async fn stop(&self, uid: &str) -> Result<(), Error> {
        match self.containers.delete(&key(uid), &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}

impl Searched for Example {
    fn check(check: ControllerCheck, twin: Twin) -> ControllerCheck {
        let another = move |connection: Connection| Keeper::run(connection.client(), "node-2", twin);
        check
            .part("agent-2", another)
            .workload(async |user| {
                user.create(&pod_on("node-1").to_value().to_string()).await?;
                user.settled().await?;
                user.delete(&pod_on("node-1").to_value().to_string()).await?;
                user.settled().await?;
                user.create(&pod_on("node-2").to_value().to_string()).await
            })
            .never(
                Self::WRONG,
                "containers.exists(a, containers.exists(b, a.spec.node != b.spec.node && a.spec.pod == b.spec.pod))",
            )
    }

    fn controller(process: Process, twin: Twin) -> impl Future<Output = ()> + Send + 'static {
        Keeper::run(process.client, "node-1", twin)
    }
}
