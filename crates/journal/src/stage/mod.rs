mod field;

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use field::{Field, Holds};

/// The list of all stages, with their names in a log and the fields of their data.
macro_rules! stages {
    ($($(#[doc = $about:literal])+ $name:ident $word:literal { $($field:ident $presence:ident $holds:ident $meaning:literal),* $(,)? })+) => {
        /// A stage of the path from a write to the next write.
        ///
        /// [`fields`](Self::fields) lists the data of an entry at a stage; `docs/events.md` is generated from it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Stage {
            $($(#[doc = $about])+ $name,)+
        }

        impl Stage {
            /// All stages, in the order of the path.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The name in the log.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The meaning of an entry at this stage.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => concat!($($about),+).trim_ascii()),+ }
            }

            /// The fields of an entry at this stage; it has no others.
            pub fn fields(self) -> &'static [Field] {
                match self {
                    $(Self::$name => &[$(Field {
                        name: stringify!($field),
                        is_always_there: stages!(@$presence),
                        holds: Holds::$holds,
                        meaning: $meaning,
                    }),*]),+
                }
            }
        }
    };
    (@always) => { true };
    (@may) => { false };
}

stages! {
    /// A request about a resource reached the API server.
    ApiRequest "api.request" {
        verb always Text "what is asked, in the words of RBAC",
        user always Text "who asks",
        agent always Text "with which program",
        audit always Text "the request's audit id; a watch is named by it",
        subresource may Text "of which part of the object",
        dryRun may Truth "nothing is stored",
    }
    /// The API server answered; the cause is the request.
    ApiRespond "api.respond" {
        code always Number "the HTTP status",
        reason may Text "why not, in Kubernetes' words",
        precondition may Text "the version or uid that the request named, where the answer is a conflict",
        stored may Text "the version that was stored then, where the answer is a conflict",
        read may Number "the revision of the object or the list that was read",
    }
    /// An admission plug-in changed an object; the cause is the request.
    AdmissionChange "admission.change" {
        plugin always Text "which one",
        paths always List "where: the names that lead there, with dots between, the first 16 of them",
    }
    /// An admission plug-in refused a write; the cause is the request.
    AdmissionRefuse "admission.refuse" {
        plugin always Text "which one",
        why always Text "what it said",
    }
    /// The API server calls a webhook or an extension API server. The subject is the URL.
    WebhookCall "webhook.call" {
        audit may Text "of the request on whose behalf",
    }
    /// That call ended.
    WebhookAnswer "webhook.answer" {
        error always Text "why there is no answer; empty if there is one",
    }
    /// The store committed a revision; one entry for each key.
    StoreCommit "store.commit" {
        op always Text "create, put or delete",
        version may Number "how many writes the object has seen since it was created, this one included",
    }
    /// The object that a commit made, as it is since; the cause is the commit. See "Objects".
    ObjectChange "object.change" {
        whole may Map "the object as it is now",
        patch may Map "a JSON merge patch from what it was to what it is now",
        managers may Map "`manager/operation`, or `manager/operation/subresource`, to the fields that it owns now, if that changed",
        redacted may List "paths whose values are left out",
        gone may Truth "there is no object any more",
    }
    /// The API server handed an event to a watch.
    WatchSend "watch.send" {
        r#type always Text "ADDED, MODIFIED or DELETED",
        watcher always Text "whose watch: user and program",
        watch always Text "the audit id of the request that opened the watch",
    }
    /// A watch ended because its revision is compacted, or was broken.
    WatchExpired "watch.expired" {
        why always Text "the message of the answer",
        watch always Text "the audit id of the request that opened the watch",
    }
    /// A reflector listed.
    ReflectorList "reflector.list" {
        kind always Text "the resource",
        count always Number "how many objects there are",
        how always Text "list or stream",
        why always Text "start, or what had gone wrong",
    }
    /// A reflector opened a watch.
    ReflectorWatch "reflector.watch" {
        kind always Text "the resource",
    }
    /// A delta entered the queue between reflector and cache; the cause is the `watch.send` that brought it.
    FifoAdd "fifo.add" {
        r#type always Text "Added, Updated, Deleted, Replaced or Sync",
        depth always Number "how many objects have deltas in the queue now",
    }
    /// A delta left that queue.
    FifoPop "fifo.pop" {
        r#type always Text "as in `fifo.add`",
    }
    /// The indexer, which is the cache, changed.
    CacheApply "cache.apply" {
        r#type always Text "Added, Updated or Deleted",
    }
    /// A handler receives a change.
    HandlerCall "handler.call" {
        notification always Text "Added, Updated or Deleted",
        handler always Text "the handler that is called",
    }
    /// A key was put into a work queue; merged additions are causes of one `queue.get`.
    QueueAdd "queue.add" {
        queue always Text "which one",
        how always Text "queued, merged (it was in it already) or marked-dirty (a worker has it)",
    }
    /// A key will be put into a work queue later.
    QueueDelay "queue.delay" {
        queue always Text "which one",
        delayNanos always Number "how much later, in nanoseconds",
        why always Text "delay or rate-limited",
    }
    /// A worker took a key.
    QueueGet "queue.get" {
        queue always Text "which one",
        waitedNanos always Number "how long the key was ready, in nanoseconds",
    }
    /// A worker gave a key back.
    QueueDone "queue.done" {
        queue always Text "which one",
        requeued always Truth "the key was added meanwhile and is handed out again",
    }
    /// A sync began.
    SyncStart "sync.start" {
        worker may Number "which of the controller's workers does it, from 0",
    }
    /// A sync waits until its caches have seen its own last writes.
    SyncWaitStale "sync.wait-stale" {
        kind always Text "the resource whose cache is behind",
        needs may Number "the revision that was written",
        has may Number "the revision that the cache has",
        gone may Text "the object that was deleted and that the cache still shows",
        worker may Number "which of the controller's workers found that",
    }
    /// A sync sent a write.
    SyncWrite "sync.write" {
        verb always Text "what is asked",
        resource always Text "of which kind",
        name always Text "of which object; empty where the server finds a name",
        audit always Text "the request's audit id, by which `api.request` names this entry as its cause",
        precondition may Text "what has to be so for the write to be taken",
    }
    /// A sync ended.
    SyncEnd "sync.end" {
        result always Text "done, requeue, retry or error",
        writes always Number "how many writes it sent",
        reads always Map "resource to the revision up to which its cache held everything",
        looked may Map "resource to the keys of the objects that were looked at, the first 32; `default/*` for all of a namespace, `*` for all",
        decided may Text "what was decided, as a sentence",
        error may Text "why it failed",
    }
    /// The scheduler chose a node, or none.
    SchedulerPick "scheduler.pick" {
        node may Text "which one",
        feasible always Number "how many nodes would do",
        scores may Map "what all plug-ins together gave the node and those that came next, five at most",
        why may Text "why none",
        plugins may List "the plug-ins that refused nodes",
        reasons may Map "why a node would not do, to how many nodes that was said of",
    }
    /// A simulated node moved a pod from one state to the next.
    KubeletTransition "kubelet.transition" {
        from always Text "the state before",
        to always Text "the state now",
        node always Text "which node",
    }
    /// A simulated node did something with a volume of a pod.
    KubeletVolume "kubelet.volume" {
        step always Text "what",
        volume always Text "with which volume",
        node always Text "which node",
        error may Text "why it failed",
    }
    /// A scenario step began.
    StepStart "step.start" {
        name always Text "of the step",
    }
    /// A scenario step ended.
    StepEnd "step.end" {
        name always Text "of the step",
    }
    /// A scenario step was not reached, because the run ended before.
    StepSkip "step.skip" {
        name always Text "of the step",
        line may Number "its line in the file of the scenario",
    }
    /// A check holds, or held throughout.
    CheckPass "check.pass" {
        name always Text "of the check, or of the step that it ends",
        throughout may Truth "it had to hold at every revision, and did up to this one",
        vacuous may Text "why it checked nothing",
    }
    /// A check does not hold at this revision.
    CheckFail "check.fail" {
        name always Text "of the check, or of the step",
        expected always Text "what was expected",
        found always Text "what was there",
        line may Number "the line of the operation or the check in the file of the scenario",
        throughout may Truth "it had to hold at every revision",
        late may Truth "it was waited for, and did not come in time",
        vacuous may Text "why it checked nothing, where that is a failure",
        unmatched may Truth "it is a fault that did not strike",
    }
    /// A fault begins, or strikes a request: one of the list in faults.md.
    FaultOn "fault.on" {
        fault always Text "its name; without one, its word with what it acts on, such as `lag: 5s, kind: Pod`. The words: `lose`, `slow`, `refuse`, `cut`, `stale`, `lag`, `hang`, `bookmark-only`, `close`, `gone`, `kill`, `pause`, `double`, `skew`, `node`, `store`. A node that records its partition itself has `partition`",
    }
    /// The fault ends.
    FaultOff "fault.off" {
        fault always Text "as in `fault.on`",
    }
    /// A component, or a node, was started.
    ComponentStart "component.start" {}
    /// A component, or a node, was stopped.
    ComponentStop "component.stop" {
        why always Text "asked or killed",
    }
}

impl Stage {
    /// The stage with this name in a log; `None` if this program does not know it.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| stage.word() == word)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Stage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Stage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::of_word(&word).ok_or_else(|| D::Error::custom(format!("`{word}` is not a stage")))
    }
}
