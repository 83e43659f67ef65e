use serde::{Deserialize, Serialize};

/// Where on the walk from a write to the next write an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// A request reached the API server. data: verb, user, agent, audit, dryRun.
    #[serde(rename = "api.request")]
    ApiRequest,
    /// The API server answered. data: code, reason, precondition.
    #[serde(rename = "api.respond")]
    ApiRespond,
    /// The API server calls somebody: a webhook, an extension API server. subject: the URL. data: audit.
    #[serde(rename = "webhook.call")]
    WebhookCall,
    /// That call ended. data: error (empty for an answer).
    #[serde(rename = "webhook.answer")]
    WebhookAnswer,
    /// The store committed a revision; one entry for each key. data: op, create, version.
    #[serde(rename = "store.commit")]
    StoreCommit,
    /// The API server handed an event to a watch. data: type, watcher.
    #[serde(rename = "watch.send")]
    WatchSend,
    /// A watch ended because its revision is compacted, or was broken. data: why.
    #[serde(rename = "watch.expired")]
    WatchExpired,
    /// A reflector listed. data: kind, count, why.
    #[serde(rename = "reflector.list")]
    ReflectorList,
    /// A reflector opened a watch. data: kind.
    #[serde(rename = "reflector.watch")]
    ReflectorWatch,
    /// A delta entered the queue between reflector and cache. data: type, depth.
    #[serde(rename = "fifo.add")]
    FifoAdd,
    /// A delta left that queue. data: type.
    #[serde(rename = "fifo.pop")]
    FifoPop,
    /// The indexer changed. data: type.
    #[serde(rename = "cache.apply")]
    CacheApply,
    /// A handler was told. data: notification, handler.
    #[serde(rename = "handler.call")]
    HandlerCall,
    /// A key was put into a work queue. data: queue, how (queued, merged, marked-dirty).
    #[serde(rename = "queue.add")]
    QueueAdd,
    /// A key will be put into a work queue later. data: queue, delayNanos, why (delay, rate-limited).
    #[serde(rename = "queue.delay")]
    QueueDelay,
    /// A worker took a key. data: queue, waitedNanos.
    #[serde(rename = "queue.get")]
    QueueGet,
    /// A worker gave a key back. data: queue, requeued.
    #[serde(rename = "queue.done")]
    QueueDone,
    /// A sync began.
    #[serde(rename = "sync.start")]
    SyncStart,
    /// A sync waits until its caches have seen its own last writes. data: kind, needs, has; or kind and
    /// gone, the object that it deleted.
    #[serde(rename = "sync.wait-stale")]
    SyncWaitStale,
    /// A sync sent a write. data: verb, resource, name, precondition, audit.
    #[serde(rename = "sync.write")]
    SyncWrite,
    /// A sync ended. data: result (done, requeue, retry, error), error, writes, reads (kind to the revision of its
    /// cache), decided (a sentence).
    #[serde(rename = "sync.end")]
    SyncEnd,
    /// The scheduler chose a node, or none. data: node, feasible, why.
    #[serde(rename = "scheduler.pick")]
    SchedulerPick,
    /// A simulated node moved a pod from one state to the next. data: from, to, node.
    #[serde(rename = "kubelet.transition")]
    KubeletTransition,
    /// A simulated node did something with a volume of a pod. data: step, volume, node, error (absent if it went well).
    #[serde(rename = "kubelet.volume")]
    KubeletVolume,
    /// A scenario step began. data: name, operation.
    #[serde(rename = "step.start")]
    StepStart,
    /// A scenario step ended. data: name, outcome.
    #[serde(rename = "step.end")]
    StepEnd,
    /// A check holds, or held to the end. data: name.
    #[serde(rename = "check.pass")]
    CheckPass,
    /// A check failed. data: name, expected, found, by.
    #[serde(rename = "check.fail")]
    CheckFail,
    /// A component was started. data: none.
    #[serde(rename = "component.start")]
    ComponentStart,
    /// A component was stopped. data: why.
    #[serde(rename = "component.stop")]
    ComponentStop,
}

impl Stage {
    /// The word in the log.
    pub fn word(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            _ => format!("{self:?}"),
        }
    }
}
