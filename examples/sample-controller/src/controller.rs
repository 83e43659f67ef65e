use coracle_api::core_v1::Pod;
use coracle_informer::{InformerFactory, Lister, Notification, SharedInformer};
use coracle_meta::{ObjectKey, Resource};
use coracle_workqueue::WorkQueue;

/// How often a key is tried again before it is dropped.
const MAX_RETRIES: u32 = 5;

/// Logs every change of a pod: an informer whose handlers queue keys, and workers that look the keys up in its cache.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    informer: SharedInformer<Pod>,
    indexer: Lister<Pod>,
    queue: WorkQueue<ObjectKey>,
}

impl Controller {
    /// Watches pods. The handlers say only *which* pod changed; the worker looks at what it is *now*.
    pub(crate) fn new(factory: &InformerFactory) -> Self {
        let informer: SharedInformer<Pod> = factory.informer();
        let queue = WorkQueue::new("pods");
        let handlers = queue.clone();
        informer.add_handler("sample-controller", move |notification, causes| match notification {
            Notification::Added { object, .. } => handlers.add(object.key(), causes),
            Notification::Updated { new, .. } => handlers.add(new.key(), causes),
            Notification::Deleted { object, .. } => handlers.add(object.key(), causes),
        });
        Self { indexer: informer.lister(), informer, queue }
    }

    /// Waits for the cache, then works until the queue is shut down.
    pub(crate) async fn run(&self, workers: usize) {
        self.informer.synced().await;
        futures_util::future::join_all((0..workers).map(|_| self.run_worker())).await;
    }

    /// Lets the workers end.
    pub(crate) fn stop(&self) {
        self.queue.shut_down();
    }

    async fn run_worker(&self) {
        while self.process_next_item().await {}
    }

    /// Takes one key, syncs it, and gives it back: until then no other worker gets it.
    async fn process_next_item(&self) -> bool {
        let Some(work) = self.queue.get().await else { return false };
        let result = self.sync_to_stdout(&work.key);
        self.handle_err(result, &work.key);
        self.queue.done(&work.key);
        true
    }

    /// The business logic: what the cache has under the key, whatever happened to it.
    fn sync_to_stdout(&self, key: &ObjectKey) -> Result<(), String> {
        match self.indexer.get(key) {
            None => println!("pod {key} does not exist any more"),
            Some(pod) => println!("pod {key} {} {}", pod.phase(), pod.node_name().unwrap_or("unscheduled")),
        }
        Ok(())
    }

    /// Tries a failed key again, later each time, and drops it after five times: it comes back when its pod changes.
    fn handle_err(&self, result: Result<(), String>, key: &ObjectKey) {
        let Err(error) = result else {
            // The next failure starts with a short wait again.
            self.queue.forget(key);
            return;
        };
        if self.queue.requeues(key) < MAX_RETRIES {
            eprintln!("pod {key}: {error}; trying again");
            self.queue.add_rate_limited(key.clone(), &[]);
            return;
        }
        self.queue.forget(key);
        eprintln!("pod {key}: {error}; dropped");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coracle_client::Client;
    use coracle_cluster::Cluster;
    use coracle_informer::InformerFactory;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failing_key_is_tried_five_times_and_then_dropped() {
        let cluster = Cluster::builder().start().await.unwrap();
        let client = Client::new(cluster.service(), cluster.ambient());
        let factory = InformerFactory::new(&client, cluster.ambient(), cluster.recorder().clone(), "sample");
        let controller = Controller::new(&factory);
        let key = ObjectKey::new("default", "web");
        for tried in 1..=MAX_RETRIES {
            controller.handle_err(Err("no".to_owned()), &key);
            assert_eq!(controller.queue.requeues(&key), tried);
            assert_eq!(controller.queue.get().await.unwrap().key, key);
            controller.queue.done(&key);
        }
        controller.handle_err(Err("no".to_owned()), &key);
        assert_eq!(controller.queue.requeues(&key), 0);
        let nothing = tokio::time::timeout(Duration::from_secs(3600), controller.queue.get()).await;
        assert!(nothing.is_err(), "the key came back");
    }
}
